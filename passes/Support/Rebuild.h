//===- Rebuild.h - what lies between kept rows and their readers ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_PASSES_SUPPORT_REBUILD_H
#define ATTNC_PASSES_SUPPORT_REBUILD_H

#include "dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// How streams that history operands read are had from kept ones.
struct Rebuild {
  SmallVector<Operation *> ops; ///< to compute again, in program order
  SmallVector<Value> kept;      ///< the kept streams they start from
  double flops = 0;             ///< of `ops`, per entry
};

/// The rebuild of `reads`, streams of one model. Emits an error at `reader` and
/// fails if it needs a stream that is neither kept nor computed, element by
/// element, from kept ones.
FailureOr<Rebuild> findRebuild(Operation *reader, ArrayRef<Value> reads);

} // namespace mlir::attn

#endif // ATTNC_PASSES_SUPPORT_REBUILD_H
