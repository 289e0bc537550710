//===- interpreter_select_score.cpp - scores against plain sums ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Scores are no output of a model, so each test reads them through the picks of
// a top-k that is one short of all.
//
//===----------------------------------------------------------------------===//

#include "test/unit/interpreter_select_reference.h"

using namespace attnc::test;

namespace {

/// What scores are made of.
struct Case {
  int64_t tokens, heads, keyHeads, channels, every, groups;
  std::vector<double> q, k, w; ///< w may be empty: 1
  bool relu;

  /// The scores of token `t` and `group`.
  ScoreRow row(int64_t t, int64_t group) const {
    ScoreRow scores(tokens / every);
    int64_t run = heads / groups;
    for (int64_t e = 0; (e + 1) * every <= t + 1; ++e) {
      double sum = 0;
      for (int64_t h = group * run; h < (group + 1) * run; ++h) {
        double product = dotProduct(&q[(t * heads + h) * channels],
                                    &k[(e * keyHeads + h / (heads / keyHeads)) * channels],
                                    channels);
        sum += (w.empty() ? 1 : w[t * heads + h]) * (relu ? std::max(product, 0.0) : product);
      }
      scores[e] = sum;
    }
    return scores;
  }

  std::vector<Picks> picks(int64_t k) const {
    std::vector<Picks> all;
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t group = 0; group < groups; ++group)
        all.push_back(highest(row(t, group), k));
    return all;
  }
};

} // namespace

TEST_F(SelectTest, ScoreSumsWeightedHeadsAfterRelu) {
  Case c{40, 8, 1, 20, 1, 1, numbers(40 * 160, 1), numbers(40 * 20, 2), numbers(40 * 8, 3), true};
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<8x20>, %k: !attn.stream<20>, %w: !attn.stream<8>) {
      %s = attn.score relu scale 0.125 (%q, %k : !attn.stream<8x20>, !attn.stream<20>)
          weights %w : !attn.stream<8> -> !attn.scores
      %p = attn.top_k %s {attn.trace = "p"} : !attn.scores -> !attn.selection<7>
      attn.return
    })", {{160, c.q}, {20, c.k}, {8, c.w}})) << errors;
  EXPECT_EQ(picksOf("p"), c.picks(7));
  EXPECT_EQ(warnings, "");
}

TEST_F(SelectTest, ScoreAgainstACompressedStreamPerGroup) {
  // 6 heads in 3 groups, 2 key heads; one key every 3 tokens, the last block open.
  Case c{32, 6, 2, 5, 3, 3, numbers(32 * 30, 4), numbers(10 * 10, 5), {}, false};
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<6x5>, %k: !attn.stream<2x5, every 3>) {
      %s = attn.score none scale 1.0 (%q, %k : !attn.stream<6x5>, !attn.stream<2x5, every 3>)
          -> !attn.scores<every 3, groups 3>
      %p = attn.top_k %s {attn.trace = "p"} : !attn.scores<every 3, groups 3> -> !attn.selection<4, every 3, groups 3>
      attn.return
    })", {{30, c.q}, {10, c.k}})) << errors;
  EXPECT_EQ(picksOf("p"), c.picks(4));
}

TEST_F(SelectTest, ScoreScaleMayTurnTheOrder) {
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<1>, %k: !attn.stream<1>) {
      %s = attn.score none scale -1.0 (%q, %k : !attn.stream<1>, !attn.stream<1>) -> !attn.scores
      %p = attn.top_k %s {attn.trace = "p"} : !attn.scores -> !attn.selection<1>
      attn.return
    })", {{1, {1, 1, 1}}, {1, {2, 1, 3}}})) << errors;
  EXPECT_EQ(picksOf("p"), (std::vector<Picks>{{0}, {1}, {1}}));
}

TEST_F(SelectTest, ScoreWithinSharedBlocks) {
  // Blocks of 4, the 2 best of them; then the 3 best elements inside, per group.
  const int64_t tokens = 30;
  Case pool{tokens, 2, 1, 3, 1, 1, numbers(tokens * 6, 6), numbers(tokens * 3, 7), {}, true};
  Case inner{tokens, 2, 1, 3, 1, 2, numbers(tokens * 6, 8), pool.k, {}, false};
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<2x3>, %k: !attn.stream<3>, %r: !attn.stream<2x3>) {
      %s = attn.score relu scale 1.0 (%q, %k : !attn.stream<2x3>, !attn.stream<3>) -> !attn.scores
      %pool = attn.block_top_k %s block 4 max {attn.trace = "pool"} : !attn.scores -> !attn.selection<2, block 4>
      %u = attn.score none scale 1.0 (%r, %k : !attn.stream<2x3>, !attn.stream<3>)
          within %pool : !attn.selection<2, block 4> -> !attn.scores<groups 2>
      %p = attn.top_k %u {attn.trace = "p"} : !attn.scores<groups 2> -> !attn.selection<3, groups 2>
      attn.return
    })", {{6, pool.q}, {3, pool.k}, {6, inner.q}})) << errors;
  for (int64_t t = 0; t < tokens; ++t) {
    ScoreRow scores = pool.row(t, 0), blocks((tokens + 3) / 4);
    for (int64_t e = 0; e <= t; ++e)
      blocks[e / 4] = blocks[e / 4] ? std::max(*blocks[e / 4], *scores[e]) : *scores[e];
    Picks expected = highest(blocks, 2);
    ASSERT_EQ(selections["pool"].picks[t], expected) << "token " << t;
    for (int64_t group = 0; group < 2; ++group) {
      ScoreRow row = inner.row(t, group);
      for (int64_t e = 0; e <= t; ++e)
        if (std::find(expected.begin(), expected.end(), e / 4) == expected.end())
          row[e].reset();
      ASSERT_EQ(selections["p"].picks[t * 2 + group], highest(row, 3)) << "token " << t;
    }
  }
}

TEST_F(SelectTest, ScoreWithinGroupsOfAnotherSelection) {
  // Two groups of picks, each read by two groups of scores.
  given["w"] = {{0}, {0}, {1}, {0}, {2}, {1}};
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<4x1>, %k: !attn.stream<1>) {
      %a = attn.score none scale 1.0 (%q, %k : !attn.stream<4x1>, !attn.stream<1>) -> !attn.scores<groups 2>
      %w = attn.top_k %a {attn.trace = "w"} : !attn.scores<groups 2> -> !attn.selection<1, groups 2>
      %s = attn.score none scale 1.0 (%q, %k : !attn.stream<4x1>, !attn.stream<1>)
          within %w : !attn.selection<1, groups 2> -> !attn.scores<groups 4>
      %p = attn.top_k %s {attn.trace = "p"} : !attn.scores<groups 4> -> !attn.selection<3, groups 4>
      attn.return
    })", {{4, std::vector<double>(12, 1)}, {1, {1, 2, 3}}})) << errors;
  EXPECT_EQ(picksOf("p"), (std::vector<Picks>{{0}, {0}, {0}, {0}, {1}, {1}, {0}, {0}, {2}, {2}, {1}, {1}}));
}
