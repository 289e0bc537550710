//===- Rotary.cpp - rotary embedding frequencies ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/Rotary.h"

#include <algorithm>
#include <cmath>

namespace attnc {

static constexpr double pi = 3.14159265358979323846;

/// Keeps high frequencies, divides low ones, blends between (Llama 3.1).
static double scaleLlama3(const Rotary &rotary, double frequency) {
  double wavelength = 2 * pi / frequency;
  if (wavelength < rotary.original / rotary.highFreq)
    return frequency;
  if (wavelength > rotary.original / rotary.lowFreq)
    return frequency / rotary.factor;
  double keep = (rotary.original / wavelength - rotary.lowFreq) /
                (rotary.highFreq - rotary.lowFreq);
  return (1 - keep) * frequency / rotary.factor + keep * frequency;
}

/// The pair (as a real number) that turns `rotations` times over the original
/// context.
static double correctionDim(const Rotary &rotary, double rotations) {
  return double(rotary.dims) *
         std::log(rotary.original / (rotations * 2 * pi)) /
         (2 * std::log(rotary.theta));
}

static void scaleYarn(const Rotary &rotary, std::vector<double> &frequencies) {
  double low = correctionDim(rotary, rotary.betaFast);
  double high = correctionDim(rotary, rotary.betaSlow);
  if (rotary.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, double(rotary.dims - 1));
  if (low == high)
    high += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    double ramp = std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
    double f = frequencies[i];
    frequencies[i] = f / rotary.factor * ramp + f * (1 - ramp);
  }
}

std::vector<double> Rotary::frequencies() const {
  std::vector<double> result(dims > 0 ? dims / 2 : 0);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = std::pow(theta, -2.0 * double(i) / double(dims));
  switch (scaling) {
  case Scaling::None:
    break;
  case Scaling::Linear:
    for (double &f : result)
      f /= factor;
    break;
  case Scaling::Llama3:
    for (double &f : result)
      f = scaleLlama3(*this, f);
    break;
  case Scaling::Yarn:
    scaleYarn(*this, result);
    break;
  }
  return result;
}

Rotation rotation(int64_t position, double frequency, double amplitude) {
  // The f32 product is part of the public models' arithmetic; reducing it in
  // f64 makes the rest exact at any position.
  double phase = float(position) * float(frequency);
  return {std::cos(phase) * amplitude, std::sin(phase) * amplitude};
}

} // namespace attnc
