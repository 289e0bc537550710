//===- interpreter_linear.cpp - projections against plain sums -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/interpreter_fixture.h"

using namespace attnc::test;

TEST_F(InterpreterTest, LinearIsAMatrixProductWithBias) {
  // 37 rows and 600 columns: partial panels, two passes over the channels.
  const int64_t tokens = 7, in = 600, out = 37;
  auto w = numbers(out * in, 1), b = numbers(out, 2), x = numbers(tokens * in, 3);
  weights.tensors = {{"w", toFloat(w)}, {"b", toFloat(b)}};
  ASSERT_TRUE(run(R"(
    attn.weight @w : 37x600
    attn.weight @b : 37
    attn.model @m(%x: !attn.stream<600>) -> !attn.stream<37> {
      %y = attn.linear %x, @w bias @b : (!attn.stream<600>) -> !attn.stream<37>
      attn.return %y : !attn.stream<37>
    })", {{in, x}})) << errors;
  std::vector<double> expected;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t o = 0; o < out; ++o) {
      double sum = b[o];
      for (int64_t i = 0; i < in; ++i)
        sum += w[o * in + i] * x[t * in + i];
      expected.push_back(sum);
    }
  expectOutput(expected);
}

TEST_F(InterpreterTest, LinearOfOneTokenEqualsThatTokenOfMany) {
  const int64_t tokens = 9, in = 1100, out = 33;
  auto x = numbers(tokens * in, 4);
  weights.tensors = {{"w", toFloat(numbers(out * in, 5))}};
  const char *text = R"(
    attn.weight @w : 33x1100
    attn.model @m(%x: !attn.stream<1100>) -> !attn.stream<33> {
      %y = attn.linear %x, @w : (!attn.stream<1100>) -> !attn.stream<33>
      attn.return %y : !attn.stream<33>
    })";
  ASSERT_TRUE(run(text, {{in, x}})) << errors;
  auto all = outputs[0].data;
  for (int64_t t = 0; t < tokens; ++t) {
    std::vector<double> row(x.begin() + t * in, x.begin() + (t + 1) * in);
    ASSERT_TRUE(run(text, {{in, row}})) << errors;
    for (int64_t o = 0; o < out; ++o)
      EXPECT_EQ(outputs[0].data[o], all[t * out + o]);
  }
}

/// The weight of the grouped tests: 3 groups of 5 rows, 4 columns.
static double groupWeight(const std::vector<double> &w, int64_t g, int64_t r, int64_t i) {
  return w[(g * 5 + r) * 4 + i];
}

TEST_F(InterpreterTest, LinearGroupsReadTheirOwnPart) {
  auto w = numbers(60, 6), x = numbers(2 * 12, 7), b = numbers(15, 8);
  weights.tensors = {{"w", toFloat(w)}, {"b", toFloat(b)}};
  ASSERT_TRUE(run(R"(
    attn.weight @w : 15x4
    attn.weight @b : 15
    attn.model @m(%x: !attn.stream<3x4>) -> !attn.stream<3x2> {
      %y = attn.linear %x, @w bias @b groups 3 rows [3, 2] : (!attn.stream<3x4>) -> !attn.stream<3x2>
      attn.return %y : !attn.stream<3x2>
    })", {{12, x}})) << errors;
  std::vector<double> expected;
  for (int64_t t = 0; t < 2; ++t)
    for (int64_t g = 0; g < 3; ++g)
      for (int64_t r = 3; r < 5; ++r) {
        double sum = b[g * 5 + r];
        for (int64_t i = 0; i < 4; ++i)
          sum += groupWeight(w, g, r, i) * x[t * 12 + g * 4 + i];
        expected.push_back(sum);
      }
  expectOutput(expected);
}

TEST_F(InterpreterTest, LinearGroupsShareAnInputOfOnePart) {
  auto w = numbers(60, 9), x = numbers(2 * 4, 10);
  weights.tensors = {{"w", toFloat(w)}};
  ASSERT_TRUE(run(R"(
    attn.weight @w : 15x4
    attn.model @m(%x: !attn.stream<4>) -> !attn.stream<3x2> {
      %y = attn.linear %x, @w groups 3 rows [0, 2] : (!attn.stream<4>) -> !attn.stream<3x2>
      attn.return %y : !attn.stream<3x2>
    })", {{4, x}})) << errors;
  std::vector<double> expected;
  for (int64_t t = 0; t < 2; ++t)
    for (int64_t g = 0; g < 3; ++g)
      for (int64_t r = 0; r < 2; ++r) {
        double sum = 0;
        for (int64_t i = 0; i < 4; ++i)
          sum += groupWeight(w, g, r, i) * x[t * 4 + i];
        expected.push_back(sum);
      }
  expectOutput(expected);
}

TEST_F(InterpreterTest, LinearTransposeSumsOverRows) {
  auto w = numbers(60, 11), x = numbers(2 * 6, 12);
  weights.tensors = {{"w", toFloat(w)}};
  ASSERT_TRUE(run(R"(
    attn.weight @w : 15x4
    attn.model @m(%x: !attn.stream<3x2>) -> !attn.stream<3x4> {
      %y = attn.linear %x, @w groups 3 rows [1, 2] transpose : (!attn.stream<3x2>) -> !attn.stream<3x4>
      attn.return %y : !attn.stream<3x4>
    })", {{6, x}})) << errors;
  std::vector<double> expected;
  for (int64_t t = 0; t < 2; ++t)
    for (int64_t g = 0; g < 3; ++g)
      for (int64_t i = 0; i < 4; ++i) {
        double sum = 0;
        for (int64_t r = 0; r < 2; ++r)
          sum += groupWeight(w, g, r + 1, i) * x[t * 6 + g * 2 + r];
        expected.push_back(sum);
      }
  expectOutput(expected);
}

TEST_F(InterpreterTest, MissingWeightIsAnError) {
  EXPECT_FALSE(run(R"(
    attn.weight @w : 2x2
    attn.model @m(%x: !attn.stream<2>) -> !attn.stream<2> {
      %y = attn.linear %x, @w : (!attn.stream<2>) -> !attn.stream<2>
      attn.return %y : !attn.stream<2>
    })", {{2, {1, 2}}}));
  EXPECT_NE(errors.find("tensor 'w' not found"), std::string::npos) << errors;
}
