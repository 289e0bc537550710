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

/// One source of an attention: pairs of a query part and a key part, a value,
/// and which elements a token sees.
struct AttendSource {
  SmallVector<Value> queries, keys;
  Value value;
  int64_t window = 0; ///< 0 causal, W > 0 the newest W tokens
  Value selection;    ///< null unless the source is selected
};

/// One part of a compression: values, the gates that weigh them (null:
/// uniform), and how many blocks back it reads (0 or less).
struct CompressPart {
  Value value, gate;
  int64_t offset = 0;
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

/// Checks what all ops of a graph have in common: they are inside a model (or
/// something that orders them), and `layer`, if present, is a layer number.
LogicalResult verifyStreamOp(Operation *op);

/// The trait of the ops of a graph.
template <typename ConcreteOp>
class InGraph : public OpTrait::TraitBase<ConcreteOp, InGraph> {
public:
  static LogicalResult verifyTrait(Operation *op) { return verifyStreamOp(op); }
};

} // namespace mlir::attn

#include "dialect/Attn/IR/AttnInterfaces.h.inc"

#endif // ATTNC_DIALECT_ATTN_INTERFACES_H
