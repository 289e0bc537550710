//===- GraphBuilder.h - from a model's description to its graph
//------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FRONTEND_GRAPHBUILDER_H
#define ATTNC_FRONTEND_GRAPHBUILDER_H

#include "frontend/ModelConfig.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace attnc {

struct GraphOptions {
  /// Emit the roundings that the model was trained with.
  bool trainedRoundings = false;
};

/// The graph of `config`, a pre-norm residual stack of layers:
///
///   a = norm(attention(norm(h)))      the last norm where a layer has one
///   h = h + a                         a is published as "layerN.attention"
///   h = h + feed_forward(h)           an optional extern
///
/// Weights are declared under the checkpoint's names, in order of use. The
/// model is called `name`.
mlir::OwningOpRef<mlir::ModuleOp> buildGraph(mlir::MLIRContext &context,
                                             const ModelConfig &config,
                                             llvm::StringRef name,
                                             const GraphOptions &options = {});

} // namespace attnc

#endif // ATTNC_FRONTEND_GRAPHBUILDER_H
