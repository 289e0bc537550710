//===- GraphBuilder.cpp - from a model's description to its graph
//----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Emits what a layer's fields say and knows no family. Attention over a latent
// is emitted in its expanded form, as the model was trained: that queries can
// be scored against the latent itself is for passes to find.
//
//===----------------------------------------------------------------------===//

#include "frontend/GraphBuilder.h"

#include "dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::attn;

namespace attnc {

namespace {

class GraphBuilder {
public:
  GraphBuilder(MLIRContext &context, const ModelConfig &config)
      : config(config), builder(&context), loc(builder.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> build(StringRef name) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    StreamType hidden = stream({config.hidden});
    model = builder.create<ModelOp>(
        loc, name, builder.getFunctionType({hidden}, {hidden}),
        /*sym_visibility=*/StringAttr(), /*arg_attrs=*/ArrayAttr(),
        /*res_attrs=*/ArrayAttr());
    Block *body = builder.createBlock(&model.getBody(), {}, {hidden}, {loc});
    Value h = body->getArgument(0);
    for (auto [index, layer] : llvm::enumerate(config.layers))
      h = emitLayer(layer, index, h);
    builder.create<ReturnOp>(loc, h);
    return module;
  }

private:
  /// A key or value under the softmax.
  struct KeyAndValue {
    Value key, value;
  };

  Value emitLayer(const LayerDesc &layer, int64_t index, Value h) {
    layerAttr = builder.getI64IntegerAttr(index);
    loc = NameLoc::get(builder.getStringAttr("layer " + std::to_string(index)));
    Value x = norm(h, layer.inputNorm);
    Value q = emitQuery(layer, x);
    Value o = emitAttend(layer, x, q);
    Value a = project(o, layer.output, {config.hidden});
    if (layer.outputNorm)
      a = norm(a, *layer.outputNorm);
    a.getDefiningOp()->setAttr(
        kTraceAttr,
        builder.getStringAttr("layer" + std::to_string(index) + ".attention"));
    h = add(h, a);
    Value f = emit<ExternOp>(
        h.getType(),
        FlatSymbolRefAttr::get(builder.getContext(), layer.feedForward),
        ValueRange(h), builder.getUnitAttr());
    return add(h, f);
  }

  Value emitQuery(const LayerDesc &layer, Value x) {
    const QueryDesc &query = layer.query;
    if (query.down)
      x = project(x, *query.down, {query.down->out});
    if (query.downNorm)
      x = norm(x, *query.downNorm);
    Value q = project(x, query.up, {layer.heads, query.width});
    if (query.headNorm)
      q = norm(q, *query.headNorm, /*perHead=*/true);
    return rope(q, query.rope);
  }

  KeyAndValue emitProjected(const ProjectedSource &source, Value x) {
    Value k = project(x, source.key, {source.heads, source.width});
    if (source.keyNorm)
      k = norm(k, *source.keyNorm, /*perHead=*/true);
    k = rope(k, source.rope);
    return {k, project(x, source.value, {source.heads, source.width})};
  }

  KeyAndValue emitLatent(const LatentSource &source, Value x) {
    Value both = project(x, source.down, {source.down.out});
    Value latent =
        norm(emit<SliceOp>(both, int64_t(0), source.rank), source.norm);
    Value shared =
        rope(emit<SliceOp>(both, source.rank, source.down.out - source.rank),
             source.rope);
    Value heads = project(latent, source.up,
                          {source.heads, source.keyWidth + source.valueWidth});
    Value plain = emit<SliceOp>(heads, int64_t(0), source.keyWidth);
    Value k = emit<ConcatOp>(ValueRange{plain, shared});
    Value v = emit<SliceOp>(heads, source.keyWidth, source.valueWidth);
    return {k, v};
  }

  Value emitAttend(const LayerDesc &layer, Value x, Value q) {
    SmallVector<AttendSource> sources;
    for (const SourceDesc &desc : layer.sources) {
      KeyAndValue kv = desc.projected ? emitProjected(*desc.projected, x)
                                      : emitLatent(*desc.latent, x);
      AttendSource &source = sources.emplace_back();
      source.queries = {q};
      source.keys = {kv.key};
      source.value = kv.value;
      source.window = desc.window;
    }
    FlatSymbolRefAttr sink;
    if (!layer.sink.empty())
      sink = weight(layer.sink, {layer.heads});
    Value o = emit<AttendOp>(stream({layer.heads, layer.valueWidth}),
                             ArrayRef(sources), layer.scale, sink);
    if (layer.softCap)
      emitSoftCap(o.getDefiningOp<AttendOp>(), *layer.softCap);
    return o;
  }

