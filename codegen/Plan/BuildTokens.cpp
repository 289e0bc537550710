//===- BuildTokens.cpp - launches of per-token ops --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/Plan/BodyBuilder.h"

#include "dialect/Attn/Interpreter/Evaluation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

namespace attnc {

Launch makeLaunch(StringRef kind, std::string kernel, Operation *op) {
  Launch launch;
  launch.op = kind.str();
  launch.kernel = std::move(kernel);
  launch.layer = getLayer(op);
  return launch;
}

static ViewShape shapeOf(const View &view) { return {view.heads, view.inner}; }

void BodyBuilder::copy(const View &from, const View &into, Operation *op, Launches &to) {
  MapSpec spec;
  spec.shape = shapeOf(into);
  spec.operands = {MapSpec::Operand::Full};
  Launch launch = makeLaunch("map", context.kernels.get(spec), op);
  launch.in = {from};
  launch.out = {into};
  to.push_back(std::move(launch));
}

View BodyBuilder::shaped(Value value, int64_t heads, int64_t inner, Operation *op, Scope &scope,
                         Launches &to) {
  View view = scope.view(value);
  if (reshape(view, heads, inner))
    return view;
  View packed = scope.allocate(view.heads, view.inner);
  copy(view, packed, op, to);
  reshape(packed, heads, inner);
  return packed;
}

/// A fresh buffer for `value`, in the shape of its type, bound to it.
View BodyBuilder::result(Value value, Scope &scope) {
  auto type = cast<StreamType>(value.getType());
  View view = scope.allocate(type.getHeads(), type.getChannels());
  scope.bind(value, view);
  return view;
}

LogicalResult BodyBuilder::emitToken(Operation &op, Scope &scope, Launches &to) {
  return TypeSwitch<Operation &, LogicalResult>(op)
      .Case<LinearOp, RMSNormOp, RopeOp, MapOp, RoundOp, SliceOp, ConcatOp, ExternOp>(
          [&](auto typed) { return emit(typed, scope, to); })
      .Default([](Operation &other) {
        return other.emitOpError("has no kernel; expected a per-token op of attn or an op of kv");
      });
}

LogicalResult BodyBuilder::emit(LinearOp op, Scope &scope, Launches &to) {
  WeightOp weight = lookupWeight(op, op.getWeightAttr());
  auto geometry = op.getGeometry(weight);
  if (op.getBias() && geometry.rowCount != geometry.groupRows)
    return op.emitOpError("adds a bias to some rows of each group, which has no kernel; expected "
                          "all rows, or no bias");
  ProjectSpec spec;
  spec.groups = geometry.groups;
  spec.in = geometry.in;
  spec.out = geometry.out;
  spec.sharedInput = geometry.sharedInput;
  spec.bias = bool(op.getBias());
  std::string kernel = context.kernels.get(spec);
  Launch launch = makeLaunch("project", kernel, op);
  launch.in = {shaped(op.getInput(), spec.sharedInput ? 1 : spec.groups, spec.in, op, scope, to)};
  launch.weights = {context.tables.panels(op, weight, kernel)};
  if (spec.bias)
    launch.weights.push_back(context.tables.vector(lookupWeight(op, op.getBiasAttr())));
  View out = result(op.getResult(), scope);
  reshape(out, spec.groups, spec.out);
  launch.out = {out};
  to.push_back(std::move(launch));
  return success();
}

LogicalResult BodyBuilder::emit(RMSNormOp op, Scope &scope, Launches &to) {
  View in = scope.view(op.getInput());
  View out = result(op.getResult(), scope);
  if (!op.getPerHead() && reshape(in, 1, out.heads * out.inner))
    reshape(out, 1, out.heads * out.inner);
  NormSpec spec;
  spec.shape = shapeOf(out);
  spec.perHead = op.getPerHead() && out.heads > 1;
  spec.weight = bool(op.getWeight());
  spec.eps = op.getEps().convertToDouble();
  Launch launch = makeLaunch("norm", context.kernels.get(spec), op);
  launch.in = {in};
  launch.out = {out};
  if (spec.weight)
    launch.weights = {context.tables.vector(lookupWeight(op, op.getWeightAttr()),
                                            op.getWeightOffset().convertToDouble())};
  to.push_back(std::move(launch));
  return success();
}

LogicalResult BodyBuilder::emit(RopeOp op, Scope &scope, Launches &to) {
  View out = result(op.getResult(), scope);
  RopeSpec spec;
  spec.shape = shapeOf(out);
  spec.dims = op.getRotary().getDims();
  spec.first = op.getEnd() == RotatedEnd::First ? 0 : out.inner - spec.dims;
  spec.interleaved = op.getPairing() == Pairing::Interleaved;
  spec.inverse = op.getInverse();
  Launch launch = makeLaunch("rope", context.kernels.get(spec), op);
  launch.in = {scope.view(op.getInput())};
  launch.out = {out};
  launch.table = context.tables.rotary(op.getRotary());
  to.push_back(std::move(launch));
  return success();
}

/// How a constant of `entries` entries reaches the channels of `shape`.
static MapSpec::Const constKind(int64_t entries, const ViewShape &shape) {
  if (entries == shape.channels())
    return MapSpec::Const::PerChannel;
  if (entries == shape.heads)
    return MapSpec::Const::PerHead;
  return entries == shape.inner ? MapSpec::Const::PerInner : MapSpec::Const::One;
}

LogicalResult BodyBuilder::emit(MapOp op, Scope &scope, Launches &to) {
  StreamType type = op.getType();
  MapSpec spec;
  spec.shape = {type.getHeads(), type.getChannels()};
  Launch launch = makeLaunch("map", "", op);
  for (Value input : op.getInputs()) {
    int64_t features = cast<StreamType>(input.getType()).getNumFeatures();
    bool full = features == spec.shape.channels(), perHead = features == spec.shape.heads;
    spec.operands.push_back(full      ? MapSpec::Operand::Full
                            : perHead ? MapSpec::Operand::PerHead
                                      : MapSpec::Operand::PerToken);
    launch.in.push_back(shaped(input, full || perHead ? spec.shape.heads : 1,
                               full ? spec.shape.inner : 1, op, scope, to));
  }
  if (op.getConsts())
    for (auto symbol : op.getConsts()->getAsRange<FlatSymbolRefAttr>()) {
      WeightOp weight = lookupWeight(op, symbol);
      spec.consts.push_back(constKind(weight.getShape()[0], spec.shape));
      launch.weights.push_back(context.tables.vector(weight));
    }
  spec.body = {&op.getBody(), printScalarBody(op.getBody())};
  launch.kernel = context.kernels.get(spec);
  launch.out = {result(op.getResult(), scope)};
  to.push_back(std::move(launch));
  return success();
}

LogicalResult BodyBuilder::emit(RoundOp op, Scope &scope, Launches &to) {
  Format format = op.getFormat().getFormat();
  // f32 stands for no rounding.
  if (format.elem == Elem::F32 && format.scale == Scale::None) {
    scope.bind(op.getResult(), scope.view(op.getInput()));
    return success();
  }
  View out = result(op.getResult(), scope);
  RoundSpec spec{shapeOf(out), format};
  Launch launch = makeLaunch("round", context.kernels.get(spec), op);
  launch.in = {scope.view(op.getInput())};
  launch.out = {out};
  to.push_back(std::move(launch));
  return success();
}

LogicalResult BodyBuilder::emit(SliceOp op, Scope &scope, Launches &to) {
  View view = scope.view(op.getInput());
  view.offset += op.getOffset();
  view.inner = op.getSize();
  scope.bind(op.getResult(), view);
  return success();
}

LogicalResult BodyBuilder::emit(ConcatOp op, Scope &scope, Launches &to) {
  View out = result(op.getResult(), scope);
  int64_t offset = 0;
  for (Value input : op.getInputs()) {
    View from = scope.view(input), into = out;
    // One that all heads share is repeated.
    if (from.heads != out.heads) {
      from.heads = out.heads;
      from.headStride = 0;
    }
    into.offset += offset;
    into.inner = from.inner;
    copy(from, into, op, to);
    offset += from.inner;
  }
  return success();
}

LogicalResult BodyBuilder::emit(ExternOp op, Scope &scope, Launches &to) {
  if (op.getInputs().size() != 1)
    return op.emitOpError("has ") << op.getInputs().size()
                                  << " inputs; expected one, as a step calls it";
  Launch launch = makeLaunch("extern", "", op);
  launch.name = op.getCallee().str();
  launch.optional = op.getOptional();
  launch.in = {scope.view(op.getInputs()[0])};
  launch.out = {result(op.getResult(), scope)};
  to.push_back(std::move(launch));
  return success();
}

} // namespace attnc
