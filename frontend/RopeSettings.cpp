//===- RopeSettings.cpp - the rotary settings of a config
//------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Older files have `rope_theta` and `rope_scaling` {type or rope_type, ...};
// newer ones `rope_parameters` {rope_type, rope_theta, ...}, perhaps one level
// deeper by layer type. Every key of a block must be understood: a scaling that
// is read and then not applied looks right on short prompts only.
//
//===----------------------------------------------------------------------===//

#include "frontend/RopeSettings.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace attnc {

static constexpr Range<double> factorRange{1, positiveRange.max};
static constexpr Range<double> anyMscale{0, positiveRange.max};

double yarnMscale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

const RopeSettings &RopeTable::of(const ConfigObject &root, int64_t layer,
                                  const std::string &type) const {
  if (byType.empty())
    return all;
  auto found = byType.find(type);
  if (found == byType.end())
    root.fail(pointer,
              "found no entry for '" + type + "', the type of layer " +
                  std::to_string(layer),
              "one for each layer type");
  return found->second;
}

namespace {

/// A block before its base is known.
struct RopeBlock {
  RopeSettings settings;
  Field<double> theta;
};

/// Reads one flat block.
class BlockReader {
public:
  BlockReader(ConfigObject &block, const RopeFamily &family, bool typeRequired)
      : block(block), family(family), typeRequired(typeRequired) {}

  RopeBlock read() {
    result.settings.rotary.dims = family.dims;
    result.theta = block.number("rope_theta", positiveRange);
    if (result.theta.null())
      block.refuse("rope_theta", "a finite positive number");
    std::string kind = readKind();
    if (kind == "linear")
      readLinear();
    else if (kind == "llama3")
      readLlama3();
    else if (kind == "yarn" || kind == "deepseek_yarn")
      readYarn();
    else if (kind != "default")
      refuseKind(kind);
    checkWholeHead();
    for (const std::string &key : block.unread())
      if (block.hasValue(key))
        block.fail(key, "found a key that no '" + kind + "' rotation has",
                   "only keys of that rotation");
    return result;
  }

private:
  /// `type` and `rope_type` are two spellings of one key.
  std::string readKind() {
    Field<std::string> type = block.text("type");
    Field<std::string> ropeType = block.text("rope_type");
    if (type.present() && ropeType.present() && type.value != ropeType.value)
      block.fail("rope_type",
                 "found rope_type '" + ropeType.value + "' and type '" +
                     type.value + "'",
                 "the same value in both");
    kindKey = ropeType.present() ? "rope_type" : "type";
    if (ropeType.present() || type.present())
      return ropeType.present() ? ropeType.value : type.value;
    if (typeRequired)
      block.fail("rope_type", "neither rope_type nor type is there",
                 "one of default, linear, llama3, yarn");
    return "default";
  }

  [[noreturn]] void refuseKind(const std::string &kind) {
    std::string found = "found the rotation '" + kind + "'";
    if (kind == "dynamic")
      block.fail(kindKey,
                 found + ", whose frequencies change with the length, so that "
                         "cached keys would mix tables",
                 "default, linear, llama3 or yarn");
    if (kind == "longrope" || kind == "su")
      block.fail(kindKey,
                 found + ", whose frequencies depend on the position (a short "
                         "and a long list)",
                 "default, linear, llama3 or yarn");
    block.fail(kindKey, found, "default, linear, llama3 or yarn");
  }

  void readLinear() {
    rotary().scaling = Rotary::Scaling::Linear;
    rotary().factor = block.requireNumber("factor", factorRange);
  }

  void readLlama3() {
    rotary().scaling = Rotary::Scaling::Llama3;
    rotary().factor = block.requireNumber("factor", factorRange);
    rotary().lowFreq = block.requireNumber("low_freq_factor", positiveRange);
    rotary().highFreq = block.requireNumber("high_freq_factor", positiveRange);
    rotary().original =
        block.requireNumber("original_max_position_embeddings", positiveRange);
    if (rotary().highFreq <= rotary().lowFreq)
      block.refuse("high_freq_factor",
                   "more than low_freq_factor " + showNumber(rotary().lowFreq));
  }

  void readYarn() {
    rotary().scaling = Rotary::Scaling::Yarn;
    rotary().factor = block.requireNumber("factor", factorRange);
    rotary().original =
        block.requireNumber("original_max_position_embeddings", positiveRange);
    rotary().betaFast = block.numberOr("beta_fast", 32, positiveRange);
    rotary().betaSlow = block.numberOr("beta_slow", 1, positiveRange);
    if (rotary().betaFast < rotary().betaSlow)
      block.refuse("beta_fast",
                   "at least beta_slow " + showNumber(rotary().betaSlow));
    rotary().truncate = block.booleanOr("truncate", true);
    Field<double> extrapolation =
        block.number("extrapolation_factor", positiveRange);
    if (extrapolation.present() && extrapolation.value != 1)
      block.refuse("extrapolation_factor", "1, the only one supported");
    readAmplitude();
    checkLength();
  }

