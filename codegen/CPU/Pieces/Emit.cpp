//===- Emit.cpp - writing kernels as IR -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Pieces/Emit.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace attnc::cpu {
namespace {

bool isFloat(Val a) { return isa<FloatType>(getElementTypeOrSelf(a.type())); }

/// Folds constants as it goes: offsets are often known.
template <typename OpTy>
Val fold(Val a, Val b) {
  Emit &e = a.emitter();
  return e.wrap(e.b.createOrFold<OpTy>(e.loc, Value(a), Value(b)));
}

template <typename IntOp, typename FloatOp>
Val arithmetic(Val a, Val b) {
  return isFloat(a) ? fold<FloatOp>(a, b) : fold<IntOp>(a, b);
}

Val compare(Val a, Val b, arith::CmpIPredicate ints, arith::CmpFPredicate floats) {
  Emit &e = a.emitter();
  if (isFloat(a))
    return e.wrap(e.b.create<arith::CmpFOp>(e.loc, floats, Value(a), Value(b)));
  return e.wrap(e.b.createOrFold<arith::CmpIOp>(e.loc, ints, a, b));
}

Val like(Val a, int64_t value) { return a.emitter().constant(a.type(), double(value)); }

} // namespace

Val operator+(Val a, Val b) { return arithmetic<arith::AddIOp, arith::AddFOp>(a, b); }
Val operator-(Val a, Val b) { return arithmetic<arith::SubIOp, arith::SubFOp>(a, b); }
Val operator*(Val a, Val b) { return arithmetic<arith::MulIOp, arith::MulFOp>(a, b); }
Val operator/(Val a, Val b) { return arithmetic<arith::DivUIOp, arith::DivFOp>(a, b); }
Val operator%(Val a, Val b) { return fold<arith::RemUIOp>(a, b); }
Val operator&(Val a, Val b) { return fold<arith::AndIOp>(a, b); }
Val operator|(Val a, Val b) { return fold<arith::OrIOp>(a, b); }
Val operator+(Val a, int64_t b) { return b ? a + like(a, b) : a; }
Val operator-(Val a, int64_t b) { return b ? a - like(a, b) : a; }
Val operator*(Val a, int64_t b) { return b == 1 ? a : a * like(a, b); }
Val operator/(Val a, int64_t b) { return b == 1 ? a : a / like(a, b); }
Val operator%(Val a, int64_t b) { return a % like(a, b); }
Val operator<(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT);
}
Val operator<=(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::sle, arith::CmpFPredicate::OLE);
}
Val operator>(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::sgt, arith::CmpFPredicate::OGT);
}
Val operator>=(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE);
}
Val equal(Val a, Val b) {
  return compare(a, b, arith::CmpIPredicate::eq, arith::CmpFPredicate::OEQ);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Val Emit::constant(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  Attribute scalar;
  if (isa<FloatType>(element))
    scalar = b.getFloatAttr(element, value);
  else
    scalar = b.getIntegerAttr(element, int64_t(value));
  TypedAttr attr = cast<TypedAttr>(scalar);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, scalar);
  return wrap(b.create<arith::ConstantOp>(loc, attr));
}

Val Emit::index(int64_t value) {
  return wrap(b.create<arith::ConstantIndexOp>(loc, value));
}
Val Emit::i32(int64_t value) {
  return wrap(b.create<arith::ConstantIntOp>(loc, value, 32));
}
Val Emit::f32(double value) { return constant(f32Type(), value); }

Val Emit::splat(Val scalar, int64_t n) {
  return wrap(b.create<vector::BroadcastOp>(loc, VectorType::get({n}, scalar.type()), scalar));
}
Val Emit::fma(Val a, Val x, Val c) {
  return wrap(b.create<vector::FMAOp>(loc, Value(a), Value(x), Value(c)));
}
Val Emit::maxSecondNaN(Val a, Val x) { return select(a > x, a, x); }
Val Emit::min(Val a, Val x) { return fold<arith::MinSIOp>(a, x); }
Val Emit::max(Val a, Val x) { return fold<arith::MaxSIOp>(a, x); }
Val Emit::select(Val condition, Val a, Val x) {
  return wrap(b.createOrFold<arith::SelectOp>(loc, Value(condition), Value(a), Value(x)));
}
Val Emit::shuffle(Val a, Val x, ArrayRef<int64_t> from) {
  return wrap(b.create<vector::ShuffleOp>(loc, Value(a), Value(x), from));
}
Val Emit::bitcast(Val a, Type type) {
  if (isa<VectorType>(type))
    return wrap(b.create<vector::BitCastOp>(loc, type, Value(a)));
  return wrap(b.create<arith::BitcastOp>(loc, type, Value(a)));
}
Val Emit::toIndex(Val a) {
  return wrap(b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), Value(a)));
}
Val Emit::toI32(Val a) {
  return wrap(b.createOrFold<arith::IndexCastOp>(loc, i32Type(), Value(a)));
}
Val Emit::toF32(Val a) {
  if (!isa<VectorType>(a.type()) && a.type().isIndex())
    a = toI32(a);
  Type type = f32Type();
  if (auto vector = dyn_cast<VectorType>(a.type()))
    type = f32s(vector.getNumElements());
  return wrap(b.create<arith::SIToFPOp>(loc, type, Value(a)));
}
Val Emit::lane(Val vector, int64_t i) {
  return wrap(b.create<vector::ExtractOp>(loc, Value(vector), i));
}

