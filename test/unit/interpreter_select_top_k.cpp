//===- interpreter_select_top_k.cpp - which elements and blocks are picked -===//
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/interpreter_select_reference.h"

using namespace attnc::test;

namespace {

/// Scores that are the keys themselves: q = 1, one channel.
std::string scoresOf(const std::string &select) {
  return R"(
    attn.model @m(%q: !attn.stream<1>, %k: !attn.stream<1>) {
      %s = attn.score none scale 1.0 (%q, %k : !attn.stream<1>, !attn.stream<1>) -> !attn.scores
      %p = )" +
         select + R"(
      attn.return
    })";
}

std::vector<double> ones(size_t n) { return std::vector<double>(n, 1.0); }

class TopKTest : public SelectTest {
protected:
  /// The picks of the last token by `select` over the scores `keys`.
  Picks pickLast(const std::string &select, const std::vector<double> &keys) {
    EXPECT_TRUE(runSelect(scoresOf(select), {{1, ones(keys.size())}, {1, keys}})) << errors;
    return picksOf("p").back();
  }
};

} // namespace

TEST_F(TopKTest, TopKTakesTheHighest) {
  Picks picks = pickLast(
      R"(attn.top_k %s {attn.trace = "p"} : !attn.scores -> !attn.selection<2>)",
      {1, 9, 3, 5});
  EXPECT_EQ(picks, (Picks{1, 3}));
  EXPECT_EQ(picksOf("p"), (std::vector<Picks>{{0}, {0, 1}, {1, 2}, {1, 3}}));
}

TEST_F(TopKTest, TopKBreaksTiesByPosition) {
  Picks picks = pickLast(
      R"(attn.top_k %s {attn.trace = "p"} : !attn.scores -> !attn.selection<3>)",
      {0, 5, 5, 7, 5, 5});
  EXPECT_EQ(picks, (Picks{1, 2, 3}));
}

TEST_F(TopKTest, TopKTakesZerosOfEitherSignAlike) {
  Picks picks = pickLast(
      R"(attn.top_k %s {attn.trace = "p"} : !attn.scores -> !attn.selection<2>)",
      {-0.0, 0.0, -0.0, 0.0});
  EXPECT_EQ(picks, (Picks{0, 1}));
}

TEST_F(TopKTest, TopKOfManyTies) {
  // A thousand equal scores and a higher one at the end.
  std::vector<double> scores(1001, 0.25);
  scores.back() = 1;
  Picks picks = pickLast(
      R"(attn.top_k %s {attn.trace = "p"} : !attn.scores -> !attn.selection<100>)",
                         scores);
  Picks expected(99);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = int64_t(i);
  expected.push_back(1000);
  EXPECT_EQ(picks, expected);
}

TEST_F(TopKTest, TopKOfFewerTakesAll) {
  Picks picks = pickLast(R"(attn.top_k %s {attn.trace = "p"} : !attn.scores -> !attn.selection<8>)",
      {-3, -1, -2});
  EXPECT_EQ(picks, (Picks{0, 1, 2}));
}

TEST_F(TopKTest, TopKTakesNegativeAndInfiniteScores) {
  Picks picks = pickLast(
      R"(attn.top_k %s {attn.trace = "p"} : !attn.scores -> !attn.selection<2>)",
      {-INFINITY, -5, -INFINITY, INFINITY});
  EXPECT_EQ(picks, (Picks{1, 3}));
  EXPECT_EQ(picksOf("p")[2], (Picks{0, 1}));
}

TEST_F(TopKTest, TopKNeverTakesNaNAndReportsIt) {
  Picks picks = pickLast(
      R"(attn.top_k %s {attn.trace = "p"} : !attn.scores -> !attn.selection<3>)",
      {2, NAN, 1, NAN});
  EXPECT_EQ(picks, (Picks{0, 2}));
  EXPECT_EQ(warnings, "a score is NaN and is never picked; the first is that of token 1, group 0, "
                      "element 1\n");
}

TEST_F(TopKTest, BlockTopKTakesTheBlocksWithTheHighestElement) {
  Picks picks = pickLast(
      R"(attn.block_top_k %s block 2 max {attn.trace = "p"} : !attn.scores -> !attn.selection<2, block 2>)",
      {1, 2, 9, 0, 5, 5, 6});
  EXPECT_EQ(picks, (Picks{1, 3}));
  // The picks of token 4 include the block that is half visible.
  EXPECT_EQ(picksOf("p")[4], (Picks{1, 2}));
}

TEST_F(TopKTest, BlockTopKBySum) {
  Picks picks = pickLast(
      R"(attn.block_top_k %s block 2 sum {attn.trace = "p"} : !attn.scores -> !attn.selection<2, block 2>)",
      {1, 2, 9, -9, 5, 5, 6});
  EXPECT_EQ(picks, (Picks{2, 3}));
}

TEST_F(TopKTest, BlockTopKBreaksTiesByPosition) {
  Picks picks = pickLast(
      R"(attn.block_top_k %s block 2 max {attn.trace = "p"} : !attn.scores -> !attn.selection<2, block 2>)",
      {3, 4, 4, 0, 0, 4, 1, 1});
  EXPECT_EQ(picks, (Picks{0, 1}));
}

