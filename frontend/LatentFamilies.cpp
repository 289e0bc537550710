//===- LatentFamilies.cpp - keys and values from one latent
//----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// DeepSeek V2 and V3, in two spellings of one model. In the Hugging Face one an
// absent query rank means the family's 1536 and null means none; in the
// inference one 0 means none.
//
//===----------------------------------------------------------------------===//

#include "frontend/Families.h"
#include "frontend/RopeSettings.h"

#include <cmath>

namespace attnc {

namespace {

struct LatentShape {
  int64_t layers = 0, hidden = 0, heads = 0;
  int64_t queryRank = 0; ///< 0: the query is projected directly
  int64_t rank = 0, nope = 0, rope = 0, value = 0;
  bool biases = false;
  bool interleaved = true;
  double eps = 0;
  RopeSettings rotation;
};

/// Whatever rms_norm_eps says: the models' code fixes it for the latents.
constexpr double latentEps = 1e-6;

LayerDesc makeLayer(const LatentShape &shape, int64_t index) {
  std::string base = "model.layers." + std::to_string(index) + ".";
  std::string attention = base + "self_attn.";
  int64_t queryWidth = shape.nope + shape.rope;
  auto project = [&](const char *name, int64_t in, int64_t out, bool bias) {
    return ProjectionDesc{attention + name + ".weight",
                          bias ? attention + name + ".bias" : "", in, out};
  };
  auto latentNorm = [&](const char *name, int64_t width) {
    return NormDesc{attention + name + ".weight", width, latentEps, 0};
  };
  RopeDesc rope{shape.rotation.rotary, shape.interleaved};

  LayerDesc layer;
  layer.inputNorm = {base + "input_layernorm.weight", shape.hidden, shape.eps,
                     0};
  layer.heads = shape.heads;
  layer.valueWidth = shape.value;
  layer.query.width = queryWidth;
  layer.query.rope = rope;
  if (shape.queryRank) {
    layer.query.down =
        project("q_a_proj", shape.hidden, shape.queryRank, shape.biases);
    layer.query.downNorm = latentNorm("q_a_layernorm", shape.queryRank);
    layer.query.up =
        project("q_b_proj", shape.queryRank, shape.heads * queryWidth, false);
  } else {
    layer.query.up =
        project("q_proj", shape.hidden, shape.heads * queryWidth, false);
  }
  LatentSource source;
  source.heads = shape.heads;
  source.rank = shape.rank;
  source.keyWidth = shape.nope;
  source.valueWidth = shape.value;
  source.down = project("kv_a_proj_with_mqa", shape.hidden,
                        shape.rank + shape.rope, shape.biases);
  source.norm = latentNorm("kv_a_layernorm", shape.rank);
  source.up = project("kv_b_proj", shape.rank,
                      shape.heads * (shape.nope + shape.value), false);
  source.rope = rope;
  SourceDesc visible;
  visible.latent = source;
  layer.sources.push_back(visible);
  layer.scale = shape.rotation.softmaxScale / std::sqrt(double(queryWidth));
  layer.output =
      project("o_proj", shape.heads * shape.value, shape.hidden, shape.biases);
  layer.feedForward = base + "mlp";
  return layer;
}

void makeLayers(ConfigObject &root, const LatentShape &shape) {
  root.config().hidden = shape.hidden;
  for (int64_t i = 0; i < shape.layers; ++i)
    root.config().layers.push_back(makeLayer(shape, i));
}

void readWidths(ConfigObject &root, const char *headsKey, LatentShape &shape) {
  shape.rank = root.integerOr("kv_lora_rank", 512, channelRange);
  shape.nope = root.integerOr("qk_nope_head_dim", 128, channelRange);
  shape.rope = root.integerOr("qk_rope_head_dim", 64, channelRange);
  shape.value = root.integerOr("v_head_dim", 128, channelRange);
  if (shape.rope % 2)
    root.refuse("qk_rope_head_dim", "an even number");
  checkProduct(root, headsKey, shape.heads, "qk_nope_head_dim",
               shape.nope + shape.rope + shape.value);
}

/// A key that newer writers add and that other keys determine.
void checkDerived(ConfigObject &root, const char *key, int64_t value,
                  const std::string &meaning) {
  Field<int64_t> field = root.integer(key, channelRange);
  if (field.present() && field.value != value)
    root.fail(key, "found " + std::to_string(field.value),
              std::to_string(value) + ", " + meaning);
}

void noteDraftLayers(ConfigObject &root, const char *key) {
  Field<int64_t> drafts = root.integer(key, {0, 1 << 20});
  if (drafts.present() && drafts.value)
    root.config().notes.push_back(joinPointer(root.pointer(), key) + ": " +
                                  std::to_string(drafts.value) +
                                  " draft layer(s), not planned");
}

} // namespace

void readLatent(ConfigObject &root) {
  LatentShape shape;
  readMaxPositions(root, "max_position_embeddings");
  shape.layers = readLayerCount(root, "num_hidden_layers");
  shape.hidden = root.require("hidden_size", channelRange);
  shape.heads = root.require("num_attention_heads", channelRange);
  checkDerived(root, "num_key_value_heads", shape.heads,
               "num_attention_heads, as every head has its own keys");
  Field<int64_t> queryRank = root.integer("q_lora_rank", channelRange);
  shape.queryRank = queryRank.value;
  if (queryRank.absent()) {
    shape.queryRank = 1536;
    root.noteDefault("q_lora_rank", double(shape.queryRank));
  }
  readWidths(root, "num_attention_heads", shape);
  checkDerived(root, "head_dim", shape.rope, "qk_rope_head_dim");
  checkDerived(root, "qk_head_dim", shape.nope + shape.rope,
               "qk_nope_head_dim + qk_rope_head_dim");
  shape.biases = root.booleanOr("attention_bias", false);
  shape.interleaved = root.booleanOr("rope_interleave", true);
  shape.eps = root.numberOr("rms_norm_eps", 1e-6, positiveRange);
  shape.rotation =
      readRope(root, {shape.rope, 10000, true}).of(root, 0, "full_attention");
  noteDraftLayers(root, "num_nextn_predict_layers");
  makeLayers(root, shape);
}

void readInferenceLatent(ConfigObject &root) {
  LatentShape shape;
  readMaxPositions(root, "max_seq_len");
  shape.layers = readLayerCount(root, "n_layers");
  shape.hidden = root.require("dim", channelRange);
  shape.heads = root.require("n_heads", channelRange);
  shape.queryRank = root.integerOr("q_lora_rank", 0, {0, channelRange.max});
  readWidths(root, "n_heads", shape);
  shape.eps = root.numberOr("norm_eps", 1e-6, positiveRange);

  Rotary &rotary = shape.rotation.rotary;
  rotary.dims = shape.rope;
  rotary.theta = root.numberOr("rope_theta", 10000, positiveRange);
  rotary.original = root.numberOr("original_seq_len", 4096, positiveRange);
  rotary.factor = root.numberOr("rope_factor", 40, {1, positiveRange.max});
  rotary.betaFast = root.numberOr("beta_fast", 32, positiveRange);
  rotary.betaSlow = root.numberOr("beta_slow", 1, positiveRange);
  double mscale = root.numberOr("mscale", 1, {0, positiveRange.max});
  int64_t longest = root.config().maxPositions;
  if (!longest) {
    longest = 16384;
    root.noteDefault("max_seq_len", double(longest));
  }
  // The models' code turns YaRN on only for lengths beyond the original one.
  if (double(longest) > rotary.original) {
    rotary.scaling = Rotary::Scaling::Yarn;
    double m = yarnMscale(rotary.factor, mscale);
    shape.rotation.softmaxScale = m * m;
  }
  noteDraftLayers(root, "n_mtp_layers");
  makeLayers(root, shape);
}

} // namespace attnc
