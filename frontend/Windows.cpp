//===- Windows.cpp - which layers see a window only
//------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend/Windows.h"

#include <algorithm>
#include <optional>

namespace attnc {

static const char *const slidingType = "sliding_attention";
static const char *const fullType = "full_attention";
static constexpr Range<int64_t> windowRange{1, int64_t(1) << 31};

namespace {

class WindowReader {
public:
  WindowReader(ConfigObject &root, const WindowFamily &family, int64_t layers)
      : root(root), family(family), layers(layers) {}

  LayerWindows read() {
    result.windows.assign(layers, 0);
    result.types.assign(layers, fullType);
    if (family.rule == WindowFamily::Rule::Never)
      return result;
    const JsonNode *list = root.get("sliding_window");
    if (list && list->kind == JsonNode::Kind::Array) {
      readPattern(*list);
    } else {
      readWidth();
      std::vector<bool> sliding = readSlidingLayers();
      applyWidth(sliding);
    }
    clampToLength();
    return result;
  }

private:
  /// A list of windows, repeated over the layers.
  void readPattern(const JsonNode &list) {
    if (root.hasValue("layer_types"))
      root.fail("sliding_window", "found a list of windows beside layer_types",
                "one of the two");
    int64_t period = list.elements.size();
    if (period == 0 || layers % period)
      root.fail("sliding_window",
                "found a list of " + std::to_string(period) + " for " +
                    std::to_string(layers) + " layers",
                "a list whose length divides the number of layers");
    for (int64_t layer = 0; layer < layers; ++layer) {
      const JsonNode &entry = list.elements[layer % period];
      if (entry.kind == JsonNode::Kind::Null)
        continue;
      if (entry.kind != JsonNode::Kind::Integer ||
          entry.integer < windowRange.min || entry.integer > windowRange.max)
        root.fail("sliding_window",
                  "found " + entry.str() + " in the list of windows",
                  "null or a positive integer");
      result.windows[layer] = entry.integer;
      result.types[layer] = slidingType;
    }
    readSwitch();
  }

  void readWidth() {
    width = root.integer("sliding_window", windowRange);
    if (!family.synonym)
      return;
    Field<int64_t> other = root.integer(family.synonym, windowRange);
    if (other.present() && width.present() && other.value != width.value)
      root.fail(family.synonym,
                "found " + std::to_string(other.value) +
                    " here and sliding_window " + std::to_string(width.value),
                "the same value in both");
    if (width.absent())
      width = other;
  }

  /// Whether the family's switch, where it has one, is on.
  bool readSwitch() {
    if (family.rule != WindowFamily::Rule::Switched)
      return true;
    firstWindowLayer = root.integer("max_window_layers", {0, 1 << 20});
    return root.booleanOr("use_sliding_window", false);
  }

  std::vector<bool> readSlidingLayers() {
    bool enabled = readSwitch();
    if (auto fromTypes = readLayerTypes())
      return *fromTypes;
    std::vector<bool> sliding(layers, false);
    switch (family.rule) {
    case WindowFamily::Rule::Never:
      break;
    case WindowFamily::Rule::EveryLayer:
      sliding.assign(layers, true);
      break;
    case WindowFamily::Rule::EvenLayers:
      for (int64_t layer = 0; layer < layers; layer += 2)
        sliding[layer] = true;
      break;
    case WindowFamily::Rule::Switched:
      if (enabled)
        applySwitch(sliding);
      break;
    }
    return sliding;
  }

  void applySwitch(std::vector<bool> &sliding) {
    int64_t first = firstWindowLayer.value;
    if (!firstWindowLayer.present()) {
      first = family.maxWindowLayers;
      root.noteDefault("max_window_layers", double(first));
    }
    for (int64_t layer = first; layer < layers; ++layer)
      sliding[layer] = true;
    if (first >= layers && width.present())
      root.config().warnings.push_back(
          "/sliding_window " + std::to_string(width.value) +
          " has no effect: max_window_layers " + std::to_string(first) +
          " keeps all " + std::to_string(layers) + " layers full");
  }

  /// Explicit types win over every other rule.
  std::optional<std::vector<bool>> readLayerTypes() {
    const JsonNode *types = root.get("layer_types");
    if (!types || types->kind == JsonNode::Kind::Null)
      return std::nullopt;
    if (types->kind != JsonNode::Kind::Array)
      root.refuse("layer_types", "a list of layer types");
    if (int64_t(types->elements.size()) != layers)
      root.fail("layer_types",
                "found " + std::to_string(types->elements.size()) +
                    " types for " + std::to_string(layers) + " layers",
                "one for each layer");
    std::vector<bool> sliding(layers);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const JsonNode &type = types->elements[layer];
      bool known = type.kind == JsonNode::Kind::String &&
                   (type.text == slidingType || type.text == fullType);
      if (!known)
        root.fail("layer_types",
                  "found the type " + type.str() + " of layer " +
                      std::to_string(layer),
                  "sliding_attention or full_attention");
      sliding[layer] = type.text == slidingType;
    }
    explicitTypes = true;
    return sliding;
  }

  void applyWidth(const std::vector<bool> &sliding) {
    bool any = std::find(sliding.begin(), sliding.end(), true) != sliding.end();
    int64_t window = width.value;
    if (any && width.absent()) {
      window = family.window;
      root.noteDefault("sliding_window", double(window));
    }
    if (any && width.null() && explicitTypes)
      root.refuse("sliding_window",
                  "a positive integer, as layer_types has windowed layers");
    for (int64_t layer = 0; layer < layers; ++layer) {
      if (!sliding[layer])
        continue;
      // A null window means none; the layer keeps its type.
      result.windows[layer] = width.null() ? 0 : window;
      result.types[layer] = slidingType;
    }
  }

  void clampToLength() {
    int64_t longest = root.config().maxPositions;
    int64_t dropped = 0;
    for (int64_t &window : result.windows) {
      if (!longest || window < longest)
        continue;
      dropped = window;
      window = 0;
    }
    if (dropped)
      root.config().notes.push_back(
          "/sliding_window " + std::to_string(dropped) +
          " never slides within max_position_embeddings " +
          std::to_string(longest) + ": full attention");
  }

  ConfigObject &root;
  const WindowFamily &family;
  int64_t layers;
  Field<int64_t> width, firstWindowLayer;
  bool explicitTypes = false;
  LayerWindows result;
};

} // namespace

LayerWindows readWindows(ConfigObject &root, const WindowFamily &family,
                         int64_t layers) {
  return WindowReader(root, family, layers).read();
}

} // namespace attnc
