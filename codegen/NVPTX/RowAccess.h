//===- RowAccess.h - where rows are and what their bytes mean ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_NVPTX_ROWACCESS_H
#define ATTNC_CODEGEN_NVPTX_ROWACCESS_H

#include "codegen/NVPTX/Kernel.h"
#include "codegen/Plan/KernelSpec.h"

namespace attnc::nvptx {

/// Complains about formats that no kernel reads or writes yet.
std::string checkFormat(const Format &format);

/// Bytes of one element of a format that checkFormat accepts.
int64_t elementBytes(const Format &format);

/// The alignment (at most 16) of a row's first byte, if bases of caches and
/// pages are aligned so that whole rows are: see docs/gpu.md, "Alignment".
int64_t rowAlignment(const SegmentPlace &place);

/// Reads one element as f32, or writes one, rounded as formats/Format.h does.
Val loadElement(Kernel &k, Elem elem, Val pointer, int64_t alignment);
void storeElement(Kernel &k, Elem elem, Val value, Val pointer, int64_t alignment);

/// x and y rounded to bf16 in one register, x in the low half.
Val packBF16(Kernel &k, Val x, Val y);

/// x rounded to the element type and back.
Val roundElement(Kernel &k, Elem elem, Val x);

/// The slot arithmetic of a cache: bytes from the cache's base to the row of
/// entry `entry` (i32), without the segment's own offset.
struct PageArgs {
  Val pageBytes, pageEntries, modulo; ///< i64 arguments

  /// `table` points at the page table of the entry's sequence.
  Val rowOffset(Val table, Val entry, const SegmentPlace &place) const;
};

/// A row source of attend (KernelAbi.h; docs/gpu.md says how a GPU's differs).
struct RowSource {
  RowSpec spec;
  Val base, table, tableStride;
  PageArgs pages;
  Val origin, slotStride, headStride;

  /// Takes the nine arguments.
  static RowSource take(Kernel &k, const RowSpec &spec);

  /// A source's rows of one sequence and one head: what the loop over its
  /// entries needs, loaded once.
  class Bound {
  public:
    Bound(const RowSource &source, Val sequence, Val head);
    const RowSource &rows() const { return source; }
    /// Bytes (i64) from the source's base to the row of `entry` (i32).
    Val offset(Val entry) const;

  private:
    const RowSource &source;
    Val table;  ///< of the sequence; not for dense rows
    Val head;   ///< i64: bytes
    Val origin; ///< i32: the entry of row 0
  };

  Elem elem() const { return spec.dense ? Elem::F32 : spec.format.elem; }
  int64_t elementSize() const { return spec.dense ? 4 : elementBytes(spec.format); }
  int64_t rowBytes() const { return spec.dim * elementSize(); }
  /// Alignment of a row's first byte.
  int64_t alignment() const;
};

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_ROWACCESS_H
