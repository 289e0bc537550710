//===- Append.cpp - the append and unpack kernels of CPU code ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Emitters.h"
#include "codegen/CPU/Pieces/Elements.h"
#include "codegen/CPU/Pieces/Rows.h"

using namespace mlir;

namespace attnc::cpu {
namespace {

/// Pages as append and unpack get them: without what modulo says, which comes
/// at a place of its own in each list of arguments.
PagesArg pagesWithoutModulo(KernelScope &kernel) {
  PagesArg pages;
  pages.base = kernel.bytes();
  pages.table = kernel.ints();
  pages.pageBytes = kernel.integer();
  pages.pageEntries = kernel.integer();
  return pages;
}

/// body(k, cursor) for `count` entries from `entry` on.
void forEntries(Emit &e, const PagesArg &pages, Val entry, Val count,
                function_ref<void(Val, const PageCursor &)> body) {
  Vals start = PageCursor::at(pages, entry).carried();
  e.loop(e.index(0), count, 1, start, [&](Val k, ArrayRef<Val> carried) {
    PageCursor cursor = PageCursor::from(carried);
    body(k, cursor);
    return cursor.next(pages).carried();
  });
}

} // namespace

std::string checkAppend(const AppendSpec &spec, const CpuTarget &target) {
  for (const AppendSpec::Part &part : spec.parts) {
    std::string error = checkFormat(part.format, target);
    if (!error.empty())
      return error;
  }
  return "";
}

void emitAppend(ModuleOp module, const std::string &name, const AppendSpec &spec,
                const CpuTarget &target) {
  KernelScope kernel(module, name + bodySuffix, target);
  Emit &e = kernel.e;
  SmallVector<ViewArg> views;
  for (size_t i = 0; i < spec.parts.size(); ++i)
    views.push_back(kernel.view());
  PagesArg pages = pagesWithoutModulo(kernel);
  Val entry = kernel.integer();
  pages.modulo = kernel.integer();
  Val from = kernel.integer(), to = kernel.integer();
  forEntries(e, pages, entry, to - from, [&](Val k, const PageCursor &cursor) {
    Val page = cursor.pageOffset(pages);
    for (size_t i = 0; i < views.size(); ++i) {
      const ViewArg &view = views[i];
      const AppendSpec::Part &part = spec.parts[i];
      Val row = page + cursor.slot * part.place.dataStride + part.place.data;
      e.loop(e.index(0), e.index(part.shape.heads), 1, [&](Val h) {
        Val data = row + h * part.format.dataBytes(part.shape.inner);
        Mem x = view.row(from + k, h);
        forChunks(e, part.shape.inner, [&](Val c, int64_t n) {
          encode(e, part.format, x.load(c, n), pages.base, data, c);
        });
      });
    }
  });
}

std::string checkUnpack(const UnpackSpec &spec, const CpuTarget &target) {
  return checkFormat(spec.rows.format, target);
}

void emitUnpack(ModuleOp module, const std::string &name, const UnpackSpec &spec,
                const CpuTarget &target) {
  KernelScope kernel(module, name + bodySuffix, target);
  Emit &e = kernel.e;
  PagesArg pages = pagesWithoutModulo(kernel);
  pages.modulo = kernel.integer();
  Val from = kernel.integer(), to = kernel.integer();
  ViewArg y = kernel.view();
  const RowSpec &rows = spec.rows;
  forEntries(e, pages, from, to - from, [&](Val k, const PageCursor &cursor) {
    Val row = cursor.pageOffset(pages) + cursor.slot * rows.place.dataStride + rows.place.data;
    e.loop(e.index(0), e.index(rows.heads), 1, [&](Val h) {
      Val data = row + h * rows.format.dataBytes(rows.dim);
      Mem out = y.row(k, h);
      forChunks(e, rows.dim, [&](Val c, int64_t n) {
        out.store(decode(e, rows.format, pages.base, data, c, n), c);
      });
    });
  });
}

} // namespace attnc::cpu
