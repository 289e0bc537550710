//===- Elements.h - vectors of stored elements ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// How the channels of a row turn into f32 and back: one function per element
// encoding, the same bits as formats/Encoding.h.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_CPU_PIECES_ELEMENTS_H
#define ATTNC_CODEGEN_CPU_PIECES_ELEMENTS_H

#include "codegen/CPU/Pieces/Emit.h"
#include "formats/Format.h"

namespace attnc::cpu {

/// Complains, non-empty, when code for `target` cannot read or write `format`.
std::string checkFormat(const Format &format, const CpuTarget &target);

/// Splits `count` channels into vectors of at most `most` lanes (default: the
/// target's), each a power of two: body(first channel, lanes). Never touches a
/// channel beyond.
void forChunks(Emit &e, int64_t count, llvm::function_ref<void(Val, int64_t)> body,
               int64_t most = 0);

/// `n` channels, from channel `c` of those that begin at byte `data` on.
Val decode(Emit &e, const Format &format, Mem bytes, Val data, Val c, int64_t n);

/// Writes the vector or scalar `values` to channels from `c` on.
void encode(Emit &e, const Format &format, Val values, Mem bytes, Val data, Val c);

/// decode(encode(values)) without memory.
Val roundTo(Emit &e, const Format &format, Val values);

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_PIECES_ELEMENTS_H
