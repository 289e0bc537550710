//===- cpu_rows.cpp - compiled append, unpack and round kernels -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/CpuKernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace attnc;
using namespace attnc::test;

namespace {

/// Values that are hard to round: ties both ways, subnormals, overflow, zeros,
/// infinities, NaN.
std::vector<float> hardValues() {
  std::vector<float> values;
  for (uint32_t bits : {0x3F808000u, 0x3F818000u, 0x3F808001u, 0x3F807FFFu, 0x7F7FFFFFu,
                        0xFF7FFFFFu, 0x00000001u, 0x80000001u, 0x00008000u, 0x00018000u,
                        0x007FFFFFu, 0x33000000u, 0x33000001u, 0x33800000u, 0x387FC000u,
                        0x387FE000u, 0x477FEFFFu, 0x477FF000u, 0x00000000u, 0x80000000u,
                        0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x7F800001u, 0xFFC12345u,
                        0x3DCCCCCDu, 0xC0490FDBu}) {
    float x;
    std::memcpy(&x, &bits, 4);
    values.push_back(x);
  }
  return values;
}

class CpuRows : public testing::TestWithParam<Elem> {
protected:
  Format format() const { return {GetParam(), 0, Scale::None}; }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

/// Equal bits; whether a NaN is quiet does not count.
bool sameBits(float a, float b) {
  uint32_t x, y;
  std::memcpy(&x, &a, 4);
  std::memcpy(&y, &b, 4);
  if (std::isnan(a) && std::isnan(b))
    return (x | 0x400000) == (y | 0x400000);
  return x == y;
}

TEST_P(CpuRows, RoundAsTheFormatsDo) {
  std::vector<float> x = hardValues();
  int64_t count = int64_t(x.size());
  LoadedKernels kernels(context, {{"round", RoundSpec{{1, count}, format()}}});
  ASSERT_EQ(kernels.error, "");
  std::vector<float> y(x.size() + 1, 7);
  Arguments args;
  args.view(x.data(), 0, 0).view(y.data(), 0, 0).integer(0).integer(1);
  args.call(kernels.find("round"));
  for (size_t i = 0; i < x.size(); ++i) {
    uint8_t data[4];
    float want;
    encode(format(), &x[i], 1, data, nullptr);
    decode(format(), data, nullptr, 1, &want);
    EXPECT_TRUE(sameBits(y[i], want)) << x[i] << ": " << y[i] << " instead of " << want;
  }
  EXPECT_EQ(y.back(), 7);
}

/// Appends tokens to a paged cache or a ring of two segments, checks every byte,
/// and unpacks the rows again.
void roundTripRows(mlir::MLIRContext &context, const Format &format, int64_t pageEntries,
                   int64_t modulo, int64_t firstEntry, int64_t tokens) {
  CacheDesc cache;
  cache.segments = {{"k", format, 2 * 9, false}, {"pad", {}, 1, true}, {"v", format, 27, false}};
  cache.pageEntries = pageEntries;
  ASSERT_EQ(cache.place(), "");
  AppendSpec append;
  append.parts = {{{2, 9}, format, cache.places[0]}, {{1, 27}, format, cache.places[2]}};
  LoadedKernels kernels(
      context, {{"append", append},
                {"unpack_k", UnpackSpec{RowSpec{2, 9, false, format, cache.places[0]}}},
                {"unpack_v", UnpackSpec{RowSpec{1, 27, false, format, cache.places[2]}}}});
  ASSERT_EQ(kernels.error, "");

  std::vector<float> k(size_t(tokens * 2 * 10)), v(size_t(tokens * 30)), hard = hardValues();
  for (size_t i = 0; i < k.size(); ++i)
    k[i] = hard[i % hard.size()];
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = hard[(i * 5) % hard.size()];
  std::vector<int32_t> table = {3, 0, 2, 1, 4};
  std::vector<uint8_t> pages(size_t(5 * cache.pageBytes), 0xFF), want = pages;
  auto call = [&](const char *name, Arguments args) { args.call(kernels.find(name)); };
  Arguments args;
  args.view(k.data(), 20, 10).view(v.data(), 30, 0).pointer(pages.data()).pointer(table.data());
  args.integer(cache.pageBytes).integer(pageEntries).integer(firstEntry).integer(modulo);
  call("append", args.integer(0).integer(tokens));

  for (int64_t t = 0; t < tokens; ++t) {
    int64_t number = modulo ? (firstEntry + t) % modulo : firstEntry + t;
    uint8_t *page = want.data() + table[size_t(number / pageEntries)] * cache.pageBytes;
    int64_t slot = number % pageEntries;
    for (int64_t h = 0; h < 2; ++h)
      encode(format, &k[size_t(t * 20 + h * 10)], 9,
             page + cache.places[0].data + slot * cache.places[0].dataStride +
                 h * format.dataBytes(9),
             nullptr);
    encode(format, &v[size_t(t * 30)], 27,
           page + cache.places[2].data + slot * cache.places[2].dataStride, nullptr);
  }
  EXPECT_TRUE(pages == want);

  int64_t kept = modulo ? std::min(modulo, tokens) : tokens, skipped = tokens - kept;
  std::vector<float> k2(size_t(kept * 18), 0), v2(size_t(kept * 27), 0);
  for (bool keys : {true, false}) {
    Arguments source;
    source.pointer(pages.data()).pointer(table.data()).integer(cache.pageBytes);
    source.integer(pageEntries).integer(modulo).integer(firstEntry + skipped);
    source.integer(firstEntry + tokens);
    if (keys)
      call("unpack_k", source.view(k2.data(), 18, 9));
    else
      call("unpack_v", source.view(v2.data(), 27, 0));
  }
  for (int64_t t = 0; t < kept; ++t)
    for (int64_t c = 0; c < 27; ++c) {
      float x = v[size_t((skipped + t) * 30 + c)], y;
      uint8_t data[4];
      encode(format, &x, 1, data, nullptr);
      decode(format, data, nullptr, 1, &y);
      EXPECT_TRUE(sameBits(v2[size_t(t * 27 + c)], y));
    }
  for (int64_t t = 0; t < kept; ++t)
    for (int64_t c = 0; c < 18; ++c) {
      float x = k[size_t((skipped + t) * 20 + c / 9 * 10 + c % 9)], y;
      uint8_t data[4];
      encode(format, &x, 1, data, nullptr);
      decode(format, data, nullptr, 1, &y);
      EXPECT_TRUE(sameBits(k2[size_t(t * 18 + c)], y));
    }
}

TEST_P(CpuRows, AppendToPages) {
  roundTripRows(context, format(), 4, 0, 3, 9);
  roundTripRows(context, format(), 1, 0, 0, 5);
}

TEST_P(CpuRows, AppendToRings) {
  roundTripRows(context, format(), 6, 6, 4, 5);  // around the end
  roundTripRows(context, format(), 6, 6, 17, 6); // around it more than once
}

INSTANTIATE_TEST_SUITE_P(Formats, CpuRows,
                         testing::Values(Elem::F32, Elem::BF16, Elem::F16),
                         [](const auto &info) { return std::string(stringify(info.param)); });

} // namespace
