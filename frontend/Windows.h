//===- Windows.h - which layers see a window only
//--------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FRONTEND_WINDOWS_H
#define ATTNC_FRONTEND_WINDOWS_H

#include "frontend/ConfigReader.h"

#include <string>
#include <vector>

namespace attnc {

/// Which layers are windowed where no `layer_types` says so.
struct WindowFamily {
  enum class Rule : uint8_t {
    Never,      ///< the family has no windows and no keys for them
    EveryLayer, ///< every layer
    EvenLayers, ///< layers 0, 2, 4, ...
    Switched    ///< if use_sliding_window, from layer max_window_layers on
  };
  Rule rule = Rule::Never;
  int64_t window = 4096;         ///< of an absent `sliding_window`
  int64_t maxWindowLayers = 28;  ///< of an absent `max_window_layers`
  const char *synonym = nullptr; ///< a second key for the window
};

struct LayerWindows {
  std::vector<int64_t> windows;   ///< per layer; 0: sees everything
  std::vector<std::string> types; ///< per layer, as `layer_types` spells it
};

/// Reads the window keys of `layers` layers. A window that is at least as long
/// as the config's maxPositions never slides: the layer sees everything.
LayerWindows readWindows(ConfigObject &root, const WindowFamily &family,
                         int64_t layers);

} // namespace attnc

#endif // ATTNC_FRONTEND_WINDOWS_H
