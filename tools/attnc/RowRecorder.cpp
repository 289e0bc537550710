//===- RowRecorder.cpp - publishes the rows that a step wrote ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/RowRecorder.h"

#include <algorithm>

using namespace attnc;

std::string attnc::rowTraceName(const CacheDesc &cache, const Segment &segment) {
  return cache.name + "/" + segment.name;
}

std::string attnc::writtenTraceName(const CacheDesc &cache, const Segment &segment) {
  return "written:" + rowTraceName(cache, segment);
}

/// Decodes the rows of one segment that `slice` appended to cache number `c`. A
/// ring holds only the newest; older rows of the chunk are left out by
/// publishing from the first one that is still there.
static void publish(const StepBatch &batch, const SequenceSlice &slice, size_t c,
                    const CacheDesc &cache, size_t segment, TraceSink &trace) {
  const Segment &what = cache.segments[segment];
  const SegmentPlace &place = cache.places[segment];
  int64_t perPage = cache.kind == CacheKind::Paged ? cache.pageEntries : cache.rows;
  int64_t skip = cache.kind == CacheKind::Ring ? std::max<int64_t>(0, slice.count - cache.rows) : 0;
  std::vector<float> rows((slice.count - skip) * what.channels);
  for (int64_t i = skip; i < slice.count; ++i) {
    int64_t entry = slice.start + i;
    int64_t slot = entry % perPage;
    int32_t number = cache.kind == CacheKind::Paged ? slice.tables[c][entry / perPage]
                                                    : slice.tables[c][0];
    const uint8_t *page = batch.caches[c].base + number * batch.caches[c].pageBytes;
    decode(what.format, page + place.data + slot * place.dataStride,
           page + place.scale + slot * place.scaleStride, what.channels,
           rows.data() + (i - skip) * what.channels);
  }
  trace.rows(rowTraceName(cache, what), slice.row + skip, slice.count - skip, what.channels,
             rows.data(), what.channels);
  std::vector<float> ones(slice.count - skip, 1.0f);
  trace.rows(writtenTraceName(cache, what), slice.row + skip, slice.count - skip, 1, ones.data(),
             1);
}

std::string RowRecorder::step(StepBatch &batch, TraceSink *trace) {
  std::string error = backend.step(batch, trace);
  if (!error.empty() || !trace)
    return error;
  const std::vector<CacheDesc> &plan = backend.caches();
  for (size_t c = 0; c < plan.size(); ++c) {
    const CacheDesc &cache = plan[c];
    if (cache.every != 1 || cache.kind == CacheKind::State)
      continue;
    for (size_t segment = 0; segment < cache.segments.size(); ++segment)
      if (!cache.segments[segment].pad)
        for (const SequenceSlice &slice : batch.sequences)
          if (slice.count)
            publish(batch, slice, c, cache, segment, *trace);
  }
  return "";
}