  /// score -> cap * tanh(score / cap)
  void emitSoftCap(AttendOp attend, double cap) {
    OpBuilder::InsertionGuard guard(builder);
    Type f32 = builder.getF32Type();
    // Score, query position, key position, head.
    SmallVector<Type> types(4, f32);
    Block *body = builder.createBlock(&attend.getScoreMap(), {}, types,
                                      SmallVector<Location>(4, loc));
    Value limit =
        builder.create<arith::ConstantOp>(loc, builder.getFloatAttr(f32, cap));
    Value ratio =
        builder.create<arith::DivFOp>(loc, body->getArgument(0), limit);
    Value bent = builder.create<math::TanhOp>(loc, ratio);
    Value score = builder.create<arith::MulFOp>(loc, bent, limit);
    builder.create<YieldOp>(loc, score);
  }

  Value add(Value a, Value b) {
    auto map = builder.create<MapOp>(loc, a.getType(), ValueRange{a, b},
                                     /*consts=*/ArrayAttr());
    map->setAttr(kLayerAttr, layerAttr);
    OpBuilder::InsertionGuard guard(builder);
    Type f32 = builder.getF32Type();
    Block *body =
        builder.createBlock(&map.getBody(), {}, {f32, f32}, {loc, loc});
    Value sum = builder.create<arith::AddFOp>(loc, body->getArgument(0),
                                              body->getArgument(1));
    builder.create<YieldOp>(loc, sum);
    return map;
  }

  Value project(Value x, const ProjectionDesc &projection,
                ArrayRef<int64_t> shape) {
    FlatSymbolRefAttr matrix =
        weight(projection.weight, {projection.out, projection.in});
    FlatSymbolRefAttr bias;
    if (!projection.bias.empty())
      bias = weight(projection.bias, {projection.out});
    return emit<LinearOp>(stream(shape), x, matrix, bias,
                          builder.getI64IntegerAttr(1),
                          /*rows=*/DenseI64ArrayAttr(),
                          /*transpose=*/UnitAttr());
  }

  Value norm(Value x, const NormDesc &norm, bool perHead = false) {
    return emit<RMSNormOp>(x.getType(), x, weight(norm.weight, {norm.width}),
                           builder.getF64FloatAttr(norm.eps),
                           builder.getF64FloatAttr(norm.offset),
                           perHead ? builder.getUnitAttr() : UnitAttr());
  }

  Value rope(Value x, const RopeDesc &rope) {
    return emit<RopeOp>(x.getType(), x, RotatedEnd::Last,
                        rope.interleaved ? Pairing::Interleaved
                                         : Pairing::HalfSplit,
                        RotaryAttr::get(builder.getContext(), rope.rotary),
                        /*inverse=*/false);
  }

  /// Declares a parameter before the model.
  FlatSymbolRefAttr weight(const std::string &name, ArrayRef<int64_t> shape) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(model);
    builder.create<WeightOp>(loc, builder.getStringAttr(name),
                             builder.getDenseI64ArrayAttr(shape),
                             /*sym_visibility=*/StringAttr());
    return FlatSymbolRefAttr::get(builder.getContext(), name);
  }

  StreamType stream(ArrayRef<int64_t> shape) {
    return StreamType::get(builder.getContext(), shape);
  }

  template <typename Op, typename... Args>
  Value emit(Args &&...args) {
    auto op = builder.create<Op>(loc, std::forward<Args>(args)...);
    op->setAttr(kLayerAttr, layerAttr);
    return op;
  }

  const ModelConfig &config;
  OpBuilder builder;
  Location loc;
  ModelOp model;
  IntegerAttr layerAttr;
};

} // namespace

OwningOpRef<ModuleOp> buildGraph(MLIRContext &context,
                                 const ModelConfig &config, StringRef name) {
  context.loadDialect<AttnDialect, arith::ArithDialect, math::MathDialect>();
  return GraphBuilder(context, config).build(name);
}

} // namespace attnc
