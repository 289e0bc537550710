//===- Rows.cpp - where the rows of caches and dense buffers lie ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Pieces/Rows.h"

using namespace mlir;

namespace attnc::cpu {

PageCursor PageCursor::at(const PagesArg &pages, Val number) {
  Emit &e = number.emitter();
  Val zero = e.index(0), one = e.index(1);
  Val ring = pages.modulo > zero;
  // The divisor is 1 where there is none, so that the division is defined.
  Val wrapped = e.select(ring, number % e.select(ring, pages.modulo, one), number);
  return {wrapped, wrapped / pages.pageEntries, wrapped % pages.pageEntries};
}

Val PageCursor::pageOffset(const PagesArg &pages) const {
  Emit &e = page.emitter();
  return e.toIndex(pages.table.load(page)) * pages.pageBytes;
}

PageCursor PageCursor::next(const PagesArg &pages) const {
  Emit &e = page.emitter();
  Val zero = e.index(0);
  Val number = this->number + 1, slot = this->slot + 1;
  Val turned = equal(slot, pages.pageEntries);
  Val page = e.select(turned, this->page + 1, this->page);
  slot = e.select(turned, zero, slot);
  Val wrapped = equal(number, pages.modulo); // never without a ring: number > 0
  return {e.select(wrapped, zero, number), e.select(wrapped, zero, page),
          e.select(wrapped, zero, slot)};
}

RowSource RowSource::arguments(KernelScope &kernel, const RowSpec &spec) {
  RowSource source;
  source.spec = spec;
  source.pages.base = kernel.bytes();
  source.pages.table = kernel.ints();
  source.pages.pageBytes = kernel.integer();
  source.pages.pageEntries = kernel.integer();
  source.pages.modulo = kernel.integer();
  source.first = kernel.integer();
  source.slotStride = kernel.integer();
  source.headStride = kernel.integer();
  return source;
}

Val RowSource::rowOffset(const PageCursor &cursor, Val head) const {
  Val page = cursor.pageOffset(pages);
  if (spec.dense)
    return page + cursor.slot * slotStride + head * headStride * 4;
  Val row = page + cursor.slot * spec.place.dataStride + spec.place.data;
  return row + head * spec.format.dataBytes(spec.dim);
}

void forRows(Emit &e, ArrayRef<RowSource> sources, ArrayRef<Val> heads, Val entry,
             Val count, function_ref<void(Val, ArrayRef<Val>)> body) {
  Vals start;
  for (const RowSource &source : sources)
    start.append(source.cursor(entry).carried());
  e.loop(e.index(0), count, 1, start, [&](Val k, ArrayRef<Val> carried) {
    Vals offsets, next;
    for (auto [i, source] : llvm::enumerate(sources)) {
      PageCursor cursor = PageCursor::from(carried.slice(3 * i, 3));
      offsets.push_back(source.rowOffset(cursor, heads[i]));
      next.append(cursor.next(source.pages).carried());
    }
    body(k, offsets);
    return next;
  });
}

} // namespace attnc::cpu
