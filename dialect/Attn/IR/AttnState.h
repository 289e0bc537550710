//===- AttnState.h - where a fold's state lives --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_ATTN_STATE_H
#define ATTNC_DIALECT_ATTN_STATE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::attn {

/// Where the state of an op that folds its history lives: a dictionary like
/// `attn.keep`, of kind "state" (attn-infer-caches sets it).
inline constexpr StringLiteral kStateAttr = "attn.state";

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_STATE_H