TEST_F(TopKTest, BlockTopKPinsFirstAndNewest) {
  Picks picks = pickLast(
      R"(attn.block_top_k %s block 2 max pin_first 1 pin_newest 2 {attn.trace = "p"}
                 : !attn.scores -> !attn.selection<4, block 2>)",
      {0, 0, 7, 7, 9, 9, 8, 8, 1, 1, 1});
  EXPECT_EQ(picks, (Picks{0, 2, 4, 5}));
  // Few blocks: a pin counts once.
  EXPECT_EQ(picksOf("p")[0], (Picks{0}));
  EXPECT_EQ(picksOf("p")[2], (Picks{0, 1}));
}

TEST_F(TopKTest, BlockTopKTakesABlockWithNaNOnlyIfPinned) {
  const std::vector<double> scores = {1, NAN, 3, 3, 2, 2, NAN, 9};
  {
    Picks picks = pickLast(
      R"(attn.block_top_k %s block 2 max {attn.trace = "p"} : !attn.scores -> !attn.selection<4, block 2>)",
      scores);
    EXPECT_EQ(picks, (Picks{1, 2}));
    EXPECT_NE(warnings.find("token 1, group 0, element 0"), std::string::npos) << warnings;
  }
  Picks picks = pickLast(
      R"(attn.block_top_k %s block 2 sum pin_first 1 {attn.trace = "p"} : !attn.scores -> !attn.selection<4, block 2>)",
      scores);
  EXPECT_EQ(picks, (Picks{0, 1, 2}));
}

TEST_F(TopKTest, BlockTopKWithinASelectionPinsBlocksThatHaveScores) {
  // Only elements 2, 3 and 9 have a score: blocks 1 and 4.
  given["w"] = std::vector<Picks>(12, {2, 3, 9});
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<1>, %k: !attn.stream<1>) {
      %a = attn.score none scale 1.0 (%q, %k : !attn.stream<1>, !attn.stream<1>) -> !attn.scores
      %w = attn.top_k %a {attn.trace = "w"} : !attn.scores -> !attn.selection<3>
      %s = attn.score none scale 1.0 (%q, %k : !attn.stream<1>, !attn.stream<1>)
          within %w : !attn.selection<3> -> !attn.scores
      %p = attn.block_top_k %s block 2 max pin_newest 1 {attn.trace = "p"} : !attn.scores -> !attn.selection<1, block 2>
      attn.return
    })", {{1, ones(12)}, {1, std::vector<double>(12, 2)}})) << errors;
  EXPECT_EQ(picksOf("p")[1], (Picks{}));
  EXPECT_EQ(picksOf("p")[8], (Picks{1}));
  EXPECT_EQ(picksOf("p")[11], (Picks{4}));
}

TEST_F(TopKTest, SelectionsPublishTheElementsThatAreSeen) {
  // Blocks of two every-2 elements; the newest block is pinned, half of it open.
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<2x1>, %k: !attn.stream<1, every 2>) {
      %s = attn.score none scale 1.0 (%q, %k : !attn.stream<2x1>, !attn.stream<1, every 2>) -> !attn.scores<every 2, groups 2>
      %p = attn.block_top_k %s block 2 max {attn.trace = "p"} : !attn.scores<every 2, groups 2> -> !attn.selection<1, every 2, groups 2, block 2>
      attn.return
    })", {{2, {1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1}}, {1, {1, 2, 3}}})) << errors;
  mlir::attn::StreamValue rows = selections["p"].rows();
  EXPECT_EQ(selections["p"].entries(), 3);
  EXPECT_EQ(rows.features, 6);
  EXPECT_EQ(rows.data, (std::vector<double>{0, 0, 0, 0, 0, 0, //
                                            1, 0, 0, 1, 0, 0, //
                                            1, 0, 0, 1, 0, 0, //
                                            1, 1, 0, 1, 1, 0, //
                                            1, 1, 0, 1, 1, 0, //
                                            0, 0, 1, 1, 1, 0, //
                                            0, 0, 1, 1, 1, 0}));
}

TEST_F(TopKTest, GivenPicksMustFit) {
  std::string text = scoresOf(R"(attn.top_k %s {attn.trace = "p"} : !attn.scores -> !attn.selection<2>)");
  given["p"] = {{0}};
  EXPECT_FALSE(runSelect(text, {{1, {1, 1}}, {1, {1, 1}}}));
  EXPECT_NE(errors.find("is given picks for 1 rows, expected 2, one per token and group"),
            std::string::npos) << errors;
  for (const Picks &bad : {Picks{1, 0}, Picks{1, 1}}) {
    given["p"] = {{0}, bad};
    EXPECT_FALSE(runSelect(text, {{1, {1, 1}}, {1, {1, 1}}}));
    EXPECT_NE(errors.find("is given picks that do not ascend"), std::string::npos) << errors;
  }
  for (int64_t bad : {-1, 2}) {
    given["p"] = {{0}, {bad}};
    EXPECT_FALSE(runSelect(text, {{1, {1, 1}}, {1, {1, 1}}}));
    EXPECT_NE(errors.find("is given pick " + std::to_string(bad) + ", expected 0 to 1"),
              std::string::npos) << errors;
  }
}
