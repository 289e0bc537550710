//===- interpreter_select_compress.cpp - gated pooling against plain sums --===//
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/interpreter_select_reference.h"

using namespace attnc::test;

namespace {

/// One row of a pool: what it weighs and what it is, for one channel.
struct Row {
  double logit, value;
};

double softPool(const std::vector<Row> &rows) {
  double sum = 0, weighted = 0;
  for (const Row &row : rows) {
    sum += std::exp(row.logit);
    weighted += std::exp(row.logit) * row.value;
  }
  return weighted / sum;
}

} // namespace

TEST_F(SelectTest, CompressOverlapsBlocksWithBias) {
  // 4 tokens to an element; the b-half one block back, the a-half here.
  const int64_t m = 4, d = 3, tokens = 14;
  auto va = numbers(tokens * d, 1), ga = numbers(tokens * d, 2), vb = numbers(tokens * d, 3),
       gb = numbers(tokens * d, 4);
  weights.tensors = {{"ape", toFloat(numbers(m * 2 * d, 5))}};
  ASSERT_TRUE(runSelect(R"(
    attn.weight @ape : 4x6
    attn.model @m(%va: !attn.stream<3>, %ga: !attn.stream<3>, %vb: !attn.stream<3>, %gb: !attn.stream<3>) -> !attn.stream<3, every 4> {
      %c = attn.compress every 4 bias @ape
          (%vb, %gb at -1 : !attn.stream<3>, !attn.stream<3>),
          (%va, %ga at 0 : !attn.stream<3>, !attn.stream<3>)
          -> !attn.stream<3, every 4>
      attn.return %c : !attn.stream<3, every 4>
    })", {{3, va}, {3, ga}, {3, vb}, {3, gb}})) << errors;
  const std::vector<float> &ape = weights.tensors["ape"];
  std::vector<double> expected;
  for (int64_t i = 0; i < tokens / m; ++i)
    for (int64_t c = 0; c < d; ++c) {
      std::vector<Row> rows;
      for (int64_t j = 0; j < m; ++j) {
        int64_t before = (i - 1) * m + j, here = i * m + j;
        if (before >= 0)
          rows.push_back({gb[before * d + c] + double(ape[j * 2 * d + c]), vb[before * d + c]});
        rows.push_back({ga[here * d + c] + double(ape[j * 2 * d + d + c]), va[here * d + c]});
      }
      expected.push_back(softPool(rows));
    }
  expectOutput(expected);
}

TEST_F(SelectTest, CompressWithOneGateForAllChannels) {
  const int64_t m = 3, tokens = 7;
  auto v = numbers(tokens * 4, 6), g = numbers(tokens, 7);
  weights.tensors = {{"ape", {0.5f, -1.0f, 0.25f}}};
  ASSERT_TRUE(runSelect(R"(
    attn.weight @ape : 3x1
    attn.model @m(%v: !attn.stream<2x2>, %g: !attn.stream<1>) -> !attn.stream<2x2, every 3> {
      %c = attn.compress every 3 bias @ape (%v, %g at 0 : !attn.stream<2x2>, !attn.stream<1>)
          -> !attn.stream<2x2, every 3>
      attn.return %c : !attn.stream<2x2, every 3>
    })", {{4, v}, {1, g}})) << errors;
  std::vector<double> expected;
  for (int64_t i = 0; i < tokens / m; ++i)
    for (int64_t c = 0; c < 4; ++c) {
      std::vector<Row> rows;
      for (int64_t j = 0; j < m; ++j)
        rows.push_back({g[i * m + j] + double(weights.tensors["ape"][j]), v[(i * m + j) * 4 + c]});
      expected.push_back(softPool(rows));
    }
  expectOutput(expected);
}

TEST_F(SelectTest, CompressWithoutGatesIsTheMeanOfTheRowsThatExist) {
  // Two blocks back and here: the first two elements have only their own.
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%v: !attn.stream<1>) -> !attn.stream<1, every 2> {
      %c = attn.compress every 2 (%v at -2 : !attn.stream<1>), (%v at 0 : !attn.stream<1>)
          -> !attn.stream<1, every 2>
      attn.return %c : !attn.stream<1, every 2>
    })", {{1, {1, 3, 10, 20, 5, 7, 100, 300, 9}}})) << errors;
  expectOutput({2, 15, 4, (10.0 + 20 + 100 + 300) / 4});
}

