//===- KernelAbi.h - how the runtime calls a CPU kernel ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every kernel is one exported function
//
//   void NAME(void **args);
//
// args[i] points at the value of argument i: a pointer, or an int64_t. (A GPU
// launch takes the same array.) A kernel does one work item; the runtime
// spreads items over threads. Pointers are to f32 unless noted. "view" stands
// for three arguments: base pointer (offset applied), tokenStride, headStride
// (int64, in elements).
//
//   project  view x, view y, panels, bias (or null), item: panel number over
//            all groups (g * panelsPerGroup + p), t0, t1: tokens [t0, t1)
//   norm     view x, view y, gamma (or null), t0, t1
//   rope     view x, view y, cosSin [token][pair][2], t0, t1
//   map      view x_0 ... view x_{n-1}, view y, const_0 ... const_{m-1}, t0, t1
//   round    view x, view y, t0, t1
//   append   view x_0 ... (one per segment), cache base (u8), page table (i32),
//            pageBytes, pageEntries, e0: entry of the first token, modulo:
//            rows of a ring (0: none), t0, t1    token t0 has entry e0
//   unpack   cache base, page table, pageBytes, pageEntries, modulo, e0, e1,
//            view y                               entry e0 goes to token 0 of y
//   attend   view q_p for each part; for each key part, then for the value if
//            it is none of them: a row source; then
//            rows: int64, number of (token, head) rows of this item, all of one
//              KV head;
//            rowToken [rows] i32, rowHead [rows] i32: token index into the q
//              views and head of each row,
//            lo [rows] i32, hi [rows] i32: entries [lo, hi) that the row sees,
//            rowPos [rows] i32: position of the row's token,
//            kvHead: int64, e0, e1: entries [e0, e1) to fold in,
//            init: int64, 1: start from the empty state, 0: continue,
//            acc [token][head][dv], max [token][head], sum [token][head]:
//              the state, indexed like the q views by rowToken and rowHead,
//            scratch: params["scratch_bytes"] bytes, 64-byte aligned
//            constants of the score map, each [head]
//   combine  acc [split][token][head][dv], max, sum [split][token][head],
//            splits, tokens, sink [head] (or null), view y, t0, t1
//
// A "row source" is eight arguments that fit caches and dense buffers alike:
//   base (u8), page table (i32), pageBytes, pageEntries, modulo, first,
//   slotStride (bytes), headStride (elements)
// Entry e is number n = e - first, then n % modulo if modulo is not 0; it lies
// in page table[n / pageEntries], slot n % pageEntries. For a cache the last
// two are ignored: the kernel knows the places of the segment it was generated
// for. A dense buffer (f32) is one page: table {0}, pageEntries huge, `first`
// the entry of its row 0; head h of slot s begins at
// base + s * slotStride + h * headStride * 4.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FORMATS_KERNELABI_H
#define ATTNC_FORMATS_KERNELABI_H

namespace attnc {
using KernelFn = void (*)(void **args);

/// The empty softmax state: acc 0, sum 0 and this maximum, in the units of the
/// state's exponent base. Finite, so that differences of maxima never are NaN.
/// attend with init = 1 starts from it, and leaves it for rows that see nothing;
/// combine turns a row whose states are all empty into 0.
constexpr float kEmptyMax = -1.0e30f;
} // namespace attnc

#endif // ATTNC_FORMATS_KERNELABI_H
