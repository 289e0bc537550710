//===- Region.cpp - scalar bodies on vectors --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Pieces/Region.h"
#include "codegen/CPU/Pieces/Exp2.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Region.h"

#include <limits>

using namespace mlir;

namespace attnc::cpu {
namespace {

/// Ops of math that become instructions or polynomials accurate to f32.
bool isVectorMath(Operation &op) {
  return isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::ErfOp,
             math::ExpM1Op, math::ExpOp, math::FloorOp, math::FmaOp, math::LogOp,
             math::Log1pOp, math::Log2Op, math::RoundEvenOp, math::RsqrtOp, math::SqrtOp,
             math::TanhOp, math::TruncOp, math::Exp2Op>(op);
}

/// The lowering has no vector form of math.exp2, the pieces have one for
/// results that are finite.
Val anyExp2(Emit &e, Val x) {
  Val limit = e.constant(x.type(), 128);
  Val infinity = e.constant(x.type(), std::numeric_limits<double>::infinity());
  return e.select(x >= limit, infinity, exp2(x));
}

} // namespace

std::string checkBody(const ScalarBody &body) {
  if (!body.region)
    return "";
  for (Operation &op : body.region->front().without_terminator()) {
    bool arithmetic = op.getDialect() && op.getDialect()->getNamespace() == "arith";
    if (!arithmetic && !isVectorMath(op))
      return "CPU code has no vector form of '" + op.getName().getStringRef().str() +
             "' in a scalar body";
  }
  return "";
}

Val apply(Emit &e, const ScalarBody &body, ArrayRef<Val> arguments) {
  Block &block = body.region->front();
  int64_t lanes = cast<VectorType>(arguments[0].type()).getNumElements();
  auto widen = [&](Type type) -> Type { return VectorType::get({lanes}, type); };
  IRMapping map;
  for (auto [from, to] : llvm::zip_equal(block.getArguments(), arguments))
    map.map(from, Value(to));
  for (Operation &op : block.without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto type = cast<VectorType>(widen(constant.getType()));
      auto dense = DenseElementsAttr::get(type, Attribute(constant.getValue()));
      map.map(constant.getResult(), e.b.create<arith::ConstantOp>(e.loc, dense).getResult());
      continue;
    }
    if (isa<math::Exp2Op>(op)) {
      map.map(op.getResult(0), Value(anyExp2(e, e.wrap(map.lookup(op.getOperand(0))))));
      continue;
    }
    OperationState state(e.loc, op.getName());
    for (Value operand : op.getOperands())
      state.operands.push_back(map.lookup(operand));
    for (Type type : op.getResultTypes())
      state.types.push_back(widen(type));
    state.attributes = op.getAttrDictionary();
    Operation *wide = e.b.create(state);
    for (auto [from, to] : llvm::zip(op.getResults(), wide->getResults()))
      map.map(from, to);
  }
  return e.wrap(map.lookup(block.getTerminator()->getOperand(0)));
}

} // namespace attnc::cpu
