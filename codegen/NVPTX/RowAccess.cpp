//===- RowAccess.cpp - where rows are and what their bytes mean -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/RowAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

using namespace attnc;
using namespace attnc::nvptx;
using namespace mlir;

std::string nvptx::checkFormat(const Format &format) {
  bool plain = format.block == 0 && (format.elem == Elem::F32 || format.elem == Elem::BF16 ||
                                     format.elem == Elem::F16);
  if (plain)
    return "";
  return "format '" + format.str() + "' has no GPU code; supported are f32, bf16 and f16";
}

int64_t nvptx::elementBytes(const Format &format) { return format.elementBits() / 8; }

int64_t nvptx::rowAlignment(const SegmentPlace &place) {
  return std::gcd(std::gcd(place.data, place.dataStride), int64_t(16));
}

Val nvptx::loadElement(Kernel &k, Elem elem, Val pointer, int64_t alignment) {
  if (elem == Elem::F32)
    return k.load(pointer, k.f32Type(), std::min<int64_t>(alignment, 4));
  int64_t most = std::min<int64_t>(alignment, 2);
  if (elem == Elem::F16)
    return k.toF32(k.load(pointer, k.b.getF16Type(), most));
  Val bits = k.load(pointer, k.i16Type(), most);
  Val wide = k.wrap(k.b.create<arith::ExtUIOp>(k.loc, k.i32Type(), bits));
  return k.bitcast(wide << 16, k.f32Type());
}

Val nvptx::packBF16(Kernel &k, Val x, Val y) { return k.device("attn_dev_cvt_bf16x2", {x, y}); }

void nvptx::storeElement(Kernel &k, Elem elem, Val value, Val pointer, int64_t alignment) {
  if (elem == Elem::F32)
    return k.store(value, pointer, std::min<int64_t>(alignment, 4));
  int64_t most = std::min<int64_t>(alignment, 2);
  if (elem == Elem::F16)
    return k.store(k.wrap(k.b.create<arith::TruncFOp>(k.loc, k.b.getF16Type(), value)), pointer,
                   most);
  Val packed = packBF16(k, value, k.f32(0));
  k.store(k.wrap(k.b.create<arith::TruncIOp>(k.loc, k.i16Type(), packed)), pointer, most);
}

Val nvptx::roundElement(Kernel &k, Elem elem, Val x) {
  if (elem == Elem::F32)
    return x;
  if (elem == Elem::F16)
    return k.toF32(k.wrap(k.b.create<arith::TruncFOp>(k.loc, k.b.getF16Type(), x)));
  return k.bitcast(packBF16(k, x, k.f32(0)) << 16, k.f32Type());
}

Val PageArgs::rowOffset(Val table, Val entry, const SegmentPlace &place) const {
  Kernel &k = entry.kernel();
  // A modulus of 0 means none; the largest i32 then changes nothing.
  Val ring = k.truncate(modulo);
  Val number = entry % k.select(ring == 0, k.i32(INT32_MAX), ring);
  Val perPage = k.truncate(pageEntries);
  Val page = number / perPage;
  Val slot = number - page * perPage;
  Val pageNumber = k.loadI32(table, k.extend(page));
  return k.extend(pageNumber) * pageBytes + k.extend(slot) * place.dataStride;
}

RowSource RowSource::take(Kernel &k, const RowSpec &spec) {
  RowSource source;
  source.spec = spec;
  source.base = k.pointer();
  source.table = k.pointer();
  source.tableStride = k.integer();
  source.pages.pageBytes = k.integer();
  source.pages.pageEntries = k.integer();
  source.pages.modulo = k.integer();
  source.origin = k.pointer();
  source.slotStride = k.integer();
  source.headStride = k.integer();
  return source;
}

int64_t RowSource::alignment() const {
  if (spec.dense)
    return 4;
  int64_t alignment = rowAlignment(spec.place);
  return spec.heads == 1 ? alignment : std::gcd(alignment, rowBytes());
}

RowSource::Bound::Bound(const RowSource &source, Val sequence, Val head) : source(source) {
  Kernel &k = sequence.kernel();
  origin = k.loadI32(source.origin, k.extend(sequence));
  if (source.spec.dense) {
    this->head = k.extend(head) * source.headStride * 4;
    return;
  }
  table = k.offset(source.table, k.extend(sequence) * source.tableStride * 4);
  this->head = k.extend(head) * source.rowBytes() + source.spec.place.data;
}

Val RowSource::Bound::offset(Val entry) const {
  Val number = entry - origin;
  if (source.spec.dense)
    return number.kernel().extend(number) * source.slotStride + head;
  return source.pages.rowOffset(table, number, source.spec.place) + head;
}
