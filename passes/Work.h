//===- Work.h - what a planned module costs per token --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_PASSES_WORK_H
#define ATTNC_PASSES_WORK_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mlir::attn {

/// FLOP per token of one form.
struct FormWork {
  double attend = 0;  ///< scores and values
  double score = 0;   ///< index scores and selection
  double project = 0; ///< projections of the token itself
  double rebuild = 0; ///< what is computed again from kept rows
};

/// What a layer's attention looks at.
struct LayerKind {
  int64_t layer = 0;
  std::string kind;      ///< "full", "window", "compressed", "selected", "mixed"
  int64_t kvSource = -1; ///< the layer that writes the rows it reads; -1: none
};

struct PlanWork {
  FormWork decode, prefill;
  std::vector<LayerKind> layers;
};

/// The work of a planned module at `context` visible tokens. A decoded token
/// rebuilds all entries that it sees; a prefilled one shares that with the
/// other new tokens of a chunk of `chunk`. Emits an error and fails if what
/// history operands read cannot be had from what is kept.
FailureOr<PlanWork> workOf(ModuleOp module, double context, int64_t chunk);

} // namespace mlir::attn

#endif // ATTNC_PASSES_WORK_H
