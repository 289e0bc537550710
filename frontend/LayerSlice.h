//===- LayerSlice.h - some layers of a graph
//-------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FRONTEND_LAYERSLICE_H
#define ATTNC_FRONTEND_LAYERSLICE_H

#include "dialect/Attn/IR/Attn.h"

#include <string>

namespace attnc {

/// The number of layers of a model: one more than the highest.
int64_t countLayers(mlir::attn::ModelOp model);

/// Keeps layers [begin, end) of `model`. The one value that they read from
/// before becomes the model's input; of the values that later layers read, the
/// last one of the model's result type becomes its output. Weights that nobody
/// names any more go. Returns a complaint, empty on success.
std::string sliceLayers(mlir::attn::ModelOp model, int64_t begin, int64_t end);

} // namespace attnc

#endif // ATTNC_FRONTEND_LAYERSLICE_H
