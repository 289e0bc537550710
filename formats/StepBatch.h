//===- StepBatch.h - one step's work, as every executor sees it -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A step processes a ragged batch: of each sequence, some new tokens. The
// runtime's page pool fills this view in; the CPU executor, the reference
// executor and a GPU back end read it. Pages are already allocated for the new
// tokens when a step starts.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FORMATS_STEPBATCH_H
#define ATTNC_FORMATS_STEPBATCH_H

#include <cstdint>
#include <vector>

namespace attnc {

/// The bytes of one cache: page (or ring) number i begins at base + i*pageBytes.
struct CacheStorage {
  uint8_t *base = nullptr;
  int64_t pageBytes = 0;
};

/// One sequence's share of a step. The new tokens have positions
/// [start, start + count) and rows [row, row + count) of the batch's buffers.
struct SequenceSlice {
  int64_t start = 0, count = 0, row = 0;
  /// Per cache: page numbers. Entry e of a paged cache lies in page
  /// tables[c][e / pageEntries], slot e % pageEntries. A ring or a state has
  /// one "page" of its `rows` rows; entry e lies in slot e % rows.
  std::vector<const int32_t *> tables;
  int64_t remaining = -1; ///< prompt tokens still to come after this step; -1: unknown
};

struct StepBatch {
  std::vector<CacheStorage> caches;
  std::vector<SequenceSlice> sequences;
  int64_t tokens = 0;            ///< rows of `input` and `output`
  const float *input = nullptr;  ///< [tokens, hidden]
  float *output = nullptr;       ///< [tokens, hidden]
};

} // namespace attnc

#endif // ATTNC_FORMATS_STEPBATCH_H
