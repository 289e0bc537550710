//===- interpreter_ops.cpp - per-token ops and the run itself --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/interpreter_fixture.h"

#include <cmath>

using namespace attnc::test;

TEST_F(InterpreterTest, RmsNormOverAllChannels) {
  weights.tensors = {{"w", {1, 2, 3, 4}}};
  ASSERT_TRUE(run(R"(
    attn.weight @w : 4
    attn.model @m(%x: !attn.stream<2x2>) -> !attn.stream<2x2> {
      %y = attn.rms_norm %x, @w eps 0.5 offset 1.0 : !attn.stream<2x2>
      attn.return %y : !attn.stream<2x2>
    })", {{4, {1, -2, 3, 4}}})) << errors;
  double f = 1 / std::sqrt(30.0 / 4 + 0.5);
  expectOutput({1 * f * 2, -2 * f * 3, 3 * f * 4, 4 * f * 5});
}

TEST_F(InterpreterTest, RmsNormPerHeadWithoutWeight) {
  ASSERT_TRUE(run(R"(
    attn.model @m(%x: !attn.stream<2x2>) -> !attn.stream<2x2> {
      %y = attn.rms_norm %x eps 0.0 per_head : !attn.stream<2x2>
      attn.return %y : !attn.stream<2x2>
    })", {{4, {3, 4, 5, 12}}})) << errors;
  double a = 1 / std::sqrt(12.5), b = 1 / std::sqrt(84.5);
  expectOutput({3 * a, 4 * a, 5 * b, 12 * b});
}

TEST_F(InterpreterTest, RopeRotatesTheLastPairsInterleaved) {
  // theta 100 and 4 channels: frequencies 1 and 0.1.
  ASSERT_TRUE(run(R"(
    attn.model @m(%x: !attn.stream<6>) -> !attn.stream<6> {
      %y = attn.rope %x last interleaved <theta = 100.0, dims = 4> : !attn.stream<6>
      attn.return %y : !attn.stream<6>
    })", {{6, {9, 8, 1, 2, 3, 4, 9, 8, 1, 2, 3, 4}}})) << errors;
  double c1 = std::cos(1.0), s1 = std::sin(1.0);
  double angle = double(0.1f), c2 = std::cos(angle), s2 = std::sin(angle);
  expectOutput({9, 8, 1, 2, 3, 4, 9, 8, 1 * c1 - 2 * s1, 1 * s1 + 2 * c1, 3 * c2 - 4 * s2,
                3 * s2 + 4 * c2},
               1e-7);
}

TEST_F(InterpreterTest, RopeRotatesTheFirstHalvesOfEveryHead) {
  ASSERT_TRUE(run(R"(
    attn.model @m(%x: !attn.stream<2x3>) -> !attn.stream<2x3> {
      %y = attn.rope %x first half_split <theta = 100.0, dims = 2, amplitude = 2.0> : !attn.stream<2x3>
      attn.return %y : !attn.stream<2x3>
    })", {{6, {0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}}})) << errors;
  double c = 2 * std::cos(1.0), s = 2 * std::sin(1.0);
  expectOutput({0, 0, 0, 0, 0, 0, 1 * c - 2 * s, 1 * s + 2 * c, 3, 4 * c - 5 * s, 4 * s + 5 * c,
                6});
}

TEST_F(InterpreterTest, InverseRopeTurnsBack) {
  auto x = numbers(5 * 8, 1);
  ASSERT_TRUE(run(R"(
    attn.model @m(%x: !attn.stream<8>) -> !attn.stream<8> {
      %y = attn.rope %x last half_split <theta = 10000.0, dims = 8> : !attn.stream<8>
      %z = attn.rope %y last half_split inverse <theta = 10000.0, dims = 8> : !attn.stream<8>
      attn.return %z : !attn.stream<8>
    })", {{8, x}})) << errors;
  expectOutput(x);
}

TEST_F(InterpreterTest, SliceTakesChannelsOfEveryHead) {
  ASSERT_TRUE(run(R"(
    attn.model @m(%x: !attn.stream<2x3>) -> !attn.stream<2x2> {
      %y = attn.slice %x [1, 2] : !attn.stream<2x3> -> !attn.stream<2x2>
      attn.return %y : !attn.stream<2x2>
    })", {{6, {1, 2, 3, 4, 5, 6}}})) << errors;
  expectOutput({2, 3, 5, 6});
}

TEST_F(InterpreterTest, ConcatRepeatsAnInputWithoutHeads) {
  ASSERT_TRUE(run(R"(
    attn.model @m(%x: !attn.stream<2x1>, %y: !attn.stream<2>) -> !attn.stream<2x3> {
      %z = attn.concat %x, %y : (!attn.stream<2x1>, !attn.stream<2>) -> !attn.stream<2x3>
      attn.return %z : !attn.stream<2x3>
    })", {{2, {1, 2}}, {2, {8, 9}}})) << errors;
  expectOutput({1, 8, 9, 2, 8, 9});
}

TEST_F(InterpreterTest, MapSpreadsInputsAndConstants) {
  // x in full, g per head, s for all; constants per channel of the last axis
  // and per head.
  weights.tensors = {{"c", {1, 2, 3}}, {"h", {10, 20}}};
  ASSERT_TRUE(run(R"(
    attn.weight @c : 3
    attn.weight @h : 2
    attn.model @m(%x: !attn.stream<2x3>, %g: !attn.stream<2>, %s: !attn.stream<1>) -> !attn.stream<2x3> {
      %y = attn.map(%x, %g, %s : !attn.stream<2x3>, !attn.stream<2>, !attn.stream<1>) consts [@c, @h] -> !attn.stream<2x3> {
      ^bb0(%a: f32, %b: f32, %d: f32, %c: f32, %h: f32):
        %1 = arith.mulf %a, %b : f32
        %2 = arith.addf %1, %d : f32
        %3 = arith.mulf %2, %c : f32
        %4 = arith.addf %3, %h : f32
        attn.yield %4 : f32
      }
      attn.return %y : !attn.stream<2x3>
    })", {{6, {1, 2, 3, 4, 5, 6}}, {2, {7, 8}}, {1, {0.5}}})) << errors;
  expectOutput({7.5 * 1 + 10, 14.5 * 2 + 10, 21.5 * 3 + 10, 32.5 * 1 + 20, 40.5 * 2 + 20,
                48.5 * 3 + 20});
}

TEST_F(InterpreterTest, MapSelectsByComparison) {
  // More channels than one batch of lanes.
  auto x = numbers(300, 2);
  ASSERT_TRUE(run(R"(
    attn.model @m(%x: !attn.stream<300>) -> !attn.stream<300> {
      %y = attn.map(%x : !attn.stream<300>) -> !attn.stream<300> {
      ^bb0(%a: f32):
        %zero = arith.constant 0.0 : f32
        %neg = arith.cmpf olt, %a, %zero : f32
        %sqrt = math.sqrt %a : f32
        %r = arith.select %neg, %zero, %sqrt : f32
        attn.yield %r : f32
      }
      attn.return %y : !attn.stream<300>
    })", {{300, x}})) << errors;
  std::vector<double> expected;
  for (double v : x)
    expected.push_back(v < 0 ? 0 : std::sqrt(v));
  expectOutput(expected);
}

TEST_F(InterpreterTest, MapRefusesWhatItCannotEvaluate) {
  EXPECT_FALSE(run(R"(
    attn.model @m(%x: !attn.stream<1>) -> !attn.stream<1> {
      %y = attn.map(%x : !attn.stream<1>) -> !attn.stream<1> {
      ^bb0(%a: f32):
        %r = math.cbrt %a : f32
        attn.yield %r : f32
      }
      attn.return %y : !attn.stream<1>
    })", {{1, {8}}}));
  EXPECT_NE(errors.find("'math.cbrt' op has no evaluation in a scalar body"), std::string::npos)
      << errors;
}

TEST_F(InterpreterTest, RoundSeesEachHeadByItself) {
  ASSERT_TRUE(run(R"(
    attn.model @m(%x: !attn.stream<2>) -> !attn.stream<2> {
      %y = attn.round %x to <bf16> : !attn.stream<2>
      attn.return %y : !attn.stream<2>
    })", {{2, {1.0 + 1.0 / 512, -3.0}}})) << errors;
  expectOutput({1.0, -3.0}, 0);
}

TEST_F(InterpreterTest, OptionalExternIsZero) {
  ASSERT_TRUE(run(R"(
    attn.model @m(%x: !attn.stream<2>) -> !attn.stream<2> {
      %y = attn.extern @mlp optional (%x) : (!attn.stream<2>) -> !attn.stream<2>
      attn.return %y : !attn.stream<2>
    })", {{2, {1, 2}}})) << errors;
  expectOutput({0, 0}, 0);
}

TEST_F(InterpreterTest, MissingExternIsAnError) {
  EXPECT_FALSE(run(R"(
    attn.model @m(%x: !attn.stream<2>) -> !attn.stream<2> {
      %y = attn.extern @mlp (%x) : (!attn.stream<2>) -> !attn.stream<2>
      attn.return %y : !attn.stream<2>
    })", {{2, {1, 2}}}));
  EXPECT_NE(errors.find("function @mlp is not supplied"), std::string::npos) << errors;
}

TEST_F(InterpreterTest, TracePublishesAResultByName) {
  ASSERT_TRUE(run(R"(
    attn.model @m(%x: !attn.stream<2>) -> !attn.stream<2> {
      %y = attn.slice %x [1, 1] {attn.trace = "layer0.attention"} : !attn.stream<2> -> !attn.stream<1>
      attn.return %x : !attn.stream<2>
    })", {{2, {1, 2}}})) << errors;
  ASSERT_EQ(traces.count("layer0.attention"), 1u);
  EXPECT_EQ(traces["layer0.attention"].data, std::vector<double>{2});
  expectOutput({1, 2}, 0);
}

static const char *const kIdentity = R"(
  attn.model @m(%x: !attn.stream<2>) -> !attn.stream<2> {
    attn.return %x : !attn.stream<2>
  })";

TEST_F(InterpreterTest, InputCountIsChecked) {
  EXPECT_FALSE(run(kIdentity, {}));
  EXPECT_NE(errors.find("takes 1 inputs, found 0"), std::string::npos) << errors;
}

TEST_F(InterpreterTest, InputChannelsAreChecked) {
  EXPECT_FALSE(run(kIdentity, {{3, {1, 2, 3}}}));
  EXPECT_NE(errors.find("input 0 has 3 channels, expected 2"), std::string::npos) << errors;
}

TEST_F(InterpreterTest, NoTokensGiveNoElements) {
  ASSERT_TRUE(run(kIdentity, {{2, {}}})) << errors;
  expectOutput({});
}

TEST_F(InterpreterTest, InputsMustHaveTheSameTokens) {
  EXPECT_FALSE(run(R"(
    attn.model @m(%x: !attn.stream<1>, %y: !attn.stream<1>) -> !attn.stream<1> {
      attn.return %x : !attn.stream<1>
    })", {{1, {1, 2}}, {1, {1}}}));
  EXPECT_NE(errors.find("input 1 has 1 elements, expected 2 for 2 tokens"), std::string::npos)
      << errors;
}
