//===- formats_encoding.cpp - values in the small formats -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/Encoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace attnc;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

float fromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// The code whose value is nearest to `x`, ties to the even code, by looking
/// at all of them: shares nothing with the encoder.
template <typename Decode>
int nearest(double x, int codes, Decode decode) {
  int best = 0;
  for (int code = 0; code < codes; ++code) {
    double here = std::fabs(std::fabs(x) - double(decode(uint8_t(code))));
    double there = std::fabs(std::fabs(x) - double(decode(uint8_t(best))));
    if (here < there || (here == there && code % 2 == 0))
      best = code;
  }
  return best;
}

/// Values at, between and just beside all codes of a format, and random ones.
template <typename Decode>
std::vector<float> probes(int codes, Decode decode) {
  std::vector<float> values;
  for (int code = 0; code + 1 < codes; ++code) {
    float low = decode(uint8_t(code)), high = decode(uint8_t(code + 1));
    for (float x : {low, (low + high) / 2, high})
      for (float y : {x, std::nextafter(x, inf), std::nextafter(x, -inf)})
        values.push_back(y);
  }
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> exponent(-12, 12);
  for (int i = 0; i < 20000; ++i)
    values.push_back(std::exp2(exponent(engine)));
  return values;
}

TEST(Encoding, E4M3ReferenceCodes) {
  for (float x : {448.0f, 464.0f, 465.0f, 1000.0f, inf})
    EXPECT_EQ(encodeE4M3(x), 0x7E) << x;
  EXPECT_EQ(encodeE4M3(-1000), 0xFE);
  EXPECT_EQ(encodeE4M3(NAN), 0x7F);
  EXPECT_EQ(encodeE4M3(0x1p-10f), 0x00);
  EXPECT_EQ(encodeE4M3(1.5f * 0x1p-10f), 0x01);
  EXPECT_EQ(encodeE4M3(-0.0f), 0x80);
}

TEST(Encoding, E4M3RoundsToNearestEven) {
  for (float x : probes(0x7F, decodeE4M3))
    if (x >= 0) {
      EXPECT_EQ(encodeE4M3(x), nearest(x, 0x7F, decodeE4M3)) << x;
      EXPECT_EQ(encodeE4M3(-x), nearest(x, 0x7F, decodeE4M3) | 0x80) << x;
    }
}

TEST(Encoding, E5M2RoundsToNearestEvenAndSaturates) {
  for (float x : probes(0x7C, decodeE5M2))
    if (x >= 0)
      EXPECT_EQ(encodeE5M2(x), nearest(x, 0x7C, decodeE5M2)) << x;
  EXPECT_EQ(encodeE5M2(inf), 0x7B);
  EXPECT_TRUE(std::isnan(decodeE5M2(encodeE5M2(NAN))));
}

TEST(Encoding, E2M1TiesGoToEvenCodes) {
  const std::pair<float, float> ties[] = {{0.25f, 0}, {0.75f, 1}, {1.25f, 1},
                                          {1.75f, 2}, {2.5f, 2},  {3.5f, 4},
                                          {5.0f, 4}};
  for (auto [x, value] : ties) {
    EXPECT_EQ(decodeE2M1(encodeE2M1(x)), value) << x;
    EXPECT_EQ(decodeE2M1(encodeE2M1(-x)), -value) << x;
  }
  EXPECT_EQ(encodeE2M1(inf), 7);
  EXPECT_EQ(encodeE2M1(NAN), 7);
  EXPECT_EQ(encodeE2M1(-0.0f), 8);
}

TEST(Encoding, CodesSurviveARoundTrip) {
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7F) != 0x7F)
      EXPECT_EQ(encodeE4M3(decodeE4M3(uint8_t(code))), code);
    if ((code & 0x7F) < 0x7C)
      EXPECT_EQ(encodeE5M2(decodeE5M2(uint8_t(code))), code);
    if (code < 16)
      EXPECT_EQ(encodeE2M1(decodeE2M1(uint8_t(code))), code);
  }
}

TEST(Encoding, BF16AndF16SurviveARoundTrip) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    float b = decodeBF16(uint16_t(code)), h = decodeF16(uint16_t(code));
    if (std::isnan(b))
      EXPECT_TRUE(std::isnan(decodeBF16(encodeBF16(b))));
    else
      ASSERT_EQ(encodeBF16(b), code);
    if (std::isnan(h))
      EXPECT_TRUE(std::isnan(decodeF16(encodeF16(h))));
    else
      ASSERT_EQ(encodeF16(h), code);
  }
}

TEST(Encoding, BF16RoundsToNearestEven) {
  EXPECT_EQ(encodeBF16(fromBits(0x3F808000)), 0x3F80); // a tie, down to even
  EXPECT_EQ(encodeBF16(fromBits(0x3F818000)), 0x3F82); // a tie, up to even
  EXPECT_EQ(encodeBF16(fromBits(0x3F808001)), 0x3F81);
  EXPECT_EQ(encodeBF16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(encodeBF16(-0.0f), 0x8000);
  // A NaN whose payload lies in the low half must not become an infinity.
  EXPECT_TRUE(std::isnan(decodeBF16(encodeBF16(fromBits(0x7F800001)))));
}

TEST(Encoding, F16MatchesTheCompiler) {
  std::mt19937 engine(2);
  for (int i = 0; i < 1000000; ++i) {
    float x = fromBits(uint32_t(engine()));
    if (std::isnan(x))
      continue;
    _Float16 half = _Float16(x);
    uint16_t bits;
    std::memcpy(&bits, &half, 2);
    ASSERT_EQ(encodeF16(x), bits) << x;
    ASSERT_EQ(decodeF16(bits), float(half));
  }
}

TEST(Encoding, E8M0RoundsUpToAPowerOfTwo) {
  EXPECT_EQ(encodeE8M0Ceil(1), 127);
  EXPECT_EQ(encodeE8M0Ceil(1.0000001f), 128);
  EXPECT_EQ(encodeE8M0Ceil(0.75f), 127);
  EXPECT_EQ(encodeE8M0Ceil(inf), 0xFE);
  EXPECT_EQ(encodeE8M0Ceil(NAN), 0xFF);
  EXPECT_EQ(decodeE8M0(0), 0x1p-127f);
  EXPECT_EQ(decodeE8M0(0x7F), 1);
  EXPECT_EQ(decodeE8M0(0xFE), 0x1p127f);
  EXPECT_TRUE(std::isnan(decodeE8M0(0xFF)));
}

} // namespace
