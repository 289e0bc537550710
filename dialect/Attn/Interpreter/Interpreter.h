//===- Interpreter.h - evaluates a graph over whole sequences -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The oracle of every level below: f64, no caches, op by op from the
// definitions. It shares no code with codegen.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_DIALECT_ATTN_INTERPRETER_H
#define ATTNC_DIALECT_ATTN_INTERPRETER_H

#include "dialect/Attn/Interpreter/Evaluation.h"

#include <functional>

namespace mlir::attn {

/// Called with (name, value) for each stream that carries `attn.trace`.
using TraceFn = llvm::function_ref<void(StringRef, const StreamValue &)>;

/// Runs `model` on one sequence that starts at position 0. `inputs` holds one
/// value per model argument; `outputs` receives one per result. Emits a
/// diagnostic and fails if an op cannot be evaluated.
LogicalResult interpret(ModelOp model, ArrayRef<StreamValue> inputs,
                        ::attnc::WeightSource &weights,
                        SmallVectorImpl<StreamValue> &outputs, TraceFn trace = nullptr);

/// What a run tells and asks its caller.
struct InterpretHooks {
  /// Receives each stream that carries `attn.trace`, by that name.
  std::function<void(StringRef, const StreamValue &)> trace;
  /// Receives each selection that carries `attn.trace`.
  std::function<void(StringRef, const SelectionValue &)> traceSelection;
  /// The picks to use for the selection of that name, one list per token and
  /// group, in place of computing them; null: computes them.
  std::function<const std::vector<std::vector<int64_t>> *(StringRef)> givenPicks;
};

/// The same, with more to tell.
LogicalResult interpret(ModelOp model, ArrayRef<StreamValue> inputs,
                        ::attnc::WeightSource &weights,
                        SmallVectorImpl<StreamValue> &outputs, const InterpretHooks &hooks);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_INTERPRETER_H
