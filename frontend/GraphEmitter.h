//===- GraphEmitter.h - one op of a graph per call -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FRONTEND_GRAPHEMITTER_H
#define ATTNC_FRONTEND_GRAPHEMITTER_H

#include "frontend/ModelConfig.h"

#include "dialect/Attn/IR/Attn.h"

#include "mlir/IR/Builders.h"

namespace attnc {

/// Emits the parts of a description into a model, in order, and declares the
/// weights that they name. Every op carries the layer that was set last.
class GraphEmitter {
public:
  using Value = mlir::Value;

  explicit GraphEmitter(mlir::MLIRContext &context)
      : builder(&context), loc(builder.getUnknownLoc()) {}

  /// Opens a model `name` of one stream of `hidden` channels in `module` and
  /// returns its input; finish() closes it.
  Value begin(mlir::ModuleOp module, llvm::StringRef name, int64_t hidden);
  void finish(Value output);
  void setLayer(int64_t index);

  Value project(Value x, const ProjectionDesc &projection,
                llvm::ArrayRef<int64_t> shape, int64_t groups = 1);
  Value norm(Value x, const NormDesc &norm, bool perHead = false);
  Value layerNorm(Value x, const LayerNormDesc &norm);
  Value rope(Value x, const RopeDesc &rope, bool inverse = false);
  Value hadamard(Value x);
  Value slice(Value x, int64_t offset, int64_t size);
  Value concat(mlir::ValueRange parts);
  Value add(Value a, Value b);
  /// `x` itself for a format that is exact.
  Value round(Value x, const Format &format);
  /// The pooled values before their norm.
  Value pool(Value x, const PoolDesc &pool);
  Value attend(const LayerDesc &layer,
               llvm::ArrayRef<mlir::attn::AttendSource> sources);
  Value score(const IndexDesc &index, Value query, Value key, Value weights,
              Value within);
  Value candidates(Value scores, const CandidateDesc &pool);
  Value topK(Value scores, int64_t picks);
  Value feedForward(Value h, const std::string &name);

  /// Publishes a result as "layerN.NAME".
  void trace(Value value, llvm::StringRef name);

private:
  /// Declares a parameter before the model.
  mlir::FlatSymbolRefAttr weight(const std::string &name,
                                 llvm::ArrayRef<int64_t> shape);
  mlir::attn::StreamType stream(llvm::ArrayRef<int64_t> shape,
                                int64_t every = 1);
  /// score -> cap * tanh(score / cap)
  void bend(mlir::attn::AttendOp attend, double cap);

  template <typename Op, typename... Args>
  Value emit(Args &&...args) {
    auto op = builder.create<Op>(loc, std::forward<Args>(args)...);
    op->setAttr(mlir::attn::kLayerAttr, layerAttr);
    return op;
  }

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::attn::ModelOp model;
  mlir::IntegerAttr layerAttr;
};

/// Channels of the last axis.
int64_t channelsOf(mlir::Value stream);

} // namespace attnc

#endif // ATTNC_FRONTEND_GRAPHEMITTER_H
