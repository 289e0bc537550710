//===- Elements.cpp - vectors of stored elements ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Pieces/Elements.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace attnc::cpu {
namespace {

int64_t count(Val v) { return cast<VectorType>(v.type()).getNumElements(); }

VectorType i16s(Emit &e, int64_t n) { return VectorType::get({n}, e.b.getI16Type()); }
VectorType f16s(Emit &e, int64_t n) { return VectorType::get({n}, e.b.getF16Type()); }

Val shiftLeft(Emit &e, Val a, int64_t by) {
  return e.wrap(e.b.create<arith::ShLIOp>(e.loc, Value(a), Value(e.constant(a.type(), by))));
}
Val shiftRight(Emit &e, Val a, int64_t by) {
  return e.wrap(e.b.create<arith::ShRUIOp>(e.loc, Value(a), Value(e.constant(a.type(), by))));
}

Val bf16ToF32(Emit &e, Val bits) {
  Val wide = e.wrap(e.b.create<arith::ExtUIOp>(e.loc, e.i32s(count(bits)), Value(bits)));
  return e.bitcast(shiftLeft(e, wide, 16), e.f32s(count(bits)));
}

/// Round to nearest even in integers: the hardware's own conversion treats
/// subnormals as zero.
Val f32ToBF16(Emit &e, Val values) {
  int64_t n = count(values);
  Val bits = e.bitcast(values, e.i32s(n));
  Val high = shiftRight(e, bits, 16);
  Val odd = high & e.constant(bits.type(), 1);
  Val rounded = shiftRight(e, bits + e.constant(bits.type(), 0x7FFF) + odd, 16);
  Val quiet = high | e.constant(bits.type(), 0x40);
  Val isNaN = e.wrap(e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::UNO, Value(values),
                                               Value(values)));
  Value kept = e.select(isNaN, quiet, rounded);
  return e.wrap(e.b.create<arith::TruncIOp>(e.loc, i16s(e, n), kept));
}

Val f16ToF32(Emit &e, Val bits) {
  int64_t n = count(bits);
  return e.wrap(e.b.create<arith::ExtFOp>(e.loc, e.f32s(n), Value(e.bitcast(bits, f16s(e, n)))));
}

Val f32ToF16(Emit &e, Val values) {
  int64_t n = count(values);
  Val narrow = e.wrap(e.b.create<arith::TruncFOp>(e.loc, f16s(e, n), Value(values)));
  return e.bitcast(narrow, i16s(e, n));
}

} // namespace

std::string checkFormat(const Format &format, const CpuTarget &target) {
  bool plain = format.block == 0 || format.scale == Scale::None;
  bool known = format.elem == Elem::F32 || format.elem == Elem::BF16 ||
               format.elem == Elem::F16;
  if (!plain || !known)
    return "CPU code has no rows of format '" + format.str() + "'; expected f32, bf16 or f16";
  if (format.elem == Elem::F16 && !llvm::is_contained(target.required, "f16c") &&
      !llvm::is_contained(target.required, "neon"))
    return "rows of format 'f16' need a CPU with f16c, which " + target.name + " lacks";
  return "";
}

void forChunks(Emit &e, int64_t count, function_ref<void(Val, int64_t)> body,
               int64_t most) {
  int64_t n = most ? most : e.lanes(), whole = count / n * n;
  if (whole == n)
    body(e.index(0), n);
  else if (whole > n)
    e.loop(e.index(0), e.index(whole), n, [&](Val c) { body(c, n); });
  for (int64_t c = whole; c < count;) {
    while (n > count - c)
      n /= 2;
    body(e.index(c), n);
    c += n;
  }
}

Val decode(Emit &e, const Format &format, Mem bytes, Val data, Val c, int64_t n) {
  int64_t size = format.elementBits() / 8;
  Val raw = bytes.load(data + c * size, n * size);
  switch (format.elem) {
  case Elem::F32:
    return e.bitcast(raw, e.f32s(n));
  case Elem::BF16:
    return bf16ToF32(e, e.bitcast(raw, i16s(e, n)));
  default: // f16: checkFormat admits nothing else
    return f16ToF32(e, e.bitcast(raw, i16s(e, n)));
  }
}

void encode(Emit &e, const Format &format, Val values, Mem bytes, Val data, Val c) {
  int64_t size = format.elementBits() / 8;
  Val stored = values;
  if (format.elem == Elem::BF16)
    stored = f32ToBF16(e, values);
  else if (format.elem == Elem::F16)
    stored = f32ToF16(e, values);
  VectorType raw = VectorType::get({count(values) * size}, e.b.getI8Type());
  bytes.store(e.bitcast(stored, raw), data + c * size);
}

Val roundTo(Emit &e, const Format &format, Val values) {
  switch (format.elem) {
  case Elem::F32:
    return values;
  case Elem::BF16:
    return bf16ToF32(e, f32ToBF16(e, values));
  default: // f16: checkFormat admits nothing else
    return f16ToF32(e, f32ToF16(e, values));
  }
}

} // namespace attnc::cpu
