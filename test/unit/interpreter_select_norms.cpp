//===- interpreter_select_norms.cpp - layer norms and Hadamard transforms --===//
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/interpreter_select_reference.h"

using namespace attnc::test;

/// (x - mean) / sqrt(variance + eps) * w + b of `n` numbers.
static std::vector<double> layerNorm(const double *x, int64_t n, double eps,
                                     const std::vector<float> &w, const std::vector<float> &b) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n; ++i)
    mean += x[i] / double(n);
  for (int64_t i = 0; i < n; ++i)
    variance += (x[i] - mean) * (x[i] - mean) / double(n);
  std::vector<double> y;
  for (int64_t i = 0; i < n; ++i)
    y.push_back((x[i] - mean) / std::sqrt(variance + eps) * double(w[i]) + double(b[i]));
  return y;
}

TEST_F(SelectTest, LayerNormOverAllChannels) {
  auto x = numbers(3 * 6, 1);
  weights.tensors = {{"w", toFloat(numbers(6, 2))}, {"b", toFloat(numbers(6, 3))}};
  ASSERT_TRUE(runSelect(R"(
    attn.weight @w : 6
    attn.weight @b : 6
    attn.model @m(%x: !attn.stream<2x3>) -> !attn.stream<2x3> {
      %y = attn.layer_norm %x, @w bias @b eps 1.0e-3 : !attn.stream<2x3>
      attn.return %y : !attn.stream<2x3>
    })", {{6, x}})) << errors;
  std::vector<double> expected;
  for (int64_t t = 0; t < 3; ++t)
    for (double y : layerNorm(&x[t * 6], 6, 1e-3, weights.tensors["w"], weights.tensors["b"]))
      expected.push_back(y);
  expectOutput(expected);
}

TEST_F(SelectTest, LayerNormPerHeadWithoutBias) {
  auto x = numbers(2 * 6, 4);
  weights.tensors = {{"w", {1, 2, -1}}};
  ASSERT_TRUE(runSelect(R"(
    attn.weight @w : 3
    attn.model @m(%x: !attn.stream<2x3>) -> !attn.stream<2x3> {
      %y = attn.layer_norm %x, @w eps 0.0 per_head : !attn.stream<2x3>
      attn.return %y : !attn.stream<2x3>
    })", {{6, x}})) << errors;
  std::vector<double> expected;
  for (int64_t head = 0; head < 4; ++head)
    for (double y : layerNorm(&x[head * 3], 3, 0, {1, 2, -1}, {0, 0, 0}))
      expected.push_back(y);
  expectOutput(expected);
}

TEST_F(SelectTest, LayerNormOfEqualChannelsIsTheBias) {
  weights.tensors = {{"b", {5, 7}}};
  ASSERT_TRUE(runSelect(R"(
    attn.weight @b : 2
    attn.model @m(%x: !attn.stream<2>) -> !attn.stream<2> {
      %y = attn.layer_norm %x bias @b eps 1.0e-6 : !attn.stream<2>
      attn.return %y : !attn.stream<2>
    })", {{2, {3, 3}}})) << errors;
  expectOutput({5, 7});
}

TEST_F(SelectTest, HadamardIsSylvesters) {
  auto x = numbers(2 * 16, 5);
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%x: !attn.stream<2x8>) -> !attn.stream<2x8> {
      %y = attn.hadamard %x : !attn.stream<2x8>
      attn.return %y : !attn.stream<2x8>
    })", {{16, x}})) << errors;
  std::vector<double> expected;
  for (int64_t head = 0; head < 4; ++head)
    for (unsigned i = 0; i < 8; ++i) {
      double sum = 0;
      for (unsigned j = 0; j < 8; ++j)
        sum += (__builtin_popcount(i & j) % 2 ? -1 : 1) * x[head * 8 + j];
      expected.push_back(sum / std::sqrt(8.0));
    }
  expectOutput(expected);
}

TEST_F(SelectTest, HadamardTwiceIsNothing) {
  auto x = numbers(5 * 64, 6);
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%x: !attn.stream<64>) -> !attn.stream<64> {
      %y = attn.hadamard %x : !attn.stream<64>
      %z = attn.hadamard %y : !attn.stream<64>
      attn.return %z : !attn.stream<64>
    })", {{64, x}})) << errors;
  expectOutput(x);
}

TEST_F(SelectTest, HadamardOfOneChannelIsIt) {
  ASSERT_TRUE(runSelect(R"(
    attn.model @m(%x: !attn.stream<1>) -> !attn.stream<1> {
      %y = attn.hadamard %x : !attn.stream<1>
      attn.return %y : !attn.stream<1>
    })", {{1, {3, -2}}})) << errors;
  expectOutput({3, -2});
}
