//===- Graph.h - questions that several passes ask of a graph ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_PASSES_SUPPORT_GRAPH_H
#define ATTNC_PASSES_SUPPORT_GRAPH_H

#include "dialect/Attn/IR/Attn.h"
#include "passes/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// The attribute of the prefill form of a model; the decode form has none.
inline constexpr StringLiteral kFormAttr = "form";
/// The suffix of the prefill form's symbol.
inline constexpr StringLiteral kPrefillSuffix = ".prefill";

/// The form of a model; a model that was not split is its own decode form.
Form getForm(ModelOp model);

/// How `operand` is read; None for ops without history.
HistoryUse historyUse(OpOperand &operand);

/// True if `op` reads history: its result cannot be had from its own token.
bool readsHistory(Operation *op);

/// True if the op's result depends on nothing but its operands of the same
/// element, so that a reader can compute it again from kept rows.
bool isRecomputable(Operation *op);

/// Entries of a source with this value and visibility that a token with
/// `context` visible tokens sees.
double visibleEntries(Value value, int64_t window, Value selection, double context);

/// Gives `created`, an op on the way to what `origin` computes, its layer and
/// storage.
void inherit(Operation *origin, Operation *created);

/// "attn.linear by @w": an op as a sentence names it.
std::string describe(Operation *op);

} // namespace mlir::attn

#endif // ATTNC_PASSES_SUPPORT_GRAPH_H
