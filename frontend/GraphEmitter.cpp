//===- GraphEmitter.cpp - one op of a graph per call ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend/GraphEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

namespace attnc {

int64_t channelsOf(Value stream) {
  return cast<StreamType>(stream.getType()).getChannels();
}

static int64_t everyOf(Value stream) {
  return cast<StreamType>(stream.getType()).getEvery();
}

Value GraphEmitter::begin(ModuleOp module, StringRef name, int64_t hidden) {
  builder.setInsertionPointToEnd(module.getBody());
  StreamType type = stream({hidden});
  model = builder.create<ModelOp>(
      loc, name, builder.getFunctionType({type}, {type}),
      /*sym_visibility=*/StringAttr(), /*arg_attrs=*/ArrayAttr(),
      /*res_attrs=*/ArrayAttr());
  Block *body = builder.createBlock(&model.getBody(), {}, {type}, {loc});
  return body->getArgument(0);
}

void GraphEmitter::finish(Value output) {
  builder.create<ReturnOp>(loc, output);
}

void GraphEmitter::setLayer(int64_t index) {
  layerAttr = builder.getI64IntegerAttr(index);
  loc = NameLoc::get(builder.getStringAttr("layer " + std::to_string(index)));
}

//===----------------------------------------------------------------------===//
// Per-token ops
//===----------------------------------------------------------------------===//

Value GraphEmitter::project(Value x, const ProjectionDesc &projection,
                            ArrayRef<int64_t> shape, int64_t groups) {
  FlatSymbolRefAttr matrix =
      weight(projection.weight, {projection.out, projection.in});
  FlatSymbolRefAttr bias;
  if (!projection.bias.empty())
    bias = weight(projection.bias, {projection.out});
  return emit<LinearOp>(stream(shape, everyOf(x)), x, matrix, bias,
                        builder.getI64IntegerAttr(groups),
                        /*rows=*/DenseI64ArrayAttr(),
                        /*transpose=*/UnitAttr());
}

Value GraphEmitter::norm(Value x, const NormDesc &norm, bool perHead) {
  FlatSymbolRefAttr scale;
  if (!norm.weight.empty())
    scale = weight(norm.weight, {norm.width});
  return emit<RMSNormOp>(x.getType(), x, scale,
                         builder.getF64FloatAttr(norm.eps),
                         builder.getF64FloatAttr(norm.offset),
                         perHead ? builder.getUnitAttr() : UnitAttr());
}

Value GraphEmitter::layerNorm(Value x, const LayerNormDesc &norm) {
  FlatSymbolRefAttr scale = weight(norm.weight, {norm.width});
  FlatSymbolRefAttr shift = weight(norm.bias, {norm.width});
  return emit<LayerNormOp>(x.getType(), x, scale, shift,
                           builder.getF64FloatAttr(norm.eps),
                           /*per_head=*/UnitAttr());
}

Value GraphEmitter::rope(Value x, const RopeDesc &rope, bool inverse) {
  return emit<RopeOp>(
      x.getType(), x, rope.first ? RotatedEnd::First : RotatedEnd::Last,
      rope.interleaved ? Pairing::Interleaved : Pairing::HalfSplit,
      RotaryAttr::get(builder.getContext(), rope.rotary), inverse);
}

Value GraphEmitter::hadamard(Value x) {
  return emit<HadamardOp>(x.getType(), x);
}

Value GraphEmitter::slice(Value x, int64_t offset, int64_t size) {
  return emit<SliceOp>(x, offset, size);
}

Value GraphEmitter::concat(ValueRange parts) { return emit<ConcatOp>(parts); }

Value GraphEmitter::add(Value a, Value b) {
  Value sum = emit<MapOp>(a.getType(), ValueRange{a, b},
                          /*consts=*/ArrayAttr());
  OpBuilder::InsertionGuard guard(builder);
  Type f32 = builder.getF32Type();
  Block *body = builder.createBlock(&sum.getDefiningOp<MapOp>().getBody(), {},
                                    {f32, f32}, {loc, loc});
  Value result = builder.create<arith::AddFOp>(loc, body->getArgument(0),
                                               body->getArgument(1));
  builder.create<YieldOp>(loc, result);
  return sum;
}

Value GraphEmitter::round(Value x, const Format &format) {
  if (format == Format())
    return x;
  return emit<RoundOp>(x.getType(), x,
                       FormatAttr::get(builder.getContext(), format));
}

Value GraphEmitter::feedForward(Value h, const std::string &name) {
  return emit<ExternOp>(h.getType(),
                        FlatSymbolRefAttr::get(builder.getContext(), name),
                        ValueRange(h), builder.getUnitAttr());
}

//===----------------------------------------------------------------------===//
// Ops that read history
//===----------------------------------------------------------------------===//

Value GraphEmitter::pool(Value x, const PoolDesc &pool) {
  Value values = project(x, pool.values, {pool.values.out});
  if (!pool.gates)
    return values;
  Value gates = project(x, *pool.gates, {pool.gates->out});
  SmallVector<CompressPart> parts;
  if (pool.overlap) {
    parts.push_back(
        {slice(values, 0, pool.width), slice(gates, 0, pool.width), -1});
    parts.push_back({slice(values, pool.width, pool.width),
                     slice(gates, pool.width, pool.width), 0});
  } else {
    parts.push_back({values, gates, 0});
  }
  FlatSymbolRefAttr bias;
  if (!pool.bias.empty())
    bias = weight(pool.bias, {pool.every, pool.gates->out});
  return emit<CompressOp>(ArrayRef(parts), pool.every, bias);
}

Value GraphEmitter::attend(const LayerDesc &layer,
                           ArrayRef<AttendSource> sources) {
  FlatSymbolRefAttr sink;
  if (!layer.sink.empty())
    sink = weight(layer.sink, {layer.heads});
  Value o = emit<AttendOp>(stream({layer.heads, layer.valueWidth}), sources,
                           layer.scale, sink);
  if (layer.softCap)
    bend(o.getDefiningOp<AttendOp>(), *layer.softCap);
  return o;
}

void GraphEmitter::bend(AttendOp attend, double cap) {
  OpBuilder::InsertionGuard guard(builder);
  Type f32 = builder.getF32Type();
  // Score, query position, key position, head.
  SmallVector<Type> types(4, f32);
  Block *body = builder.createBlock(&attend.getScoreMap(), {}, types,
                                    SmallVector<Location>(4, loc));
  Value limit =
      builder.create<arith::ConstantOp>(loc, builder.getFloatAttr(f32, cap));
  Value ratio = builder.create<arith::DivFOp>(loc, body->getArgument(0), limit);
  Value bent = builder.create<math::TanhOp>(loc, ratio);
  Value score = builder.create<arith::MulFOp>(loc, bent, limit);
  builder.create<YieldOp>(loc, score);
}

Value GraphEmitter::score(const IndexDesc &index, Value query, Value key,
                          Value weights, Value within) {
  return emit<ScoreOp>(Activation::Relu, index.scale, query, key, weights,
                       within);
}

Value GraphEmitter::candidates(Value scores, const CandidateDesc &pool) {
  return emit<BlockTopKOp>(scores, pool.blocks, pool.size, Reduction::Max,
                           /*pinFirst=*/0, /*pinNewest=*/1);
}

Value GraphEmitter::topK(Value scores, int64_t picks) {
  return emit<TopKOp>(scores, picks);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void GraphEmitter::trace(Value value, StringRef name) {
  value.getDefiningOp()->setAttr(
      kTraceAttr,
      builder.getStringAttr("layer" + Twine(layerAttr.getInt()) + "." + name));
}

FlatSymbolRefAttr GraphEmitter::weight(const std::string &name,
                                       ArrayRef<int64_t> shape) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(model);
  builder.create<WeightOp>(loc, builder.getStringAttr(name),
                           builder.getDenseI64ArrayAttr(shape),
                           /*sym_visibility=*/StringAttr());
  return FlatSymbolRefAttr::get(builder.getContext(), name);
}

StreamType GraphEmitter::stream(ArrayRef<int64_t> shape, int64_t every) {
  return StreamType::get(builder.getContext(), shape, every);
}

} // namespace attnc
