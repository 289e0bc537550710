//===- interpreter_select_attend.cpp - attention over selected elements ----===//
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/interpreter_select_reference.h"

using namespace attnc::test;

namespace {

/// One visible element: its score and its value's channels.
struct Entry {
  double score;
  const double *value;
};

void addSoftmax(const std::vector<Entry> &entries, int64_t channels, double sink,
                std::vector<double> &to) {
  double sum = std::exp(sink);
  for (const Entry &entry : entries)
    sum += std::exp(entry.score);
  for (int64_t c = 0; c < channels; ++c) {
    double weighted = 0;
    for (const Entry &entry : entries)
      weighted += std::exp(entry.score) * entry.value[c];
    to.push_back(sum == 0 ? 0 : weighted / sum);
  }
}

} // namespace

TEST_F(SelectTest, AttendOverWindowSelectionAndCompressedEntries) {
  // One softmax over the newest 3 tokens, 2 picks among every-2 elements, and
  // all every-5 elements; a sink.
  const int64_t tokens = 23, heads = 2, d = 4;
  auto q = numbers(tokens * heads * d, 1), kv = numbers(tokens * d, 2),
       c2 = numbers(tokens / 2 * d, 3), c5 = numbers(tokens / 5 * d, 4);
  weights.tensors = {{"sink", {0.5f, -0.25f}}};
  for (int64_t t = 0; t < tokens; ++t) {
    // Positions 0, 3, 6, ... that are complete, the newest two of them.
    Picks picks;
    for (int64_t e = 0; (e + 1) * 2 <= t + 1; e += 3)
      picks.push_back(e);
    if (picks.size() > 2)
      picks.erase(picks.begin(), picks.end() - 2);
    given["p"].push_back(picks);
  }
  ASSERT_TRUE(runSelect(R"(
    attn.weight @sink : 2
    attn.model @m(%q: !attn.stream<2x4>, %kv: !attn.stream<4>, %c2: !attn.stream<4, every 2>, %c5: !attn.stream<4, every 5>) -> !attn.stream<2x4> {
      %s = attn.score relu scale 1.0 (%q, %c2 : !attn.stream<2x4>, !attn.stream<4, every 2>) -> !attn.scores<every 2>
      %p = attn.top_k %s {attn.trace = "p"} : !attn.scores<every 2> -> !attn.selection<2, every 2>
      %o = attn.attend scale 0.5 sink @sink
          window 3 (%q, %kv : !attn.stream<2x4>, !attn.stream<4>) values %kv : !attn.stream<4>
          select %p : !attn.selection<2, every 2> (%q, %c2 : !attn.stream<2x4>, !attn.stream<4, every 2>) values %c2 : !attn.stream<4, every 2>
          causal (%q, %c5 : !attn.stream<2x4>, !attn.stream<4, every 5>) values %c5 : !attn.stream<4, every 5>
          -> !attn.stream<2x4>
      attn.return %o : !attn.stream<2x4>
    })", {{8, q}, {4, kv}, {4, c2}, {4, c5}})) << errors;
  std::vector<double> expected;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < heads; ++h) {
      std::vector<Entry> entries;
      auto see = [&](const std::vector<double> &rows, int64_t e) {
        entries.push_back({0.5 * dotProduct(&q[(t * heads + h) * d], &rows[e * d], d), &rows[e * d]});
      };
      for (int64_t e = std::max<int64_t>(t - 2, 0); e <= t; ++e)
        see(kv, e);
      for (int64_t e : given["p"][t])
        see(c2, e);
      for (int64_t e = 0; (e + 1) * 5 <= t + 1; ++e)
        see(c5, e);
      addSoftmax(entries, d, weights.tensors["sink"][h], expected);
    }
  expectOutput(expected);
}

TEST_F(SelectTest, AttendPerGroupOverExpandedBlocks) {
  // 4 heads in 2 groups pick means of 3 tokens, and read the tokens themselves.
  const int64_t tokens = 20, d = 2;
  auto q = numbers(tokens * 4 * d, 5), k = numbers(tokens * d, 6);
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<4x2>, %k: !attn.stream<2>) -> !attn.stream<4x2> {
      %mean = attn.compress every 3 (%k at 0 : !attn.stream<2>) -> !attn.stream<2, every 3>
      %s = attn.score none scale 1.0 (%q, %mean : !attn.stream<4x2>, !attn.stream<2, every 3>) -> !attn.scores<every 3, groups 2>
      %b = attn.top_k %s : !attn.scores<every 3, groups 2> -> !attn.selection<2, every 3, groups 2>
      %p = attn.expand %b {attn.trace = "p"} : !attn.selection<2, every 3, groups 2> -> !attn.selection<2, groups 2, block 3>
      %o = attn.attend scale 1.0
          select %p : !attn.selection<2, groups 2, block 3> (%q, %k : !attn.stream<4x2>, !attn.stream<2>) values %k : !attn.stream<2>
          -> !attn.stream<4x2>
      attn.return %o : !attn.stream<4x2>
    })", {{8, q}, {2, k}})) << errors;
  std::vector<double> expected;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < 4; ++h) {
      ScoreRow blocks(tokens / 3);
      for (int64_t e = 0; (e + 1) * 3 <= t + 1; ++e) {
        double sum = 0;
        for (int64_t other = h / 2 * 2; other < h / 2 * 2 + 2; ++other)
          for (int64_t j = 0; j < 3; ++j)
            sum += dotProduct(&q[(t * 4 + other) * d], &k[(e * 3 + j) * d], d) / 3;
        blocks[e] = sum;
      }
      std::vector<Entry> entries;
      for (int64_t block : highest(blocks, 2))
        for (int64_t e = block * 3; e < block * 3 + 3; ++e)
          entries.push_back({dotProduct(&q[(t * 4 + h) * d], &k[e * d], d), &k[e * d]});
      addSoftmax(entries, d, -INFINITY, expected);
    }
  // The first two tokens see no complete block: their rows are 0.
  for (int64_t i = 0; i < 2 * 4 * d; ++i)
    ASSERT_EQ(expected[i], 0);
  expectOutput(expected);
  EXPECT_EQ(selections["p"].block, 3);
  EXPECT_EQ(selections["p"].entries(), tokens);
}