TEST_F(SelectTest, CompressMixesGatedAndUniformParts) {
  // The part without gates has logits of 0; the bias has the gated part's column.
  const double g[] = {0.5, -0.5, 1, 2};
  weights.tensors = {{"ape", {0.25f, -0.75f}}};
  ASSERT_TRUE(runSelect(R"(
    attn.weight @ape : 2x1
    attn.model @m(%u: !attn.stream<1>, %v: !attn.stream<1>, %g: !attn.stream<1>) -> !attn.stream<1, every 2> {
      %c = attn.compress every 2 bias @ape (%u at 0 : !attn.stream<1>),
          (%v, %g at 0 : !attn.stream<1>, !attn.stream<1>) -> !attn.stream<1, every 2>
      attn.return %c : !attn.stream<1, every 2>
    })", {{1, {1, 2, 3, 4}}, {1, {5, 6, 7, 8}}, {1, {g[0], g[1], g[2], g[3]}}})) << errors;
  expectOutput({softPool({{0, 1}, {0, 2}, {g[0] + 0.25, 5}, {g[1] - 0.75, 6}}),
                softPool({{0, 3}, {0, 4}, {g[2] + 0.25, 7}, {g[3] - 0.75, 8}})});
}

TEST_F(SelectTest, CompressOfOneElementIsIt) {
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%v: !attn.stream<1>, %g: !attn.stream<1>) -> !attn.stream<1> {
      %c = attn.compress every 1 (%v, %g at 0 : !attn.stream<1>, !attn.stream<1>) -> !attn.stream<1>
      attn.return %c : !attn.stream<1>
    })", {{1, {4, -2, 8}}, {1, {1000, -1000, 0}}})) << errors;
  expectOutput({4, -2, 8});
}

TEST_F(SelectTest, CompressWithoutRowsIsZero) {
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%v: !attn.stream<1>) -> !attn.stream<1, every 2> {
      %c = attn.compress every 2 (%v at -1 : !attn.stream<1>) -> !attn.stream<1, every 2>
      attn.return %c : !attn.stream<1, every 2>
    })", {{1, {1, 3, 5, 7}}})) << errors;
  expectOutput({0, 2});
}

TEST_F(SelectTest, CompressWhoseGatesAreAllShutIsZero) {
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%v: !attn.stream<1>, %g: !attn.stream<1>) -> !attn.stream<1, every 2> {
      %c = attn.compress every 2 (%v, %g at 0 : !attn.stream<1>, !attn.stream<1>) -> !attn.stream<1, every 2>
      attn.return %c : !attn.stream<1, every 2>
    })", {{1, {1, 3, 5, 7}}, {1, {-INFINITY, -INFINITY, 0, -INFINITY}}})) << errors;
  expectOutput({0, 5});
}

TEST_F(SelectTest, CompressKeepsNaNToItsElement) {
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%v: !attn.stream<1>, %g: !attn.stream<1>) -> !attn.stream<1, every 2> {
      %c = attn.compress every 2 (%v, %g at 0 : !attn.stream<1>, !attn.stream<1>) -> !attn.stream<1, every 2>
      attn.return %c : !attn.stream<1, every 2>
    })", {{1, {1, 3, 5, 5}}, {1, {NAN, 0, 0, 0}}})) << errors;
  EXPECT_TRUE(std::isnan(outputs[0].data[0]));
  EXPECT_EQ(outputs[0].data[1], 5);
}

TEST_F(SelectTest, CompressOfACompressedStream) {
  // Means of means: 3 elements of 2 tokens; 14 tokens leave an open block.
  std::vector<double> x(14);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = double(i);
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%v: !attn.stream<1>) -> !attn.stream<1, every 6> {
      %a = attn.compress every 2 (%v at 0 : !attn.stream<1>) -> !attn.stream<1, every 2>
      %b = attn.compress every 3 (%a at 0 : !attn.stream<1, every 2>) -> !attn.stream<1, every 6>
      attn.return %b : !attn.stream<1, every 6>
    })", {{1, x}})) << errors;
  expectOutput({2.5, 8.5});
}

TEST_F(SelectTest, CompressOfFewerTokensThanABlockIsEmpty) {
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%v: !attn.stream<1>) -> !attn.stream<1, every 4> {
      %c = attn.compress every 4 (%v at 0 : !attn.stream<1>) -> !attn.stream<1, every 4>
      attn.return %c : !attn.stream<1, every 4>
    })", {{1, {1, 2, 3}}})) << errors;
  expectOutput({});
}

TEST_F(SelectTest, RotatesElementsByTheirFirstToken) {
  // One pair, frequency 1: elements of 3 tokens turn by 0, 3 and 6.
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%v: !attn.stream<2>) -> !attn.stream<2, every 3> {
      %c = attn.compress every 3 (%v at 0 : !attn.stream<2>) -> !attn.stream<2, every 3>
      %r = attn.rope %c last interleaved <theta = 10000.0, dims = 2> : !attn.stream<2, every 3>
      attn.return %r : !attn.stream<2, every 3>
    })", {{2, {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}}})) << errors;
  expectOutput({1, 0, std::cos(3), std::sin(3), std::cos(6), std::sin(6)}, 1e-9);
}
