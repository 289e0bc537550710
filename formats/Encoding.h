//===- Encoding.h - single values in the small formats ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Bit-exact conversions of one value. All round to nearest, ties to even, and
// keep the sign of zero. The 8-bit and 4-bit formats saturate, infinities
// included; bf16 and f16 overflow to infinity, as hardware conversions do.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FORMATS_ENCODING_H
#define ATTNC_FORMATS_ENCODING_H

#include "formats/Format.h"

namespace attnc {

/// OCP E4M3 (FN): largest value 448, NaN is 0x7F or 0xFF, no infinity.
uint8_t encodeE4M3(float x);
float decodeE4M3(uint8_t code);

/// OCP E5M2: largest finite value 57344. Encoding never makes an infinity.
uint8_t encodeE5M2(float x);
float decodeE5M2(uint8_t code);

/// OCP E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; the code is the
/// low nibble. It has no NaN: a NaN becomes +6, so callers look for it before.
uint8_t encodeE2M1(float x);
float decodeE2M1(uint8_t code);

/// OCP E8M0: 2^(code - 127); 0xFF is NaN.
float decodeE8M0(uint8_t code);

/// The code of the least power of two not below `x` > 0 (NaN: 0xFF; beyond
/// 2^127: 2^127).
uint8_t encodeE8M0Ceil(float x);

/// The largest finite value of an element type.
float largest(Elem elem);

} // namespace attnc

#endif // ATTNC_FORMATS_ENCODING_H
