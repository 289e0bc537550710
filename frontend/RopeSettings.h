//===- RopeSettings.h - the rotary settings of a config
//--------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FRONTEND_ROPESETTINGS_H
#define ATTNC_FRONTEND_ROPESETTINGS_H

#include "formats/Rotary.h"
#include "frontend/ConfigReader.h"

#include <map>
#include <string>

namespace attnc {

/// What a family adds to the keys that all families spell alike.
struct RopeFamily {
  int64_t dims = 0;     ///< rotated channels
  double theta = 10000; ///< when no key gives one
  /// YaRN's `mscale` pair: DeepSeek's rule defaults them to 1 and 0 and also
  /// scales the softmax; the general one uses a pair only when both are there.
  bool mscaleScalesSoftmax = false;
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

private:
  RopeSettings all;
  std::string pointer; ///< key of the nested block
  std::map<std::string, RopeSettings> byType;
};

/// Reads `rope_theta` with `rope_scaling` or `rope_parameters`, in any of their
/// spellings. Warnings about lengths use the config's maxPositions.
RopeTable readRope(ConfigObject &root, const RopeFamily &family);

/// YaRN's m: 0.1 * mscale * ln(factor) + 1, and 1 up to factor 1.
double yarnMscale(double factor, double mscale);

} // namespace attnc

#endif // ATTNC_FRONTEND_ROPESETTINGS_H
