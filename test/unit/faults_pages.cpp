//===- faults_pages.cpp - pages in any order, reused, full of NaN ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The test owns the bytes and the page tables, so that it can say what lies
// where: entries 64, 85, 86 and 88 of docs/field-faults.md.
//
//===----------------------------------------------------------------------===//
#include "test/unit/faults_fixture.h"

#include <cstring>
#include <numeric>

using namespace attnc;
using namespace attnc::test;

namespace {

std::vector<float> upTo(int64_t count, float first = 0) {
  std::vector<float> values(size_t(count), 0);
  std::iota(values.begin(), values.end(), first);
  return values;
}

bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
}

TEST(PageFaults, PageNumbersBeyond16Bits) {
  SmallGraph small;
  small.plan["page-size"] = "1";
  auto graph = compileSmall(small);
  ASSERT_EQ(graph->error, "");
  for (auto &[name, backend] : graph->backends) {
    SCOPED_TRACE(name);
    OwnPages pages(*backend, 65536 + 8, 0xFF);
    std::vector<int32_t> low = {3, 4, 5}, high = {65536 + 3, 65536 + 4, 65536 + 5};
    pages.step({{0, upTo(2, 100), low}, {0, upTo(2, 700), high}});
    std::vector<float> got = pages.step({{2, {102}, low}, {2, {702}, high}});
    EXPECT_FLOAT_EQ(got[0], 101);
    EXPECT_FLOAT_EQ(got[8], 701);
  }
}

/// Rows that were never written are NaN or 0 and pages lie in any order: not a
/// bit of the output may change.
void checkUnwritten(const std::string &storage) {
  SmallGraph small;
  small.query = someNumbers(64, 2);
  small.plan = {{"page-size", "4"}, {"storage", storage}};
  auto graph = compileSmall(small);
  ASSERT_EQ(graph->error, "");
  const std::vector<int32_t> inOrder = {0, 1, 2, 3}, shuffled = {9, 2, 11, 6};
  for (auto &[name, backend] : graph->backends)
    for (int64_t length : {1, 4, 5, 13}) {
      SCOPED_TRACE(name + " length " + std::to_string(length));
      std::vector<float> values = someNumbers(size_t(length), 3);
      std::vector<float> before(values.begin(), values.end() - 1), last = {values.back()};
      std::vector<std::vector<float>> whole, stepped;
      for (const auto &table : {inOrder, shuffled})
        for (uint8_t fill : {0x00, 0xFF, 0x7F}) {
          OwnPages one(*backend, 12, fill), two(*backend, 12, fill);
          whole.push_back(one.step({{0, values, table}}));
          if (!before.empty())
            two.step({{0, before, table}});
          stepped.push_back(two.step({{length - 1, last, table}}));
        }
      for (size_t i = 0; i < whole.size(); ++i) {
        EXPECT_TRUE(std::isfinite(whole[i].back()));
        EXPECT_TRUE(sameBits(whole[i], whole[0]));
        EXPECT_TRUE(sameBits(stepped[i], stepped[0]));
      }
    }
}

TEST(PageFaults, UnwrittenRowsAreNotReadExact) { checkUnwritten("exact"); }
TEST(PageFaults, UnwrittenRowsAreNotReadRounded) { checkUnwritten("bf16"); }

TEST(PageFaults, EmptySequencesOfABatch) {
  auto graph = compileSmall({});
  ASSERT_EQ(graph->error, "");
  const std::vector<int32_t> none(4, -1);
  for (auto &[name, backend] : graph->backends) {
    SCOPED_TRACE(name);
    OwnPages together(*backend, 2, 0xFF), alone(*backend, 2, 0xFF);
    std::vector<float> got =
        together.step({{0, upTo(5, 10), {0}}, {0, {}, none}, {0, {7}, {1}}, {0, {}, none}});
    std::vector<float> first = alone.step({{0, upTo(5, 10), {0}}});
    std::vector<float> last = alone.step({{0, {7}, {1}}});
    first.insert(first.end(), last.begin(), last.end());
    EXPECT_TRUE(sameBits(got, first));
    EXPECT_FLOAT_EQ(got[4 * 8], 12);
    EXPECT_FLOAT_EQ(got[5 * 8], 7);
    EXPECT_TRUE(together.step({{5, {}, {0}}}).empty());
  }
}

TEST(PageFaults, LongSumsOfFlatScores) {
  SmallGraph small;
  small.plan["page-size"] = "64";
  auto graph = compileSmall(small);
  ASSERT_EQ(graph->error, "");
  for (auto &[name, backend] : graph->backends)
    for (float odd : {1.0f, 1.0078125f})
      for (int64_t length : {256, 4096, 131072}) {
        SCOPED_TRACE(name + " length " + std::to_string(length));
        OwnPages pages(*backend, length / 64, 0xFF);
        std::vector<int32_t> table;
        for (int64_t page = length / 64; page-- > 0;)
          table.push_back(int32_t(page));
        for (int64_t e = 0; e + 1 < length; ++e)
          for (size_t segment : {0, 1})
            pages.write(table[size_t(e / 64)], e % 64, segment,
                        std::vector<float>(4, e % 2 ? odd : 1));
        std::vector<float> got = pages.step({{length - 1, {odd}, table}});
        EXPECT_NEAR(got[0], (1 + odd) / 2, 1e-6);
        if (odd == 1)
          EXPECT_EQ(got[0], 1);
      }
}

TEST(PageFaults, ReusedPagesHoldNothingOfTheirFormerOwner) {
  SmallGraph small;
  small.plan["page-size"] = "4";
  auto graph = compileSmall(small);
  ASSERT_EQ(graph->error, "");
  for (auto &[name, backend] : graph->backends) {
    SCOPED_TRACE(name);
    Session session(*backend);
    session.valueOf = [](int64_t sequence, int64_t p) { return double(1000 * sequence + p); };
    int64_t a = session.sequences.create(), b = session.sequences.create();
    session.expectMeans(a, 13, 0);
    session.expectMeans(b, 6, 0);
    EXPECT_EQ(session.sequences.drop(a), "");
    int64_t c = session.sequences.create();
    session.expectMeans(c, 9, 0);
    session.expectMeans(b, 1, 0);
    // Cut back into a page and go on with other values.
    EXPECT_EQ(session.sequences.truncate(c, 6), "");
    session.valueOf = [&](int64_t sequence, int64_t p) {
      return double(1000 * sequence + p + (sequence == c && p >= 6 ? 500 : 0));
    };
    session.expectMeans(c, 5, 0);
    session.expectMeans(c, 1, 0);
    session.expectMeans(b, 4, 0);
  }
}

} // namespace
