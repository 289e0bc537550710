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

/// What a layer's attention looks at, beyond its window if it looks farther:
///
///   window       nothing farther
///   full         everything, token by token
///   compressed   everything, an element for several tokens
///   selected     picks that it makes itself, for nobody else
///   full-index   picks that it makes itself; another layer reads the picks, or
///                picks by the same index keys
///   reindex      picks that it makes itself, by another layer's index keys
///   reuse        picks that another layer made
///   mixed        several of these
struct LayerKind {
  int64_t layer = 0;
  std::string kind;
  int64_t kvSource = -1;    ///< the layer that writes the rows it reads; -1: none
  int64_t indexSource = -1; ///< the layer that makes the picks it reads; -1: none
};

struct PlanWork {
  FormWork decode, prefill;
  std::vector<LayerKind> layers;
};

/// The kinds of the layers of a planned module, ascending.
std::vector<LayerKind> layerKindsOf(ModuleOp module);

/// The work of a planned module at `context` visible tokens. A decoded token
/// rebuilds all entries that it sees; a prefilled one shares that with the
/// other new tokens of a chunk of `chunk`. Emits an error and fails if what
/// history operands read cannot be had from what is kept.
FailureOr<PlanWork> workOf(ModuleOp module, double context, int64_t chunk);

} // namespace mlir::attn

#endif // ATTNC_PASSES_WORK_H
