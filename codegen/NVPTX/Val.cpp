//===- Val.cpp - values with operators ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/Val.h"

#include "codegen/NVPTX/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace attnc;
using namespace attnc::nvptx;
using namespace mlir;

namespace {

template <typename IntOp, typename FloatOp> Val binary(Val a, Val b) {
  Kernel &kernel = a.kernel();
  if (isa<FloatType>(getElementTypeOrSelf(a.type())))
    return {kernel, kernel.b.createOrFold<FloatOp>(kernel.loc, a, b)};
  return {kernel, kernel.b.createOrFold<IntOp>(kernel.loc, a, b)};
}

template <typename IntOp> Val integral(Val a, Val b) {
  Kernel &kernel = a.kernel();
  return {kernel, kernel.b.createOrFold<IntOp>(kernel.loc, a, b)};
}

Val compare(arith::CmpIPredicate ints, arith::CmpFPredicate floats, Val a, Val b) {
  Kernel &kernel = a.kernel();
  if (isa<FloatType>(getElementTypeOrSelf(a.type())))
    return {kernel, kernel.b.createOrFold<arith::CmpFOp>(kernel.loc, floats, a, b)};
  return {kernel, kernel.b.createOrFold<arith::CmpIOp>(kernel.loc, ints, a, b)};
}

/// `b` as a constant of `a`'s type.
Val like(Val a, int64_t b) { return a.kernel().constant(a.type(), b); }

} // namespace

Val nvptx::operator+(Val a, Val b) { return binary<arith::AddIOp, arith::AddFOp>(a, b); }
Val nvptx::operator-(Val a, Val b) { return binary<arith::SubIOp, arith::SubFOp>(a, b); }
Val nvptx::operator*(Val a, Val b) { return binary<arith::MulIOp, arith::MulFOp>(a, b); }
Val nvptx::operator/(Val a, Val b) { return binary<arith::DivUIOp, arith::DivFOp>(a, b); }
Val nvptx::operator%(Val a, Val b) { return integral<arith::RemUIOp>(a, b); }
Val nvptx::operator&(Val a, Val b) { return integral<arith::AndIOp>(a, b); }
Val nvptx::operator|(Val a, Val b) { return integral<arith::OrIOp>(a, b); }
Val nvptx::operator+(Val a, int64_t b) { return a + like(a, b); }
Val nvptx::operator-(Val a, int64_t b) { return a - like(a, b); }
Val nvptx::operator*(Val a, int64_t b) { return a * like(a, b); }
Val nvptx::operator/(Val a, int64_t b) { return a / like(a, b); }
Val nvptx::operator%(Val a, int64_t b) { return a % like(a, b); }
Val nvptx::operator&(Val a, int64_t b) { return a & like(a, b); }
Val nvptx::operator<<(Val a, int64_t b) { return integral<arith::ShLIOp>(a, like(a, b)); }
Val nvptx::operator>>(Val a, int64_t b) { return integral<arith::ShRUIOp>(a, like(a, b)); }

Val nvptx::operator<(Val a, Val b) {
  return compare(arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT, a, b);
}
Val nvptx::operator<(Val a, int64_t b) { return a < like(a, b); }
Val nvptx::operator>=(Val a, Val b) {
  return compare(arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE, a, b);
}
Val nvptx::operator==(Val a, Val b) {
  return compare(arith::CmpIPredicate::eq, arith::CmpFPredicate::OEQ, a, b);
}
Val nvptx::operator==(Val a, int64_t b) { return a == like(a, b); }