TEST_F(SelectTest, AttendSeesNoLaterElementOfAPickedBlock) {
  // Token 4 picks the block of tokens 4 to 7 and sees only itself in it.
  given["p"] = {{0}, {0}, {0}, {0}, {1}, {1}, {0, 1}};
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<1>, %k: !attn.stream<1>) -> !attn.stream<1> {
      %s = attn.score none scale 1.0 (%q, %k : !attn.stream<1>, !attn.stream<1>) -> !attn.scores
      %p = attn.block_top_k %s block 4 max {attn.trace = "p"} : !attn.scores -> !attn.selection<2, block 4>
      %o = attn.attend scale 1.0
          select %p : !attn.selection<2, block 4> (%q, %k : !attn.stream<1>, !attn.stream<1>) values %k : !attn.stream<1>
          -> !attn.stream<1>
      attn.return %o : !attn.stream<1>
    })", {{1, std::vector<double>(7, 0)}, {1, {1, 2, 3, 4, 50, 60, 70}}})) << errors;
  expectOutput({1, 1.5, 2, 2.5, 50, 55, 190.0 / 7});
}

TEST_F(SelectTest, AttendMapsScoresOfSelectedElements) {
  // The map sees the position of an every-2 element's first token.
  given["p"] = {{}, {0}, {0}, {0, 1}, {1}, {0, 2}};
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<1>, %k: !attn.stream<1, every 2>) -> !attn.stream<1> {
      %s = attn.score none scale 1.0 (%q, %k : !attn.stream<1>, !attn.stream<1, every 2>) -> !attn.scores<every 2>
      %p = attn.top_k %s {attn.trace = "p"} : !attn.scores<every 2> -> !attn.selection<2, every 2>
      %o = attn.attend scale 1.0
          select %p : !attn.selection<2, every 2> (%q, %k : !attn.stream<1>, !attn.stream<1, every 2>) values %k : !attn.stream<1, every 2>
          -> !attn.stream<1> {
      ^bb0(%score: f32, %query: f32, %key: f32, %head: f32):
        %distance = arith.subf %key, %query : f32
        attn.yield %distance : f32
      }
      attn.return %o : !attn.stream<1>
    })", {{1, std::vector<double>(6, 1)}, {1, {3, 5, 7}}})) << errors;
  auto mix = [](double a, double wa, double b, double wb) {
    return (a * std::exp(wa) + b * std::exp(wb)) / (std::exp(wa) + std::exp(wb));
  };
  expectOutput({0, 3, 3, mix(3, -3, 5, -1), 5, mix(3, -5, 7, -1)});
}

TEST_F(SelectTest, SelectingAllIsCausal) {
  const int64_t tokens = 17;
  auto q = numbers(tokens * 6, 8), k = numbers(tokens * 3, 9);
  const char *select = R"(
    attn.model @m(%q: !attn.stream<2x3>, %k: !attn.stream<3>) -> !attn.stream<2x3> {
      %s = attn.score relu scale 1.0 (%q, %k : !attn.stream<2x3>, !attn.stream<3>) -> !attn.scores
      %p = attn.top_k %s : !attn.scores -> !attn.selection<17>
      %o = attn.attend scale 0.5
          select %p : !attn.selection<17> (%q, %k : !attn.stream<2x3>, !attn.stream<3>) values %k : !attn.stream<3>
          -> !attn.stream<2x3>
      attn.return %o : !attn.stream<2x3>
    })";
  ASSERT_TRUE(runSelect(select, {{6, q}, {3, k}})) << errors;
  std::vector<double> selected = outputs[0].data;
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%q: !attn.stream<2x3>, %k: !attn.stream<3>) -> !attn.stream<2x3> {
      %o = attn.attend scale 0.5
          causal (%q, %k : !attn.stream<2x3>, !attn.stream<3>) values %k : !attn.stream<3>
          -> !attn.stream<2x3>
      attn.return %o : !attn.stream<2x3>
    })", {{6, q}, {3, k}})) << errors;
  expectOutput(selected, 0);
}
