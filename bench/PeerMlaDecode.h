//===- PeerMlaDecode.h - the hand-written kernel to compare with ------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_BENCH_PEERMLADECODE_H
#define ATTNC_BENCH_PEERMLADECODE_H

#include "runtime/ThreadPool.h"

#include <cstdint>
#include <memory>

namespace attnc::bench {

/// Decode of absorbed latent attention, written by hand with AVX-512 intrinsics:
/// `heads` (16, or a multiple of 32) queries of 576 channels over contiguous bf16
/// rows, of which 512 are the value.
class PeerMlaDecode {
public:
  /// False where the machine that this was built on has no AVX-512.
  static bool available();

  PeerMlaDecode(int64_t heads, int64_t entries);
  ~PeerMlaDecode();
  /// Entries that it looks at: it has no code for a partial tile.
  int64_t entries(int threads) const;
  void run(ThreadPool &pool);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_PEERMLADECODE_H