Vals Emit::transpose(Vals square) {
  int64_t n = int64_t(square.size());
  // Swaps the off-diagonal quarters, then those of the quarters, and so on.
  for (int64_t s = n / 2; s; s /= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t j = 0; j < n; ++j) {
      upper.push_back(j & s ? n + (j ^ s) : j);
      lower.push_back(j & s ? n + j : j | s);
    }
    for (int64_t i = 0; i < n; ++i) {
      if (i & s)
        continue;
      Val p = square[i], q = square[i | s];
      square[i] = shuffle(p, q, upper);
      square[i | s] = shuffle(p, q, lower);
    }
  }
  return square;
}

Val Emit::addLanes(Val vector) {
  int64_t n = cast<VectorType>(vector.type()).getNumElements();
  while (n > 1) {
    n /= 2;
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < n; ++i) {
      low.push_back(i);
      high.push_back(n + i);
    }
    vector = shuffle(vector, low) + shuffle(vector, high);
  }
  return lane(vector, 0);
}

Val Emit::roundUp(Val a, int64_t step) {
  return (a + (step - 1)) / step * step;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void Emit::loop(Val lo, Val hi, int64_t step, function_ref<void(Val)> body) {
  loop(lo, hi, step, {}, [&](Val i, ArrayRef<Val>) {
    body(i);
    return Vals();
  });
}

Vals Emit::loop(Val lo, Val hi, int64_t step, ArrayRef<Val> inits,
                function_ref<Vals(Val, ArrayRef<Val>)> body) {
  SmallVector<Value> values(inits.begin(), inits.end());
  auto op = b.create<scf::ForOp>(
      loc, lo, hi, index(step), values,
      [&](OpBuilder &, Location, Value iv, ValueRange carried) {
        Vals args;
        for (Value v : carried)
          args.push_back(wrap(v));
        // The callback's builder is a copy; ours must follow it in and out.
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(iv.getParentBlock());
        Vals results = body(wrap(iv), args);
        b.create<scf::YieldOp>(loc, SmallVector<Value>(results.begin(), results.end()));
      });
  Vals results;
  for (Value v : op.getResults())
    results.push_back(wrap(v));
  return results;
}

void Emit::when(Val condition, function_ref<void()> then,
                function_ref<void()> otherwise) {
  auto op = b.create<scf::IfOp>(loc, Value(condition), /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
  if (!otherwise)
    return;
  b.setInsertionPoint(op.elseBlock()->getTerminator());
  otherwise();
}

Vals Emit::choose(Val condition, function_ref<Vals()> then,
                  function_ref<Vals()> otherwise) {
  auto branch = [&](function_ref<Vals()> make) {
    return [&, make](OpBuilder &nested, Location) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(nested.getInsertionBlock());
      Vals results = make();
      b.create<scf::YieldOp>(loc, SmallVector<Value>(results.begin(), results.end()));
    };
  };
  auto op = b.create<scf::IfOp>(loc, Value(condition), branch(then), branch(otherwise));
  Vals results;
  for (Value v : op.getResults())
    results.push_back(wrap(v));
  return results;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

MemRefType Mem::type(Type element) { return MemRefType::get({int64_t(1) << 40}, element); }

Type Mem::element() const { return cast<MemRefType>(ref.getType()).getElementType(); }

Mem Mem::at(Val offset) const { return {e, ref, base ? base + offset : offset}; }
Mem Mem::at(int64_t offset) const {
  return offset ? at(e->index(offset)) : *this;
}
Val Mem::place(Val i) const { return base ? base + i : i; }

Val Mem::load(Val i) const {
  return e->wrap(e->b.create<memref::LoadOp>(e->loc, ref, ValueRange{place(i)}));
}
Val Mem::load(Val i, int64_t n) const {
  return e->wrap(e->b.create<vector::LoadOp>(e->loc, VectorType::get({n}, element()),
                                             ref, ValueRange{place(i)}));
}
void Mem::store(Val value, Val i) const {
  if (isa<VectorType>(value.type()))
    e->b.create<vector::StoreOp>(e->loc, Value(value), ref, ValueRange{place(i)});
  else
    e->b.create<memref::StoreOp>(e->loc, Value(value), ref, ValueRange{place(i)});
}
void Mem::prefetch(Val i) const {
  e->b.create<memref::PrefetchOp>(e->loc, ref, ValueRange{place(i)}, /*isWrite=*/false,
                                  /*localityHint=*/3, /*isDataCache=*/true);
}
Val Mem::loadI32(Val i, int64_t n) const {
  if (n == 1)
    return e->bitcast(load(i), e->i32Type());
  return e->bitcast(load(i, n), e->i32s(n));
}
void Mem::storeI32(Val value, Val i) const {
  Type type = e->f32Type();
  if (auto vector = dyn_cast<VectorType>(value.type()))
    type = e->f32s(vector.getNumElements());
  store(e->bitcast(value, type), i);
}

Mem ViewArg::row(Val t, Val h) const {
  return mem.at(t * tokenStride + h * headStride);
}

} // namespace attnc::cpu
