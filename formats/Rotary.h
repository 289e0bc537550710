//===- Rotary.h - rotary embedding frequencies ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FORMATS_ROTARY_H
#define ATTNC_FORMATS_ROTARY_H

#include <cstdint>
#include <string>
#include <vector>

namespace attnc {

/// One of the public RoPE scalings. `dims` rotated channels make dims/2 pairs;
/// pair i has base frequency theta^(-2i/dims).
struct Rotary {
  enum class Scaling : uint8_t { None, Linear, Llama3, Yarn };

  double theta = 10000;
  int64_t dims = 0;
  Scaling scaling = Scaling::None;
  double factor = 1;            ///< linear, llama3, yarn
  double original = 0;          ///< llama3, yarn: original_max_position_embeddings
  double lowFreq = 1, highFreq = 4; ///< llama3
  double betaFast = 32, betaSlow = 1; ///< yarn
  bool truncate = true;         ///< yarn: floor/ceil of the correction range
  double amplitude = 1;         ///< factor on cos and sin

  /// The dims/2 frequencies, in f64 (reference.md 2.0 and 10).
  std::vector<double> frequencies() const;
};

/// cos and sin (times amplitude) of pair `frequency` at `position`. The phase
/// is the f32 product of the f32 position and the f32 frequency, as the public
/// code forms it; cos and sin have full argument reduction. Everyone who
/// rotates anything uses this function, so no two tables can differ.
struct Rotation {
  double cos, sin;
};
Rotation rotation(int64_t position, double frequency, double amplitude);

} // namespace attnc

#endif // ATTNC_FORMATS_ROTARY_H
