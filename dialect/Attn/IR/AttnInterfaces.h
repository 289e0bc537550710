//===- AttnInterfaces.h - what passes ask of an op -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_ATTN_INTERFACES_H
#define ATTNC_DIALECT_ATTN_INTERFACES_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::attn {

/// How far back an operand is read. None: only the element of the own token.
/// Window: the newest `size` tokens, the own one included. All: every earlier
/// element. Fold: a fixed-size state, reset every `size` tokens (0: never).
struct HistoryUse {
  enum class Kind { None, Window, All, Fold };
  Kind kind = Kind::None;
  int64_t size = 0;
};

/// Floating-point operations of one element, by kind of work.
struct Work {
  double attend = 0;  ///< scores and values of attention
  double score = 0;   ///< index scores and selection
  double project = 0; ///< projections by weights
  double other = 0;   ///< norms, rotations, maps, roundings

  double total() const { return attend + score + project + other; }
  Work &operator+=(const Work &o) {
    attend += o.attend, score += o.score, project += o.project, other += o.other;
    return *this;
  }
};

class Evaluation;

} // namespace mlir::attn

#include "dialect/Attn/IR/AttnInterfaces.h.inc"

#endif // ATTNC_DIALECT_ATTN_INTERFACES_H
