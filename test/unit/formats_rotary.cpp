//===- formats_rotary.cpp - rotary frequencies of the public models ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/Rotary.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace attnc;

namespace {

void expectNear(double found, double expected) {
  EXPECT_NEAR(found, expected, 1e-5 * std::fabs(expected));
}

Rotary yarn(double theta, double original, double factor) {
  Rotary rotary;
  rotary.theta = theta;
  rotary.dims = 64;
  rotary.scaling = Rotary::Scaling::Yarn;
  rotary.original = original;
  rotary.factor = factor;
  return rotary;
}

TEST(Rotary, PlainFrequencies) {
  Rotary rotary;
  rotary.dims = 4;
  EXPECT_EQ(rotary.frequencies(), (std::vector<double>{1, 0.01}));
}

TEST(Rotary, LinearDividesByTheFactor) {
  Rotary rotary;
  rotary.dims = 4;
  rotary.scaling = Rotary::Scaling::Linear;
  rotary.factor = 8;
  EXPECT_EQ(rotary.frequencies()[0], 0.125);
}

TEST(Rotary, Llama3KeepsBlendsAndDivides) {
  Rotary rotary;
  rotary.theta = 500000;
  rotary.dims = 128;
  rotary.scaling = Rotary::Scaling::Llama3;
  rotary.factor = 8;
  rotary.original = 8192;
  std::vector<double> f = rotary.frequencies();
  expectNear(f[0], 1.0);
  expectNear(f[28], 3.211446e-3);
  expectNear(f[29], 2.16657e-3);
  expectNear(f[34], 1.78508e-4);
  expectNear(f[35], 9.55621e-5);
  expectNear(f[63], 3.06893e-7);
}

TEST(Rotary, YarnOfDeepSeekV3) {
  std::vector<double> f = yarn(10000, 4096, 40).frequencies();
  expectNear(f[10], 5.623413e-2);
  expectNear(f[11], 3.900693e-2);
  expectNear(f[16], 5.5e-3);
  expectNear(f[23], 3.333804e-5);
  expectNear(f[31], 3.333804e-6);
}

TEST(Rotary, YarnOfCompressedLayers) {
  // The base of compressed layers is the file's, here 160000.
  std::vector<double> f = yarn(160000, 65536, 16).frequencies();
  expectNear(f[15], 3.635539e-3);
  expectNear(f[16], 2.265625e-3);
  expectNear(f[20], 2.969778e-4);
  expectNear(f[24], 1.953125e-5);
  expectNear(f[25], 5.372313e-6);
  expectNear(f[31], 5.680529e-7);
}

TEST(Rotary, YarnWithoutTruncationKeepsFractions) {
  Rotary rotary = yarn(150000, 4096, 32);
  rotary.truncate = false;
  std::vector<double> f = rotary.frequencies();
  double low = 64 * std::log(4096 / (32 * 2 * M_PI)) / (2 * std::log(150000.0));
  double high = 64 * std::log(4096 / (2 * M_PI)) / (2 * std::log(150000.0));
  ASSERT_NE(low, std::floor(low));
  for (int i = 0; i < 32; ++i) {
    double plain = std::pow(150000.0, -2.0 * i / 64);
    double ramp = std::min(1.0, std::max(0.0, (i - low) / (high - low)));
    expectNear(f[i], plain / 32 * ramp + plain * (1 - ramp));
  }
  rotary.truncate = true;
  EXPECT_NE(rotary.frequencies()[10], f[10]);
}

TEST(Rotary, YarnAmplitudeComesFromTheFactor) {
  // 0.1 ln 4 + 1, whatever the ratio of the two lengths in the file.
  EXPECT_NEAR(rotation(0, 1, 0.1 * std::log(4.0) + 1).cos, 1.1386294, 1e-7);
}

TEST(Rotary, PhaseIsAnF32ProductWithFullReduction) {
  EXPECT_NEAR(rotation(15962, 1, 1).cos, -0.908016, 1e-6);
  EXPECT_NEAR(rotation(15963, 1, 1).cos, -0.843125, 1e-6);
  EXPECT_NEAR(rotation(15968, 1, 1).cos, -0.754793, 1e-6);
  float phase = 1048575.0f * float(0.7498942);
  EXPECT_EQ(rotation(1048575, 0.7498942, 1).cos, std::cos(double(phase)));
}

} // namespace
