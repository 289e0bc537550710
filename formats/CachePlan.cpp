//===- CachePlan.cpp - where the bytes of a row lie -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/CachePlan.h"

namespace attnc {

std::string_view stringify(CacheKind kind) {
  switch (kind) {
  case CacheKind::Paged:
    return "paged";
  case CacheKind::Ring:
    return "ring";
  case CacheKind::State:
    return "state";
  }
  return "";
}

/// Beyond this, bytes of a segment could overflow before anyone can look.
static constexpr int64_t maxChannels = int64_t(1) << 40;

static std::string checkShape(const CacheDesc &cache) {
  std::string who = "cache " + cache.name;
  if (cache.every < 1)
    return who + " has an entry every " + std::to_string(cache.every) +
           " tokens; expected at least 1";
  if (cache.kind != CacheKind::Paged && cache.rows < 1)
    return who + " is a " + std::string(stringify(cache.kind)) + " of " +
           std::to_string(cache.rows) + " rows; expected at least 1";
  if (cache.kind == CacheKind::Paged && cache.pageEntries < 1)
    return who + " has pages of " + std::to_string(cache.pageEntries) +
           " entries; expected at least 1";
  if (cache.segments.empty())
    return who + " has no segment; expected at least one";
  for (const Segment &segment : cache.segments)
    if (segment.channels < 1 || segment.channels > maxChannels)
      return who + ", segment " + segment.name + " has " +
             std::to_string(segment.channels) + " channels; expected 1 to 2^40";
  return "";
}

std::string CacheDesc::place() {
  if (std::string error = checkShape(*this); !error.empty())
    return error;
  if (layout != "token")
    return "cache " + name + " has the layout '" + layout +
           "'; expected 'token'";
  if (kind != CacheKind::Paged)
    pageEntries = rows;

  places.assign(segments.size(), {});
  rowBytes = 0;
  bool overflow = false;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment &segment = segments[i];
    int64_t data = segment.pad ? segment.channels
                               : segment.format.dataBytes(segment.channels);
    places[i].data = rowBytes;
    overflow |= __builtin_add_overflow(rowBytes, data, &places[i].scale);
    overflow |= __builtin_add_overflow(rowBytes, segment.bytes(), &rowBytes);
  }
  overflow |= __builtin_mul_overflow(rowBytes, pageEntries, &pageBytes);
  if (overflow)
    return "cache " + name + " has pages of " + std::to_string(pageEntries) +
           " rows whose size does not fit 64 bits";
  for (SegmentPlace &place : places)
    place.dataStride = place.scaleStride = rowBytes;
  pagePadding = 0;
  return "";
}

} // namespace attnc
