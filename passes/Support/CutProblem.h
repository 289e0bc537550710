//===- CutProblem.h - which streams to keep, which to compute again -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The KV cache as a minimum cut of the per-token dataflow (docs/design.md, "The
// cut"). Each stream v has two nodes. need(v) on the sink's side: v is needed
// when an old token is read. comp(v) on the sink's side: it is computed again
// then. Edges:
//
//   comp(v) -> need(v)   stored bytes      needed and not computed again: kept
//   source  -> comp(v)   recompute cost    infinite where it cannot be
//   need(u) -> comp(v)   infinite          for each input u of the op of v
//   need(v) -> sink      infinite          for what a history operand reads
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_SUPPORT_CUTPROBLEM_H
#define ATTNC_PASSES_SUPPORT_CUTPROBLEM_H

#include "passes/Passes.h"
#include "passes/Support/MinCut.h"

#include "dialect/Attn/IR/Attn.h"

#include "llvm/ADT/DenseSet.h"

namespace mlir::attn {

/// What to do with the streams that are needed when an old token is read.
struct CutAnswer {
  DenseSet<Value> kept;       ///< loaded
  DenseSet<Value> recomputed; ///< computed from others in either set
};

class CutProblem {
public:
  /// Streams without an identity across forms cannot be kept if
  /// `needsIdentity`. Emits an error and fails if the costs are too large to be
  /// weighed exactly.
  static FailureOr<CutProblem> create(ModelOp model, Cut objective, int64_t balance,
                                      bool needsIdentity);

  /// The cheapest answer for the needs of some history operands. Streams in
  /// `free` are kept already. Emits an error and fails if there is no answer.
  FailureOr<CutAnswer> solve(ArrayRef<Value> needs, const DenseSet<Value> &free) const;

private:
  /// A cost as three digits of which an earlier one always outweighs the later
  /// ones: the objective, the other quantity, ops to compute again.
  struct Cost {
    ::attnc::Int128 digits[3] = {0, 0, 0};
  };
  struct Node {
    Value stream;
    Cost keep, recompute;
    bool keepable = false, recomputable = false;
    SmallVector<unsigned> inputs;
  };

  LogicalResult weigh(Cut objective, int64_t balance);
  LogicalResult fit();
  ::attnc::Int128 pack(const Cost &cost) const;

  ModelOp model;
  std::vector<Node> nodes;
  ::attnc::Int128 base[3] = {1, 1, 1}; ///< what one unit of each digit is worth
  ::attnc::Int128 infinite = 1;
};

} // namespace mlir::attn

#endif // ATTNC_PASSES_SUPPORT_CUTPROBLEM_H
