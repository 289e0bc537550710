//===- LatentFamilies.cpp - keys and values from one latent
//----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// DeepSeek V2, V3 and V3.2, in two spellings of one model. In the Hugging Face
// one an absent query rank means the family's 1536 and null means none; in the
// inference one 0 means none. V3.2 is V3 whose layers see what an index picks.
//
//===----------------------------------------------------------------------===//

#include "frontend/Families.h"
#include "frontend/RopeSettings.h"

#include <algorithm>
#include <cmath>

namespace attnc {

namespace {

/// The index of every layer; no picks: there is none.
struct IndexShape {
  int64_t heads = 0, width = 0, picks = 0;
  bool interleaved = false;
};

struct LatentShape {
  int64_t layers = 0, hidden = 0, heads = 0;
  int64_t queryRank = 0; ///< 0: the query is projected directly
  int64_t rank = 0, nope = 0, rope = 0, value = 0;
  bool biases = false;
  bool interleaved = true;
  double eps = 0;
  RopeSettings rotation;
  IndexShape index;
};

/// Whatever rms_norm_eps says: the models' code fixes it for the latents and
/// for the index.
constexpr double latentEps = 1e-6;

/// FP8 with one power of two for up to 128 channels, kept as f32.
Format latentFormat(int64_t channels) {
  return {Elem::E4M3, std::min<int64_t>(128, channels), Scale::F32};
}

/// Queries and keys rotate their first channels, with the pairing of the
/// published correction; both are then mixed.
IndexDesc makeIndex(const LatentShape &shape, const std::string &attention,
                    int64_t layer) {
  const IndexShape &index = shape.index;
  std::string base = attention + "indexer.";
  IndexDesc desc;
  desc.heads = index.heads;
  desc.width = index.width;
  desc.picks = index.picks;
  desc.query = {base + "wq_b.weight", "", shape.queryRank,
                index.heads * index.width};
  desc.weights = {base + "weights_proj.weight", "", shape.hidden, index.heads};
  desc.rope = {shape.rotation.rotary, index.interleaved, /*first=*/true};
  desc.hadamard = true;
  desc.format = latentFormat(index.width);
  desc.scale = 1 / std::sqrt(double(index.heads) * double(index.width));
  IndexKeyDesc key;
  key.down = ProjectionDesc{base + "wk.weight", "", shape.hidden, index.width};
  key.layerNorm = LayerNormDesc{base + "k_norm.weight", base + "k_norm.bias",
                                index.width, latentEps};
  key.rope = desc.rope;
  desc.key = key;
  desc.keyLayer = layer;
  return desc;
}

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
  RopeDesc rope{shape.rotation.rotary, shape.interleaved, false};

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
  if (shape.index.picks) {
    // V3.2 was trained to keep latents and index keys in FP8; V3 was not.
    source.formats = {latentFormat(shape.rank), {Elem::BF16}};
    layer.index = makeIndex(shape, attention, index);
    visible.selectedBy = index;
  }
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

/// `index_*`, of families whose layers select.
void readIndex(ConfigObject &root, LatentShape &shape) {
  if (!shape.queryRank)
    root.refuse("q_lora_rank",
                "a rank, as the index projects its queries from that latent");
  shape.index = {root.require("index_n_heads", channelRange),
                 root.require("index_head_dim", channelRange),
                 root.require("index_topk", channelRange)};
  int64_t width = shape.index.width;
  checkProduct(root, "index_n_heads", shape.index.heads, "index_head_dim",
               width);
  checkIndexWidth(root, width, "qk_rope_head_dim", shape.rope,
                  /*hadamard=*/true);
}

} // namespace

void readLatent(ConfigObject &root, bool selects) {
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
  shape.rotation = readRope(root, {shape.rope, 10000, YarnAmplitude::Softmax})
                       .of(root, 0, "full_attention");
  if (selects) {
    readIndex(root, shape);
    shape.index.interleaved = root.booleanOr("indexer_rope_interleave", false);
  }
  noteDraftLayers(root, "num_nextn_predict_layers");
  makeLayers(root, shape);
}

void readInferenceLatent(ConfigObject &root, bool selects) {
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
  if (selects)
    readIndex(root, shape);
  noteDraftLayers(root, "n_mtp_layers");
  makeLayers(root, shape);
}

} // namespace attnc
