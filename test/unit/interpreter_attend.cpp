//===- interpreter_attend.cpp - attention against plain sums ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/interpreter_fixture.h"

#include <cmath>
#include <functional>

using namespace attnc::test;

namespace {

/// One visible element: its score and its value's channels.
struct Entry {
  double score;
  const double *value;
};

/// Softmax over entries, plus a sink that has no value.
std::vector<double> softmaxSum(const std::vector<Entry> &entries, int64_t channels,
                               double sink = -INFINITY) {
  std::vector<double> out(channels, 0.0);
  double sum = std::exp(sink);
  for (const Entry &entry : entries)
    sum += std::exp(entry.score);
  for (const Entry &entry : entries)
    for (int64_t c = 0; c < channels; ++c)
      out[c] += std::exp(entry.score) / sum * entry.value[c];
  return out;
}

double dotProduct(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

} // namespace

TEST_F(InterpreterTest, AttendCausalSharesKeysInRuns) {
  // 4 query heads of 3 channels, 2 key and value heads.
  const int64_t tokens = 5;
  auto q = numbers(tokens * 12, 1), k = numbers(tokens * 6, 2), v = numbers(tokens * 4, 3);
  ASSERT_TRUE(run(R"(
    attn.model @m(%q: !attn.stream<4x3>, %k: !attn.stream<2x3>, %v: !attn.stream<2x2>) -> !attn.stream<4x2> {
      %o = attn.attend scale 0.5
          causal (%q, %k : !attn.stream<4x3>, !attn.stream<2x3>) values %v : !attn.stream<2x2>
          -> !attn.stream<4x2>
      attn.return %o : !attn.stream<4x2>
    })", {{12, q}, {6, k}, {4, v}})) << errors;
  std::vector<double> expected;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < 4; ++h) {
      std::vector<Entry> entries;
      for (int64_t e = 0; e <= t; ++e)
        entries.push_back({0.5 * dotProduct(&q[t * 12 + h * 3], &k[e * 6 + h / 2 * 3], 3),
                           &v[e * 4 + h / 2 * 2]});
      for (double x : softmaxSum(entries, 2))
        expected.push_back(x);
    }
  expectOutput(expected);
}

TEST_F(InterpreterTest, AttendWindowSinkAndSeveralSources) {
  // A window of 2 over (qa, ka) and a causal source of two parts, one softmax.
  const int64_t tokens = 6;
  auto qa = numbers(tokens * 4, 4), qb = numbers(tokens * 2, 5), ka = numbers(tokens * 2, 6),
       kb = numbers(tokens, 7), v = numbers(tokens * 3, 8), u = numbers(tokens * 3, 9);
  weights.tensors = {{"sinks", {0.25f, -1.5f}}};
  ASSERT_TRUE(run(R"(
    attn.weight @sinks : 2
    attn.model @m(%qa: !attn.stream<2x2>, %qb: !attn.stream<2x1>, %ka: !attn.stream<2>,
                  %kb: !attn.stream<1>, %v: !attn.stream<3>, %u: !attn.stream<3>) -> !attn.stream<2x3> {
      %o = attn.attend scale 1.5 sink @sinks
          window 2 (%qa, %ka : !attn.stream<2x2>, !attn.stream<2>) values %v : !attn.stream<3>
          causal (%qa, %ka : !attn.stream<2x2>, !attn.stream<2>),
                 (%qb, %kb : !attn.stream<2x1>, !attn.stream<1>) values %u : !attn.stream<3>
          -> !attn.stream<2x3>
      attn.return %o : !attn.stream<2x3>
    })", {{4, qa}, {2, qb}, {2, ka}, {1, kb}, {3, v}, {3, u}})) << errors;
  std::vector<double> expected;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < 2; ++h) {
      std::vector<Entry> entries;
      for (int64_t e = std::max<int64_t>(t - 1, 0); e <= t; ++e)
        entries.push_back({1.5 * dotProduct(&qa[t * 4 + h * 2], &ka[e * 2], 2), &v[e * 3]});
      for (int64_t e = 0; e <= t; ++e)
        entries.push_back({1.5 * (dotProduct(&qa[t * 4 + h * 2], &ka[e * 2], 2) +
                                  qb[t * 2 + h] * kb[e]),
                           &u[e * 3]});
      for (double x : softmaxSum(entries, 3, h == 0 ? 0.25 : -1.5))
        expected.push_back(x);
    }
  expectOutput(expected);
}

TEST_F(InterpreterTest, AttendSeesOnlyCompleteElements) {
  // One element per 2 tokens: token 0 sees none, tokens 1 and 2 see the first.
  ASSERT_TRUE(run(R"(
    attn.model @m(%q: !attn.stream<1>, %k: !attn.stream<1, every 2>) -> !attn.stream<1> {
      %o = attn.attend scale 1.0
          causal (%q, %k : !attn.stream<1>, !attn.stream<1, every 2>) values %k : !attn.stream<1, every 2>
          -> !attn.stream<1>
      attn.return %o : !attn.stream<1>
    })", {{1, {0, 0, 0, 0, 0}}, {1, {3, 5}}})) << errors;
  expectOutput({0, 3, 3, 4, 4});
}

TEST_F(InterpreterTest, AttendMapsScores) {
  // score + slope[head] * (key position - query position): ALiBi.
  const int64_t tokens = 4;
  auto q = numbers(tokens * 2, 10), k = numbers(tokens, 11);
  weights.tensors = {{"slope", {0.5f, 0.25f}}};
  ASSERT_TRUE(run(R"(
    attn.weight @slope : 2
    attn.model @m(%q: !attn.stream<2x1>, %k: !attn.stream<1>) -> !attn.stream<2x1> {
      %o = attn.attend scale 2.0 consts [@slope]
          causal (%q, %k : !attn.stream<2x1>, !attn.stream<1>) values %k : !attn.stream<1>
          -> !attn.stream<2x1> {
      ^bb0(%score: f32, %query: f32, %key: f32, %head: f32, %slope: f32):
        %distance = arith.subf %key, %query : f32
        %bias = arith.mulf %distance, %slope : f32
        %biased = arith.addf %score, %bias : f32
        %more = arith.addf %biased, %head : f32
        attn.yield %more : f32
      }
      attn.return %o : !attn.stream<2x1>
    })", {{2, q}, {1, k}})) << errors;
  std::vector<double> expected;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < 2; ++h) {
      std::vector<Entry> entries;
      for (int64_t e = 0; e <= t; ++e)
        entries.push_back(
            {2 * q[t * 2 + h] * k[e] + (h == 0 ? 0.5 : 0.25) * double(e - t) + double(h), &k[e]});
      expected.push_back(softmaxSum(entries, 1)[0]);
    }
  expectOutput(expected);
}

TEST_F(InterpreterTest, AttendMasksByInfiniteScores) {
  // A score map may hide everything; such a row is 0.
  ASSERT_TRUE(run(R"(
    attn.model @m(%q: !attn.stream<1>, %k: !attn.stream<1>) -> !attn.stream<1> {
      %o = attn.attend scale 1.0
          causal (%q, %k : !attn.stream<1>, !attn.stream<1>) values %k : !attn.stream<1>
          -> !attn.stream<1> {
      ^bb0(%score: f32, %query: f32, %key: f32, %head: f32):
        %limit = arith.constant 1.0 : f32
        %hidden = arith.constant 0xFF800000 : f32
        %old = arith.cmpf olt, %key, %limit : f32
        %masked = arith.select %old, %hidden, %score : f32
        attn.yield %masked : f32
      }
      attn.return %o : !attn.stream<1>
    })", {{1, {1, 1, 1}}, {1, {7, 5, 5}}})) << errors;
  expectOutput({0, 5, 5});
}

TEST_F(InterpreterTest, AttendKeepsNaN) {
  ASSERT_TRUE(run(R"(
    attn.model @m(%q: !attn.stream<1>, %k: !attn.stream<1>) -> !attn.stream<1> {
      %o = attn.attend scale 1.0
          causal (%q, %k : !attn.stream<1>, !attn.stream<1>) values %k : !attn.stream<1>
          -> !attn.stream<1>
      attn.return %o : !attn.stream<1>
    })", {{1, {1, 1}}, {1, {NAN, 5}}})) << errors;
  EXPECT_TRUE(std::isnan(outputs[0].data[0]));
  EXPECT_TRUE(std::isnan(outputs[0].data[1]));
}

TEST_F(InterpreterTest, AttendOfHugeScoresStaysFinite) {
  ASSERT_TRUE(run(R"(
    attn.model @m(%q: !attn.stream<1>, %k: !attn.stream<1>) -> !attn.stream<1> {
      %o = attn.attend scale 1.0e+6
          causal (%q, %k : !attn.stream<1>, !attn.stream<1>) values %k : !attn.stream<1>
          -> !attn.stream<1>
      attn.return %o : !attn.stream<1>
    })", {{1, {1, 1, 1}}, {1, {3, 2, 4}}})) << errors;
  expectOutput({3, 3, 4});
}

TEST_F(InterpreterTest, AttendOverASelectionFromOutsideHasNoEvaluation) {
  EXPECT_FALSE(run(R"(
    attn.model @m(%q: !attn.stream<1>, %k: !attn.stream<1>) -> !attn.stream<1> {
      %s = "builtin.unrealized_conversion_cast"(%k) : (!attn.stream<1>) -> !attn.selection<2>
      %o = attn.attend scale 1.0
          select %s : !attn.selection<2> (%q, %k : !attn.stream<1>, !attn.stream<1>)
          values %k : !attn.stream<1>
          -> !attn.stream<1>
      attn.return %o : !attn.stream<1>
    })", {{1, {1}}, {1, {1}}}));
  EXPECT_NE(errors.find("has no evaluation"), std::string::npos) << errors;
}
