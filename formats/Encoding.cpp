//===- Encoding.cpp - single values in the small formats --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/Encoding.h"

#include <cmath>
#include <cstring>

namespace attnc {

static uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float fromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

uint16_t encodeBF16(float x) {
  uint32_t bits = bitsOf(x);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    return uint16_t(bits >> 16) | 0x40; // quiet, even if the payload was low
  return uint16_t((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float decodeBF16(uint16_t bits) { return fromBits(uint32_t(bits) << 16); }

/// Magnitude code of |x| (finite) in a format with `mantissa` mantissa bits
/// and exponent bias `bias`: exponent and mantissa side by side, so a carry of
/// the rounding runs into the exponent by itself. May exceed the format's range.
static uint32_t roundMagnitude(float x, int mantissa, int bias) {
  x = std::fabs(x);
  int exponent = int(bitsOf(x) >> 23) - 127;
  int least = 1 - bias; // exponent of the least normal value
  if (exponent < least) {
    // Subnormal: the step is 2^(least - mantissa), and x / step is exact.
    return uint32_t(std::nearbyint(std::ldexp(double(x), mantissa - least)));
  }
  int drop = 23 - mantissa;
  uint32_t bits = bitsOf(x);
  bits += (1u << (drop - 1)) - 1 + ((bits >> drop) & 1);
  return (bits >> drop) - (uint32_t(127 - bias) << mantissa);
}

/// The value of a magnitude code.
static float magnitude(uint32_t code, int mantissa, int bias) {
  int exponent = int(code >> mantissa);
  uint32_t fraction = code & ((1u << mantissa) - 1);
  if (exponent == 0)
    return float(std::ldexp(double(fraction), 1 - bias - mantissa));
  return float(std::ldexp(double(fraction | (1u << mantissa)),
                          exponent - bias - mantissa));
}

uint16_t encodeF16(float x) {
  uint16_t sign = uint16_t(bitsOf(x) >> 16) & 0x8000;
  if (std::isnan(x))
    return sign | 0x7E00 | uint16_t((bitsOf(x) >> 13) & 0x1FF);
  if (std::isinf(x))
    return sign | 0x7C00;
  uint32_t code = roundMagnitude(x, 10, 15);
  return sign | uint16_t(code < 0x7C00 ? code : 0x7C00);
}

float decodeF16(uint16_t bits) {
  uint32_t code = bits & 0x7FFF, sign = uint32_t(bits & 0x8000) << 16;
  if (code >= 0x7C00)
    return fromBits(sign | 0x7F800000 | ((code & 0x3FF) << 13));
  return fromBits(sign | bitsOf(magnitude(code, 10, 15)));
}

/// Encodes into 8 bits; codes from `limit` on saturate to `limit`.
static uint8_t encodeSmall(float x, int mantissa, int bias, uint32_t limit,
                           uint8_t signBit, uint8_t nan) {
  if (std::isnan(x))
    return nan;
  uint8_t sign = std::signbit(x) ? signBit : 0;
  if (std::isinf(x))
    return sign | uint8_t(limit);
  uint32_t code = roundMagnitude(x, mantissa, bias);
  return sign | uint8_t(code < limit ? code : limit);
}

uint8_t encodeE4M3(float x) { return encodeSmall(x, 3, 7, 0x7E, 0x80, 0x7F); }
uint8_t encodeE5M2(float x) { return encodeSmall(x, 2, 15, 0x7B, 0x80, 0x7F); }
uint8_t encodeE2M1(float x) { return encodeSmall(x, 1, 1, 0x7, 0x8, 0x7); }

float decodeE4M3(uint8_t code) {
  if ((code & 0x7F) == 0x7F)
    return std::copysign(NAN, code & 0x80 ? -1.0f : 1.0f);
  float x = magnitude(code & 0x7F, 3, 7);
  return code & 0x80 ? -x : x;
}

float decodeE5M2(uint8_t code) {
  uint32_t low = code & 0x7F;
  float x = low < 0x7C ? magnitude(low, 2, 15) : low == 0x7C ? INFINITY : NAN;
  return code & 0x80 ? -x : x;
}

float decodeE2M1(uint8_t code) {
  float x = magnitude(code & 7, 1, 1);
  return code & 8 ? -x : x;
}

float decodeE8M0(uint8_t code) {
  return code == 0xFF ? NAN : float(std::ldexp(1.0, int(code) - 127));
}

uint8_t encodeE8M0Ceil(float x) {
  if (std::isnan(x))
    return 0xFF;
  uint32_t bits = bitsOf(x) & 0x7FFFFFFF;
  uint32_t code = (bits >> 23) + ((bits & 0x7FFFFF) != 0);
  return uint8_t(code < 0xFE ? code : 0xFE);
}

float largest(Elem elem) {
  switch (elem) {
  case Elem::F32:
    return 3.40282347e38f;
  case Elem::BF16:
    return 3.38953139e38f;
  case Elem::F16:
    return 65504;
  case Elem::E4M3:
    return 448;
  case Elem::E5M2:
    return 57344;
  case Elem::E2M1:
    return 6;
  }
  return 0;
}

} // namespace attnc
