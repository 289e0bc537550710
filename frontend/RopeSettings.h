//===- RopeSettings.h - the rotary settings of a config
//--------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FRONTEND_ROPESETTINGS_H
#define ATTNC_FRONTEND_ROPESETTINGS_H

#include "formats/Rotary.h"
#include "frontend/ConfigReader.h"

#include <map>
#include <string>
#include <vector>

namespace attnc {

/// How YaRN scales cos and sin.
enum class YarnAmplitude : uint8_t {
  General,  ///< by 0.1 ln(factor) + 1, or by a whole `mscale` pair
  Softmax,  ///< by the pair, absent ones 1 and 0, which also scales the softmax
  Constant, ///< not at all, and there is no pair
};

/// The name of one of several rotations of a family and its base's root key.
struct RopeLabel {
  const char *name;
  const char *thetaKey;
};

/// What a family adds to the keys that all families spell alike.
struct RopeFamily {
  int64_t dims = 0;     ///< rotated channels
  double theta = 10000; ///< when no key gives one
  YarnAmplitude amplitude = YarnAmplitude::General;
  double partial = 1; ///< rotated part of a head
  /// Blocks by these names instead of by layer type.
  std::vector<RopeLabel> labels = {};
};

/// The rotation of a layer. `softmaxScale` multiplies the layer's scale.
struct RopeSettings {
  Rotary rotary;
  double softmaxScale = 1;
};

/// Rotations by layer type, or one for all of them.
class RopeTable {
public:
  RopeTable() = default;
  explicit RopeTable(RopeSettings all) : all(all) {}
  RopeTable(std::string pointer, std::map<std::string, RopeSettings> byType)
      : pointer(std::move(pointer)), byType(std::move(byType)) {}

  /// The settings of layer `layer`, of type `type`; fails when the config
  /// gives rotations by layer type and leaves this one out.
  const RopeSettings &of(const ConfigObject &root, int64_t layer,
                         const std::string &type) const;
  /// Whether there are rotations by type.
  bool nested() const { return !byType.empty(); }

private:
  RopeSettings all;
  std::string pointer; ///< key of the nested block
  std::map<std::string, RopeSettings> byType;
};

/// Reads `rope_theta` with `rope_scaling` or `rope_parameters`, in any of their
/// spellings. Warnings about lengths use the config's maxPositions.
RopeTable readRope(ConfigObject &root, const RopeFamily &family);

/// The rotations of a model whose layers compress or do not.
struct RatioRopes {
  RopeSettings plain;      ///< of layers that do not
  RopeSettings compressed; ///< everything in a layer that does
};

/// Reads as readRope does, with `compress_rope_theta`, which must be there if
/// any layer `compresses`. One block for all layers scales only the base of
/// those; blocks for `main` and `compress` each say all of theirs.
RatioRopes readRatioRopes(ConfigObject &root, RopeFamily family,
                          bool compresses);

/// YaRN's m: 0.1 * mscale * ln(factor) + 1, and 1 up to factor 1.
double yarnMscale(double factor, double mscale);

} // namespace attnc

#endif // ATTNC_FRONTEND_ROPESETTINGS_H
