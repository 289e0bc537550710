//===- formats_pack.cpp - rows of values, and where their bytes lie ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/CachePlan.h"
#include "formats/Format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace attnc;

namespace {

struct Packed {
  std::vector<uint8_t> data, scales;
};

Packed pack(const Format &format, const std::vector<float> &values) {
  Packed packed;
  packed.data.resize(size_t(format.dataBytes(int64_t(values.size()))));
  packed.scales.resize(size_t(format.scaleBytes(int64_t(values.size()))));
  encode(format, values.data(), int64_t(values.size()), packed.data.data(),
         packed.scales.data());
  return packed;
}

std::vector<float> unpack(const Format &format, const Packed &packed,
                          int64_t channels) {
  std::vector<float> values((size_t(channels)));
  decode(format, packed.data.data(), packed.scales.data(), channels,
         values.data());
  return values;
}

constexpr Format fp8{Elem::E4M3, 64, Scale::E8M0};
constexpr Format mxfp4{Elem::E2M1, 32, Scale::E8M0};
constexpr Format nvfp4{Elem::E2M1, 16, Scale::E4M3};

TEST(Pack, SizesCountScalesAndHalfBytes) {
  EXPECT_EQ((Format{Elem::BF16}).bytes(576), 1152);
  EXPECT_EQ(fp8.bytes(448), 448 + 7);
  EXPECT_EQ(mxfp4.bytes(128), 68);
  EXPECT_EQ(nvfp4.bytes(512), 288);
  EXPECT_EQ((Format{Elem::E4M3, 128, Scale::F32}).bytes(512), 528);
  EXPECT_EQ((Format{Elem::E4M3, -1, Scale::F32}).bytes(128), 132);
  EXPECT_EQ(fp8.scaleBytes(65), 2);
  EXPECT_EQ(mxfp4.dataBytes(7), 4);
}

TEST(Pack, NamesReadBack) {
  for (const Format &format :
       {Format{}, Format{Elem::BF16}, fp8, mxfp4, nvfp4,
        Format{Elem::E4M3, -1, Scale::F32}})
    EXPECT_EQ(parseFormat(format.str()), format) << format.str();
  EXPECT_EQ(fp8.str(), "e4m3 block 64 scale e8m0");
  for (const char *bad : {"", "e4m3 block", "e4m3 block 64", "f64",
                          "e4m3 block 0 scale e8m0", "e4m3 block 64 scale x"})
    EXPECT_FALSE(parseFormat(bad)) << bad;
}

TEST(Pack, ScaleIsRoundedUpToAPowerOfTwo) {
  // 500/448 > 1, so the scale is 2 and nothing saturates.
  std::vector<float> values(64, 1.0f);
  values[3] = 500;
  Packed packed = pack(fp8, values);
  EXPECT_EQ(packed.scales[0], 128);
  EXPECT_EQ(unpack(fp8, packed, 64)[3], 512); // 250 -> 256, times 2
  EXPECT_EQ(unpack(fp8, packed, 64)[0], 1);
}

TEST(Pack, ZeroBlocksTakeTheFloor) {
  std::vector<float> zeros(16, 0.0f), negative(16, -0.0f);
  Packed packed = pack(nvfp4, zeros);
  EXPECT_EQ(packed.scales[0], 0x01); // 2^-9, the least E4M3
  for (uint8_t byte : packed.data)
    EXPECT_EQ(byte, 0);
  for (uint8_t byte : pack(nvfp4, negative).data)
    EXPECT_EQ(byte, 0x88);
  // 1e-4 / 448 = 2^-22.1, so 2^-22.
  EXPECT_EQ(pack(fp8, std::vector<float>(64, 0.0f)).scales[0], 127 - 22);
}

TEST(Pack, FirstElementIsTheLowNibble) {
  std::vector<float> values(32, 0.0f);
  values[0] = 6;
  values[1] = 1;
  Packed packed = pack(mxfp4, values);
  EXPECT_EQ(packed.scales[0], 127);
  EXPECT_EQ(packed.data[0], 0x27);
}

TEST(Pack, NearestScaleMaySaturate) {
  // 6.3 / 6 = 1.05; E4M3 has steps of 1/8 there, so the scale is 1.
  std::vector<float> values(16, 0.0f);
  values[0] = 6.3f;
  EXPECT_EQ(unpack(nvfp4, pack(nvfp4, values), 16)[0], 6);
}

TEST(Pack, NaNPoisonsItsBlockOnly) {
  std::vector<float> values(128, 1.0f);
  values[70] = NAN;
  std::vector<float> read = unpack(fp8, pack(fp8, values), 128);
  EXPECT_EQ(read[0], 1);
  EXPECT_TRUE(std::isnan(read[70]));
  EXPECT_TRUE(std::isnan(read[127]));
}

TEST(Pack, InfinityIsTheLargestValue) {
  std::vector<float> values(64, 1.0f);
  values[0] = INFINITY;
  std::vector<float> read = unpack(fp8, pack(fp8, values), 64);
  EXPECT_FALSE(std::isnan(read[0]));
  EXPECT_GT(read[0], 1e38f);
}

TEST(Pack, RoundTripIsWhatAReaderSees) {
  std::vector<double> values = {1.00390625, -3, 1e-30, 7};
  roundTrip(Format{Elem::BF16}, values.data(), 4);
  EXPECT_EQ(values[0], 1); // 1 + 2^-8 is a tie in bf16
  EXPECT_EQ(values[1], -3);
  double exact = 0.1;
  roundTrip(Format{}, &exact, 1);
  EXPECT_EQ(exact, double(0.1f));
}

CacheDesc latentCache() {
  CacheDesc cache;
  cache.name = "main";
  cache.segments = {{"latent", {Elem::E4M3, 128, Scale::F32}, 512},
                    {"rope", {Elem::BF16}, 64}};
  return cache;
}

TEST(CachePlan, TokenLayoutKeepsARowTogether) {
  CacheDesc cache = latentCache();
  EXPECT_EQ(cache.place(), "");
  EXPECT_EQ(cache.rowBytes, 656);
  EXPECT_EQ(cache.pageBytes, 64 * 656);
  EXPECT_EQ(cache.pagePadding, 0);
  EXPECT_EQ(cache.places[0].data, 0);
  EXPECT_EQ(cache.places[0].scale, 512);
  EXPECT_EQ(cache.places[1].data, 528);
  EXPECT_EQ(cache.places[1].dataStride, 656);
}

TEST(CachePlan, PadsCountAsBytes) {
  CacheDesc cache;
  cache.segments = {{"nope", fp8, 448}, {"rope", {Elem::BF16}, 64}};
  cache.segments.push_back({"pad", {}, 1, true});
  EXPECT_EQ(cache.place(), "");
  EXPECT_EQ(cache.rowBytes, 584);
}

TEST(CachePlan, RingIsOnePage) {
  CacheDesc cache = latentCache();
  cache.kind = CacheKind::Ring;
  cache.rows = 100;
  EXPECT_EQ(cache.place(), "");
  EXPECT_EQ(cache.pageEntries, 100);
  EXPECT_EQ(cache.pageBytes, 65600);
}

TEST(CachePlan, RefusesWhatDoesNotFit) {
  CacheDesc cache = latentCache();
  cache.pageEntries = int64_t(1) << 60;
  EXPECT_NE(cache.place().find("does not fit 64 bits"), std::string::npos);
  cache = latentCache();
  cache.layout = "spiral";
  EXPECT_EQ(cache.place(),
            "cache main has the layout 'spiral'; expected 'token'");
  cache = latentCache();
  cache.segments[0].channels = 0;
  EXPECT_NE(cache.place().find("0 channels"), std::string::npos);
  cache = latentCache();
  cache.every = 0;
  EXPECT_NE(cache.place().find("every 0 tokens"), std::string::npos);
}

} // namespace
