//===- Emit.h - writing kernels as IR ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A thin layer over OpBuilder that lets a kernel read like the loop it becomes:
// values with operators, one-dimensional memory, counted loops. Everything
// lands in scf, arith, memref and vector ops.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_CPU_PIECES_EMIT_H
#define ATTNC_CODEGEN_CPU_PIECES_EMIT_H

#include "codegen/CPU/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace attnc::cpu {

class Emit;

/// An SSA value that knows where to emit more: index, i32, i1, f32, or a vector
/// of these. Arithmetic picks the op by the element type.
class Val {
public:
  Val() = default;
  Val(Emit &emit, mlir::Value value) : emit(&emit), value(value) {}
  operator mlir::Value() const { return value; }
  explicit operator bool() const { return bool(value); }
  mlir::Type type() const { return value.getType(); }
  Emit &emitter() const { return *emit; }

private:
  Emit *emit = nullptr;
  mlir::Value value;
};

Val operator+(Val a, Val b);
Val operator-(Val a, Val b);
Val operator*(Val a, Val b);
Val operator&(Val a, Val b);
Val operator|(Val a, Val b);
Val operator+(Val a, int64_t b); // index and i32 only, as below
Val operator-(Val a, int64_t b);
Val operator*(Val a, int64_t b);
Val operator/(Val a, int64_t b); ///< of non-negative numbers
Val operator%(Val a, int64_t b); ///< of non-negative numbers
Val operator/(Val a, Val b);     ///< of non-negative numbers, or of f32
Val operator%(Val a, Val b);
Val operator<(Val a, Val b); ///< signed, or ordered for f32
Val operator<=(Val a, Val b);
Val operator>(Val a, Val b);
Val operator>=(Val a, Val b);
Val equal(Val a, Val b); ///< index and i32

using Vals = llvm::SmallVector<Val>;

class Emit {
public:
  Emit(mlir::OpBuilder &builder, mlir::Location loc, const CpuTarget &target)
      : b(builder), loc(loc), target(target) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  const CpuTarget &target;

  int64_t lanes() const { return target.lanes; }
  mlir::Type f32Type() { return b.getF32Type(); }
  mlir::Type i32Type() { return b.getI32Type(); }
  mlir::VectorType f32s(int64_t n) { return mlir::VectorType::get({n}, f32Type()); }
  mlir::VectorType i32s(int64_t n) { return mlir::VectorType::get({n}, i32Type()); }

  Val index(int64_t value);
  Val i32(int64_t value);
  Val f32(double value);
  /// A constant of `type`: a scalar, or a vector with all lanes equal.
  Val constant(mlir::Type type, double value);
  Val wrap(mlir::Value value) { return Val(*this, value); }

  Val splat(Val scalar, int64_t n);
  Val fma(Val a, Val b, Val c); ///< a * b + c, fused where the target can
  /// `a > b ? a : b`: b when either is NaN. One instruction on x86.
  Val maxSecondNaN(Val a, Val b);
  Val min(Val a, Val b); ///< index and i32, signed
  Val max(Val a, Val b);
  Val select(Val condition, Val a, Val b);
  Val shuffle(Val a, llvm::ArrayRef<int64_t> from) { return shuffle(a, a, from); }
  Val shuffle(Val a, Val b, llvm::ArrayRef<int64_t> from);
  Val bitcast(Val a, mlir::Type type);
  Val toIndex(Val a);           ///< from i32, signed
  Val toI32(Val a);             ///< from index; truncates
  Val toF32(Val a);             ///< from index or i32
  /// Lane j of vector i to lane i of vector j, for as many vectors as lanes.
  Vals transpose(Vals square);
  Val lane(Val vector, int64_t i);
  Val addLanes(Val vector);     ///< the sum over the lanes, pairwise
  /// The least multiple of `step` that is not below `a` (not negative).
  Val roundUp(Val a, int64_t step);

  void loop(Val lo, Val hi, int64_t step, llvm::function_ref<void(Val)> body);
  Vals loop(Val lo, Val hi, int64_t step, llvm::ArrayRef<Val> inits,
            llvm::function_ref<Vals(Val, llvm::ArrayRef<Val>)> body);
  void when(Val condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr);
  Vals choose(Val condition, llvm::function_ref<Vals()> then,
              llvm::function_ref<Vals()> otherwise);
};

/// Memory behind a pointer, as a one-dimensional array of f32, i32 or bytes. Its
/// memref has a static size, larger than anything: bare pointers need one.
struct Mem {
  Emit *e = nullptr;
  mlir::Value ref;
  Val base; ///< elements to skip; may be null

  static mlir::MemRefType type(mlir::Type element);

  mlir::Type element() const;
  Mem at(Val offset) const; ///< the same memory, `offset` elements on
  Mem at(int64_t offset) const;
  Val load(Val i) const;
  Val load(Val i, int64_t n) const; ///< n neighbouring elements
  void store(Val value, Val i) const;
  /// Asks for the cache line of element i, to be read soon.
  void prefetch(Val i) const;
  /// Scratch holds i32 as the bits of f32.
  Val loadI32(Val i, int64_t n) const;
  void storeI32(Val value, Val i) const;

private:
  Val place(Val i) const;
};

/// The argument triple of a view of a per-token buffer.
struct ViewArg {
  Mem mem;
  Val tokenStride, headStride;

  /// Element 0 of head `h` of token `t`.
  Mem row(Val t, Val h) const;
  Mem row(Val t) const { return mem.at(t * tokenStride); }
};

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_PIECES_EMIT_H
