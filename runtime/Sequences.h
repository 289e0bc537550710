//===- Sequences.h - sequences and the pages they hold ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the page pools of a plan's caches and the page tables of every sequence.
// A step is: reserve() pages for the new tokens of each sequence (all or
// nothing), slice() them into a StepBatch, run it, commit(). Positions are
// stored, never counted from pages. After a step that failed, its sequences
// may have lost ring entries: drop them, or cut them to length 0.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_RUNTIME_SEQUENCES_H
#define ATTNC_RUNTIME_SEQUENCES_H

#include "formats/CachePlan.h"
#include "formats/Result.h"
#include "formats/StepBatch.h"
#include "runtime/PagePool.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attnc {

struct PoolOptions {
  bool poison = false;
  /// Pages per cache, in the order of the caches; empty: all grow on demand.
  std::vector<int64_t> capacity;
};

/// `tokens` more tokens of a sequence.
struct Growth {
  int64_t sequence = 0, tokens = 0;
};

class Sequences {
public:
  /// `caches` must have been placed (CacheDesc::place).
  explicit Sequences(std::vector<CacheDesc> caches, PoolOptions options = {});

  /// A new, empty sequence; holds no page yet.
  int64_t create();
  /// A sequence with the same content; pages are shared until one of the two
  /// writes. The number of an unknown sequence is an error.
  Result<int64_t> fork(int64_t sequence);
  /// Forgets all tokens from `length` on. A ring that has overwritten what the
  /// shorter sequence would read, or a state, refuses: nothing is changed.
  std::string truncate(int64_t sequence, int64_t length);
  /// Gives back all pages of a sequence.
  std::string drop(int64_t sequence);

  /// Allocates what the new tokens will write, and makes it theirs alone.
  /// Either all of it succeeds or nothing is changed and the text says which
  /// cache ran out; `ranOut` tells this from a wrong request.
  std::string reserve(const std::vector<Growth> &growth,
                      bool *ranOut = nullptr);
  /// A view for a step; valid until the next call that changes the sequence.
  /// `row`: its first row in the batch.
  SequenceSlice slice(int64_t sequence, int64_t tokens, int64_t row) const;
  std::vector<CacheStorage> storage() const;
  /// The new tokens are part of the sequence now.
  void commit(const std::vector<Growth> &growth);

  bool contains(int64_t sequence) const { return table.count(sequence) != 0; }
  int64_t length(int64_t sequence) const;
  int64_t pages(size_t cache) const { return pools[cache].used(); }
  /// Bytes of all pages in use: exactly pages times page bytes.
  int64_t usedBytes() const;
  const std::vector<CacheDesc> &caches() const { return plan; }

private:
  struct Sequence {
    int64_t length = 0;
    int64_t written = 0; ///< most tokens that may have been written
    std::vector<std::vector<int32_t>> pages; ///< per cache
  };
  struct Need {
    int64_t fresh = 0;  ///< pages to append to the table
    int64_t copied = 0; ///< pages to replace by a copy
    int64_t copyAt = -1;
  };
  Need need(size_t cache, const Sequence &sequence, int64_t tokens) const;
  std::string reservePools(const std::vector<Growth> &growth);
  void extend(size_t cache, Sequence &sequence, const Need &need);

  std::vector<CacheDesc> plan;
  std::vector<PagePool> pools;
  std::map<int64_t, Sequence> table;
  int64_t next = 1;
};

} // namespace attnc

#endif // ATTNC_RUNTIME_SEQUENCES_H