  void readAmplitude() {
    if (family.amplitude == YarnAmplitude::Constant)
      return checkAmplitude();
    double factor = rotary().factor;
    Field<double> mscale = block.number("mscale", anyMscale);
    Field<double> allDim = block.number("mscale_all_dim", anyMscale);
    if (family.amplitude == YarnAmplitude::Softmax) {
      double all = yarnMscale(factor, allDim.present() ? allDim.value : 0);
      rotary().amplitude =
          yarnMscale(factor, mscale.present() ? mscale.value : 1) / all;
      result.settings.softmaxScale = all * all;
    } else if (mscale.value != 0 && allDim.value != 0) {
      rotary().amplitude =
          yarnMscale(factor, mscale.value) / yarnMscale(factor, allDim.value);
    } else {
      rotary().amplitude = yarnMscale(factor, 1);
    }
    Field<double> fixed = block.number("attention_factor", positiveRange);
    Field<double> multiplier = block.number("attn_factor", positiveRange);
    if (fixed.present() && multiplier.present())
      block.fail("attn_factor", "found both attn_factor and attention_factor",
                 "one of them");
    if (fixed.present())
      rotary().amplitude = fixed.value;
    if (multiplier.present()) {
      double own = rotary().amplitude;
      rotary().amplitude = own * multiplier.value;
      block.config().warnings.push_back(
          joinPointer(block.pointer(), "attn_factor") + " " +
          showNumber(multiplier.value) + " multiplies YaRN's amplitude " +
          showNumber(own) + ": cos and sin are scaled by " +
          showNumber(rotary().amplitude) + "; some runtimes ignore this key");
    }
  }

  /// Writers that know the general rule state the exception.
  void checkAmplitude() {
    for (const char *key : {"attention_factor", "attn_factor"}) {
      Field<double> field = block.number(key, positiveRange);
      if (field.present() && field.value != 1)
        block.refuse(key, "1: these models do not scale cos and sin");
    }
  }

  /// The written factor counts, whatever the lengths say.
  void checkLength() {
    double reached = rotary().factor * rotary().original;
    int64_t longest = block.config().maxPositions;
    if (longest && reached != double(longest) &&
        double(longest) != rotary().original)
      block.config().warnings.push_back(
          joinPointer(block.pointer(), "factor") + " " +
          showNumber(rotary().factor) +
          " times original_max_position_embeddings " +
          showNumber(rotary().original) + " is not max_position_embeddings " +
          std::to_string(longest) + "; the factor is used as written");
  }

  void checkWholeHead() {
    Field<double> partial = block.number("partial_rotary_factor", anyMscale);
    if (!partial.present() || std::fabs(partial.value - family.partial) < 1e-9)
      return;
    block.refuse("partial_rotary_factor",
                 family.partial == 1 ? "1, a rotation of the whole head"
                                     : showNumber(family.partial) +
                                           ", the rotated part of a head");
  }

  Rotary &rotary() { return result.settings.rotary; }

  ConfigObject &block;
  const RopeFamily &family;
  bool typeRequired;
  const char *kindKey = "rope_type";
  RopeBlock result;
};

/// All blocks of one root key.
struct RopeKey {
  std::string key;
  std::optional<RopeBlock> flat;
  std::map<std::string, RopeBlock> nested;

