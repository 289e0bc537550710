//===- CachePlan.h - what a cache row is and where its bytes lie -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// One description of a cache serves the report, the code generators and the
// runtime. A row is the bytes of one entry; a page holds `pageEntries` rows of
// one cache; where a segment of a row lies inside its page is the layout's
// business and is affine in the slot: offset + slot * stride.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FORMATS_CACHEPLAN_H
#define ATTNC_FORMATS_CACHEPLAN_H

#include "formats/Format.h"

#include <string>
#include <vector>

namespace attnc {

/// `channels` values stored in one format. Padding is a segment named "pad" of
/// format F32-less raw bytes: `channels` bytes, isPad() true.
struct Segment {
  std::string name;
  Format format;
  int64_t channels = 0;
  bool pad = false;

  int64_t bytes() const { return pad ? channels : format.bytes(channels); }
};

/// paged: one entry per `every` tokens, for ever. ring: the newest `rows`
/// entries. state: a fixed-size fold.
enum class CacheKind : uint8_t { Paged, Ring, State };
std::string_view stringify(CacheKind kind);

/// Where the bytes of segment i of slot s lie: page + data + s * dataStride,
/// scales at page + scale + s * scaleStride (unused without scales).
struct SegmentPlace {
  int64_t data = 0, dataStride = 0;
  int64_t scale = 0, scaleStride = 0;
};

struct CacheDesc {
  std::string name;           ///< e.g. "layers.2.main"
  int64_t layer = 0;          ///< the layer that writes it
  CacheKind kind = CacheKind::Paged;
  std::vector<int64_t> readers; ///< layers that read it, ascending
  int64_t every = 1;          ///< tokens per entry
  int64_t rows = 0;           ///< ring and state: rows per sequence; paged: 0
  std::vector<Segment> segments;
  int64_t pageEntries = 64;   ///< paged: entries per page; ring: == rows
  std::string layout = "token";

  // Derived by place().
  std::vector<SegmentPlace> places;
  int64_t rowBytes = 0;
  int64_t pageBytes = 0;
  int64_t pagePadding = 0;

  /// Fills the derived fields for `layout`. Returns an error message, empty on
  /// success (an unknown layout, a product that overflows 64 bits).
  std::string place();
};

} // namespace attnc

#endif // ATTNC_FORMATS_CACHEPLAN_H
