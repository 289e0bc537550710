//===- FoldState.h - what an op that folds its history carries -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// An op that folds its history needs no old elements of its operands, but a
// state of a fixed size. A compression's is a running softmax, channel by
// channel, for every result that tokens were read for and that is not complete:
//
//   part at block offset -o:  o + 1 open blocks, each with the rows
//                             acc   sum of exp(gate - max) * value
//                             max   largest gate
//                             sum   sum of exp(gate - max)
//
// The other form would keep the open tokens themselves, values and gates, which
// grows with the block; `openBytes` says how large that is.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_SUPPORT_FOLDSTATE_H
#define ATTNC_PASSES_SUPPORT_FOLDSTATE_H

#include "passes/Support/Keep.h"

#include "dialect/Attn/IR/AttnState.h"

namespace mlir::attn {

struct FoldState {
  int64_t rows = 0;     ///< f32 rows per sequence
  int64_t channels = 0; ///< of a row
  int64_t openRows = 0; ///< tokens that the other form would keep
  int64_t openBytes = 0;

  int64_t bytes() const { return rows * channels * int64_t(sizeof(float)); }
};

/// The state that `op` carries. Emits an error and fails if its size does not
/// fit 64 bits.
FailureOr<FoldState> foldStateOf(CompressOp op);

/// Where the state of `op` lives. Emits an error and fails if `attn.state` is
/// absent, malformed, or of another size than the op needs.
FailureOr<Keep> getState(CompressOp op);

} // namespace mlir::attn

#endif // ATTNC_PASSES_SUPPORT_FOLDSTATE_H