  bool given() const { return flat || !nested.empty(); }
};

/// Whether `key` names a block of its own: by the family's labels, or by layer
/// type.
bool namesBlock(const RopeFamily &family, const std::string &key) {
  if (!family.labels.empty())
    return std::any_of(
        family.labels.begin(), family.labels.end(),
        [&](const RopeLabel &label) { return key == label.name; });
  static const std::string suffix = "_attention";
  return key.size() > suffix.size() &&
         key.compare(key.size() - suffix.size(), suffix.size(), suffix) == 0;
}

RopeKey readKey(ConfigObject &root, const char *key, const RopeFamily &family,
                bool typeRequired) {
  RopeKey result;
  result.key = key;
  const JsonNode *node = root.get(key);
  if (!node || node->kind == JsonNode::Kind::Null)
    return result;
  std::string pointer = joinPointer(root.pointer(), key);
  ConfigObject block(*node, root.file(), pointer, root.config());
  bool nested = !node->keys.empty();
  for (size_t i = 0; i < node->keys.size(); ++i)
    nested &= namesBlock(family, node->keys[i]) &&
              node->elements[i].kind == JsonNode::Kind::Object;
  if (!nested) {
    result.flat = BlockReader(block, family, typeRequired).read();
    return result;
  }
  for (size_t i = 0; i < node->keys.size(); ++i) {
    ConfigObject inner(node->elements[i], root.file(),
                       joinPointer(pointer, node->keys[i]), root.config());
    result.nested[node->keys[i]] =
        BlockReader(inner, family, typeRequired).read();
  }
  return result;
}

bool sameRotary(const Rotary &a, const Rotary &b) {
  return a.scaling == b.scaling && a.factor == b.factor &&
         a.original == b.original && a.lowFreq == b.lowFreq &&
         a.highFreq == b.highFreq && a.betaFast == b.betaFast &&
         a.betaSlow == b.betaSlow && a.truncate == b.truncate &&
         a.amplitude == b.amplitude;
}

/// A root key with a base, and what it says.
struct ThetaKey {
  const char *key;
  Field<double> theta;
};

ThetaKey readTheta(ConfigObject &root, const char *key) {
  Field<double> theta = root.number(key, positiveRange);
  if (theta.null())
    root.refuse(key, "a finite positive number");
  return {key, theta};
}

/// The base: the block's, or the root's, which may not contradict it. Without
/// a fallback one of them must be there.
void resolveTheta(ConfigObject &root, RopeBlock &block, const ThetaKey &own,
                  std::optional<double> fallback, bool mayDiffer) {
  if (block.theta.present() && own.theta.present() && !mayDiffer &&
      block.theta.value != own.theta.value)
    root.fail(own.key,
              "found " + showNumber(own.theta.value) + " here and " +
                  showNumber(block.theta.value) + " in the rotary block",
              "the same value in both");
  double &theta = block.settings.rotary.theta;
  if (block.theta.present()) {
    theta = block.theta.value;
  } else if (own.theta.present()) {
    theta = own.theta.value;
  } else if (fallback) {
    theta = *fallback;
    root.noteDefault(own.key, theta);
  } else {
    root.refuse(own.key, "the base of the layers that compress");
  }
}

} // namespace

RopeTable readRope(ConfigObject &root, const RopeFamily &family) {
  ThetaKey theta = readTheta(root, "rope_theta");
  RopeKey scaling = readKey(root, "rope_scaling", family, true);
  RopeKey parameters = readKey(root, "rope_parameters", family, false);
  if (scaling.given() && parameters.given()) {
    bool same =
        scaling.flat && parameters.flat &&
        sameRotary(scaling.flat->settings.rotary,
                   parameters.flat->settings.rotary) &&
        (!scaling.flat->theta.present() || !parameters.flat->theta.present() ||
         scaling.flat->theta.value == parameters.flat->theta.value);
    if (!same)
      root.fail("rope_parameters", "found other settings than in rope_scaling",
                "one of the two, or the same in both");
  }
  RopeKey &key = parameters.given() ? parameters : scaling;
  if (key.nested.empty()) {
    RopeBlock block = key.flat.value_or(RopeBlock{});
    block.settings.rotary.dims = family.dims;
    resolveTheta(root, block, theta, family.theta, false);
    return RopeTable(block.settings);
  }
  std::map<std::string, RopeSettings> byType;
  for (auto &[type, block] : key.nested) {
    // The root's base is that of layers whose block has none.
    if (family.labels.empty())
      resolveTheta(root, block, theta, family.theta, true);
    byType[type] = block.settings;
  }
  for (const RopeLabel &label : family.labels) {
    auto block = key.nested.find(label.name);
    if (block == key.nested.end())
      continue;
    bool first = &label == &family.labels.front();
    resolveTheta(root, block->second, readTheta(root, label.thetaKey),
                 first ? std::optional<double>(family.theta) : std::nullopt,
                 false);
    byType[label.name] = block->second.settings;
  }
  return RopeTable(key.key, std::move(byType));
}

RatioRopes readRatioRopes(ConfigObject &root, RopeFamily family,
                          bool compresses) {
  const char *baseKey = "compress_rope_theta";
  family.labels = {{"main", "rope_theta"}, {"compress", baseKey}};
  RopeTable table = readRope(root, family);
  Field<double> base = root.number(baseKey, positiveRange);
  RatioRopes ropes;
  ropes.plain = table.of(root, 0, "main");
  ropes.compressed = table.of(root, 0, "compress");
  if (table.nested())
    return ropes;
  Rotary unscaled;
  unscaled.dims = family.dims;
  unscaled.theta = ropes.plain.rotary.theta;
  ropes.plain.rotary = unscaled;
  if (compresses && !base.present())
    root.refuse(baseKey, "the base of the layers that compress");
  ropes.compressed.rotary.theta = base.value;
  return ropes;
}

} // namespace attnc
