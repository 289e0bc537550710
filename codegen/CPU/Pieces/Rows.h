//===- Rows.h - where the rows of caches and dense buffers lie --------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_CPU_PIECES_ROWS_H
#define ATTNC_CODEGEN_CPU_PIECES_ROWS_H

#include "codegen/CPU/Kernel.h"
#include "codegen/Plan/KernelSpec.h"

namespace attnc::cpu {

/// Pages of a cache as kernels get them.
struct PagesArg {
  Mem base;  ///< bytes
  Mem table; ///< i32 page numbers
  Val pageBytes, pageEntries, modulo;
};

/// A place in pages that moves on entry by entry without dividing.
struct PageCursor {
  Val number; ///< of the entry, after `first` and `modulo`
  Val page;   ///< index into the table
  Val slot;   ///< within the page

  static PageCursor at(const PagesArg &pages, Val number);
  /// Byte offset of the page that the cursor is in.
  Val pageOffset(const PagesArg &pages) const;
  PageCursor next(const PagesArg &pages) const;

  Vals carried() const { return {number, page, slot}; }
  static PageCursor from(llvm::ArrayRef<Val> carried) {
    return {carried[0], carried[1], carried[2]};
  }
};

/// The eight arguments of a row source (formats/KernelAbi.h).
struct RowSource {
  RowSpec spec;
  PagesArg pages;
  Val first, slotStride, headStride;

  static RowSource arguments(KernelScope &kernel, const RowSpec &spec);

  PageCursor cursor(Val entry) const {
    return PageCursor::at(pages, entry - first);
  }
  /// Byte offset of the first channel of head `head` in the cursor's row.
  Val rowOffset(const PageCursor &cursor, Val head) const;
};

/// For each of `count` entries from `entry` on: body(k, byte offset of the row of
/// head heads[i] in sources[i], for every i).
void forRows(Emit &e, llvm::ArrayRef<RowSource> sources, llvm::ArrayRef<Val> heads,
             Val entry, Val count, llvm::function_ref<void(Val, llvm::ArrayRef<Val>)> body);

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_PIECES_ROWS_H
