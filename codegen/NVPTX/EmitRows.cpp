//===- EmitRows.cpp - append and unpack -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Append: one block per token. Tokens of several sequences share a launch, so
// each says which sequence it belongs to and which entry it writes, if any.
// Unpack: one block per entry of one sequence.
//
//===----------------------------------------------------------------------===//

#include "codegen/NVPTX/Emitters.h"
#include "codegen/NVPTX/RowAccess.h"

#include <numeric>

using namespace attnc;
using namespace attnc::nvptx;

namespace {

constexpr int64_t kThreads = 128;

PageArgs takePages(Kernel &k) {
  PageArgs pages;
  pages.pageBytes = k.integer();
  pages.pageEntries = k.integer();
  pages.modulo = k.integer();
  return pages;
}

/// Rounds the channels of token `t` of `x` into the segment of the row of `entry`.
void appendPart(Kernel &k, const AppendSpec::Part &part, const ViewArg &x, Val base, Val table,
                const PageArgs &pages, Val t, Val entry) {
  int64_t bytes = elementBytes(part.format);
  int64_t alignment = std::gcd(rowAlignment(part.place), bytes);
  Val row = k.offset(base, pages.rowOffset(table, entry, part.place) + part.place.data);
  k.loop(k.tid(), k.i32(part.shape.channels()), kThreads, [&](Val c) {
    Val h = c / part.shape.inner;
    Val value = k.load(x.at(t, h, c - h * part.shape.inner), k.f32Type(), 4);
    storeElement(k, part.format.elem, value, k.offset(row, c * bytes), alignment);
  });
}

} // namespace

Result<EmittedKernel> nvptx::emitAppend(const AppendSpec &spec, const EmitTarget &target) {
  for (const AppendSpec::Part &part : spec.parts)
    if (std::string error = checkFormat(part.format); !error.empty())
      return Error{error};
  Kernel k(target.context, target.name, kThreads);
  llvm::SmallVector<ViewArg> views;
  for (size_t i = 0; i < spec.parts.size(); ++i)
    views.push_back(k.view());
  Val base = k.pointer(), table = k.pointer(), tableStride = k.integer();
  PageArgs pages = takePages(k);
  Val tokenSequence = k.pointer(), tokenEntry = k.pointer();
  Val t0 = k.integer();
  k.integer(); // t1: the grid has t1 - t0 blocks
  Val t = t0 + k.extend(k.blockX());

  Val entry = k.loadI32(tokenEntry, t);
  k.when(entry >= k.i32(0), [&] {
    Val sequence = k.loadI32(tokenSequence, t);
    Val ownTable = k.offset(table, k.extend(sequence) * tableStride * 4);
    for (auto [part, view] : llvm::zip_equal(spec.parts, views))
      appendPart(k, part, view, base, ownTable, pages, t, entry);
  });

  EmittedKernel made;
  made.threads = kThreads;
  made.module = k.finish();
  return made;
}

Result<EmittedKernel> nvptx::emitUnpack(const UnpackSpec &spec, const EmitTarget &target) {
  const RowSpec &rows = spec.rows;
  if (std::string error = checkFormat(rows.format); !error.empty())
    return Error{error};
  Kernel k(target.context, target.name, kThreads);
  Val base = k.pointer(), table = k.pointer();
  PageArgs pages = takePages(k);
  Val e0 = k.integer();
  k.integer(); // e1: the grid has e1 - e0 blocks
  ViewArg y = k.view();

  int64_t bytes = elementBytes(rows.format);
  int64_t alignment = std::gcd(rowAlignment(rows.place), bytes);
  Val number = k.blockX();
  Val entry = k.truncate(e0) + number;
  Val row = k.offset(base, pages.rowOffset(table, entry, rows.place) + rows.place.data);
  k.loop(k.tid(), k.i32(rows.heads * rows.dim), kThreads, [&](Val c) {
    Val h = c / rows.dim;
    Val value = loadElement(k, rows.format.elem, k.offset(row, c * bytes), alignment);
    k.store(value, y.at(k.extend(number), h, c - h * rows.dim), 4);
  });

  EmittedKernel made;
  made.threads = kThreads;
  made.module = k.finish();
  return made;
}
