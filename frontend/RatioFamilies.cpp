//===- RatioFamilies.cpp - windows beside compressed entries --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// DeepSeek V4 and V4.1. A layer attends to a window of its own tokens and, by
// its compression ratio, to entries that stand for several of them each: its
// own (V4) or those of an earlier layer (V4.1). A vector is key and value at
// once, so the output is rotated back. Two spellings of each.
//
//===----------------------------------------------------------------------===//

#include "frontend/Families.h"
#include "frontend/RopeSettings.h"
#include "frontend/SourceLists.h"

#include <algorithm>
#include <cmath>

namespace attnc {

struct RatioSpelling {
  const char *layers, *hidden, *heads, *rope, *eps, *window, *positions;
  const char *drafts;
  SourceKeys sources;
  bool inference;
};

const RatioSpelling huggingFaceRatios = {"num_hidden_layers",
                                         "hidden_size",
                                         "num_attention_heads",
                                         "qk_rope_head_dim",
                                         "rms_norm_eps",
                                         "sliding_window",
                                         "max_position_embeddings",
                                         "num_nextn_predict_layers",
                                         {"kv_source_layer_ids",
                                          "index_source_layer_ids",
                                          "candidate_source_layer_id"},
                                         false};

const RatioSpelling inferenceRatios = {
    "n_layers",
    "dim",
    "n_heads",
    "rope_head_dim",
    "norm_eps",
    "window_size",
    "max_seq_len",
    "n_mtp_layers",
    {"kv_source_layers", "index_source_layers", "candidate_source_layer"},
    true};

namespace {

/// V4's rule: layers of this ratio overlap their blocks and have an index; all
/// other entries are seen by everyone.
constexpr int64_t indexedRatio = 4;

/// How a family was trained to keep its vectors.
struct RatioFormats {
  RowFormats window, entries;
};

/// V4 keeps the rotated channels apart, V4.1 rounds whole vectors. Blocks are
/// never longer than what they scale.
RatioFormats ownFormats(int64_t width, int64_t rope) {
  Format plain{Elem::E4M3, std::min<int64_t>(64, width - rope), Scale::E8M0};
  RowFormats row{plain, {Elem::BF16}};
  return {row, row};
}
RatioFormats sharedFormats(int64_t width) {
  Format window{Elem::E4M3, std::min<int64_t>(32, width), Scale::E8M0};
  Format entry{Elem::E2M1, std::min<int64_t>(16, width), Scale::E4M3};
  return {{window, window}, {entry, entry}};
}

struct RatioShape {
  int64_t hidden = 0, heads = 0, width = 0;
  int64_t queryRank = 0;
  int64_t groups = 0, groupRank = 0;
  int64_t window = 0;
  double eps = 0;
  std::vector<int64_t> ratios; ///< of the model's layers
  RatioRopes ropes;
  RatioFormats formats;
  int64_t indexHeads = 0, indexWidth = 0, picks = 0;
};

class ShapeReader {
public:
  ShapeReader(ConfigObject &root, const RatioSpelling &spelling, double eps)
      : root(root), spelling(spelling), defaultEps(eps) {}

  RatioShape read() {
    readMaxPositions(root, spelling.positions);
    int64_t layers = readLayerCount(root, spelling.layers);
    readWidths();
    readOutput();
    readRatios(layers);
    readWindow();
    shape.eps = root.numberOr(spelling.eps, defaultEps, positiveRange);
    if (spelling.inference)
      readInferenceRopes();
    else
      readRopes();
    noteDraftLayers(root, spelling.drafts);
    noteDraftStages();
    root.config().hidden = shape.hidden;
    return std::move(shape);
  }

private:
  void readWidths() {
    shape.hidden = root.require(spelling.hidden, channelRange);
    shape.heads = root.require(spelling.heads, channelRange);
    shape.width = root.require("head_dim", channelRange);
    shape.queryRank = root.require("q_lora_rank", channelRange);
    rope = root.require(spelling.rope, channelRange);
    if (rope % 2 || rope > shape.width)
      root.refuse(spelling.rope, "an even number up to head_dim " +
                                     std::to_string(shape.width));
    checkProduct(root, spelling.heads, shape.heads, "head_dim", shape.width);
    if (spelling.inference)
      return;
    checkDerived(root, "num_key_value_heads", 1,
                 "as all heads share one vector");
    if (root.booleanOr("attention_bias", false))
      root.refuse("attention_bias", "false: these models have no biases");
  }

  void readOutput() {
    shape.groups = root.require("o_groups", channelRange);
    shape.groupRank = root.require("o_lora_rank", channelRange);
    if (shape.heads % shape.groups)
      root.refuse("o_groups", std::string("a divisor of ") + spelling.heads +
                                  " " + std::to_string(shape.heads));
    checkProduct(root, "o_groups", shape.groups, "o_lora_rank",
                 shape.groupRank);
  }

  void readRatios(int64_t layers) {
    const char *key = "compress_ratios";
    std::vector<int64_t> all = root.requireIntegers(key, {0, 1 << 16});
    int64_t count = all.size();
    if (count < layers)
      root.fail(key,
                "found " + std::to_string(count) + " ratios for " +
                    std::to_string(layers) + " layers",
                "one for each layer, and perhaps for draft layers after them");
    if (count > layers)
      root.config().notes.push_back(
          joinPointer(root.pointer(), key) + ": " +
          std::to_string(count - layers) + " ratio(s) after those of the " +
          std::to_string(layers) + " layers, of draft layers, not planned");
    shape.ratios.assign(all.begin(), all.begin() + layers);
  }

  /// A window that holds every position never slides.
  void readWindow() {
    shape.window =
        root.require(spelling.window, {1, std::numeric_limits<int32_t>::max()});
    int64_t longest = root.config().maxPositions;
    if (!longest || shape.window < longest)
      return;
    root.config().notes.push_back(joinPointer(root.pointer(), spelling.window) +
                                  " " + std::to_string(shape.window) +
                                  " never slides within " + spelling.positions +
                                  " " + std::to_string(longest) +
                                  ": full attention");
    shape.window = 0;
  }

  bool compresses() const {
    return std::any_of(shape.ratios.begin(), shape.ratios.end(),
                       [](int64_t ratio) { return ratio > 0; });
  }

  void readRopes() {
    RopeFamily family;
    family.dims = rope;
    family.amplitude = YarnAmplitude::Constant;
    family.partial = double(rope) / double(shape.width);
    shape.ropes = readRatioRopes(root, family, compresses());
  }

  /// Nothing has a default: those in the models' code are not the released
  /// ones.
  void readInferenceRopes() {
    Rotary &plain = shape.ropes.plain.rotary;
    plain.dims = rope;
    plain.theta = root.requireNumber("rope_theta", positiveRange);
    Rotary &scaled = shape.ropes.compressed.rotary;
    scaled.dims = rope;
    for (const char *key : {"compress_rope_theta", "original_seq_len",
                            "rope_factor", "beta_fast", "beta_slow"})
      if (!compresses())
        root.get(key);
    if (!compresses())
      return;
    scaled.theta = root.requireNumber("compress_rope_theta", positiveRange);
    double original =
        root.requireNumber("original_seq_len", {0, positiveRange.max});
    double factor = root.requireNumber("rope_factor", {1, positiveRange.max});
    double fast = root.requireNumber("beta_fast", positiveRange);
    double slow = root.requireNumber("beta_slow", positiveRange);
    if (fast < slow)
      root.refuse("beta_fast", "at least beta_slow " + showNumber(slow));
    if (original == 0)
      return;
    scaled.scaling = Rotary::Scaling::Yarn;
    scaled.original = original;
    scaled.factor = factor;
    scaled.betaFast = fast;
    scaled.betaSlow = slow;
  }

  void noteDraftStages() {
    bool any = false;
    for (const char *key :
         {"dspark_block_size", "dspark_noise_token_id",
          "dspark_target_layer_ids", "dspark_markov_rank",
          "dspark_n_routed_experts", "dspark_num_experts_per_tok",
          "dspark_n_activated_experts"})
      any |= root.get(key) != nullptr;
    if (any)
      root.config().notes.push_back(
          joinPointer(root.pointer(), "dspark_block_size") +
          ": DSpark draft stages, not planned");
  }

  ConfigObject &root;
  const RatioSpelling &spelling;
  double defaultEps;
  int64_t rope = 0;
  RatioShape shape;
};

void readIndexShape(ConfigObject &root, const RatioSpelling &spelling,
                    bool needed, bool hadamard, RatioShape &shape) {
  if (!needed) {
    for (const char *key : {"index_n_heads", "index_head_dim", "index_topk"})
      root.get(key);
    return;
  }
  shape.indexHeads = root.require("index_n_heads", channelRange);
  shape.indexWidth = root.require("index_head_dim", channelRange);
  shape.picks = root.require("index_topk", channelRange);
  checkProduct(root, "index_n_heads", shape.indexHeads, "index_head_dim",
               shape.indexWidth);
  checkIndexWidth(root, shape.indexWidth, spelling.rope,
                  shape.ropes.plain.rotary.dims, hadamard);
}

/// Describes the layers of one shape, part by part.
class RatioLayers {
public:
  explicit RatioLayers(const RatioShape &shape) : shape(shape) {}

  /// A layer that attends to its window.
  LayerDesc make(int64_t index, bool normsQuery) const {
    std::string base = name(index), attention = base + "attn.";
    LayerDesc layer;
    layer.inputNorm = norm(base + "attn_norm", shape.hidden);
    layer.heads = shape.heads;
    layer.valueWidth = shape.width;
    QueryDesc &query = layer.query;
    query.width = shape.width;
    query.down = project(attention + "wq_a", shape.hidden, shape.queryRank);
    query.downNorm = norm(attention + "q_norm", shape.queryRank);
    query.up =
        project(attention + "wq_b", shape.queryRank, shape.heads * shape.width);
    if (normsQuery)
      query.headNorm = NormDesc{"", shape.width, shape.eps, 0};
    query.rope = rope(index);
    SourceDesc window;
    window.vector =
        VectorSource{project(attention + "wkv", shape.hidden, shape.width),
                     norm(attention + "kv_norm", shape.width), rope(index),
                     shape.formats.window};
    window.window = shape.window;
    layer.sources.push_back(window);
    layer.scale = 1 / std::sqrt(double(shape.width));
    layer.sink = attention + "attn_sink";
    layer.outputRope = rope(index);
    int64_t rows = shape.groups * shape.groupRank;
    layer.outputGroups = GroupedProjection{
        project(attention + "wo_a", shape.heads / shape.groups * shape.width,
                rows),
        shape.groups};
    layer.output = project(attention + "wo_b", rows, shape.hidden);
    layer.feedForward = base + "ffn";
    return layer;
  }

  /// The pool `prefix` of layer `index`. `bias`: the gates have one.
  PoolDesc pool(int64_t index, const std::string &prefix, int64_t width,
                bool overlap, bool gated, bool bias) const {
    std::string base = name(index) + "attn." + prefix + "compressor.";
    PoolDesc pool;
    pool.every = shape.ratios[index];
    pool.width = width;
    pool.overlap = overlap;
    int64_t channels = overlap ? 2 * width : width;
    pool.values = project(base + "wkv", shape.hidden, channels);
    if (gated)
      pool.gates = project(base + "wgate", shape.hidden, channels);
    if (bias)
      pool.bias = base + "ape";
    pool.norm = norm(base + "norm", width);
    return pool;
  }

  /// The index of layer `index`, without keys.
  IndexDesc select(int64_t index, bool hadamard) const {
    std::string base = name(index) + "attn.indexer.";
    IndexDesc desc;
    desc.heads = shape.indexHeads;
    desc.width = shape.indexWidth;
    desc.picks = shape.picks;
    desc.query = project(base + "wq_b", shape.queryRank,
                         shape.indexHeads * shape.indexWidth);
    desc.weights =
        project(base + "weights_proj", shape.hidden, shape.indexHeads);
    desc.rope = rope(index);
    desc.hadamard = hadamard;
    desc.format = {Elem::E2M1, std::min<int64_t>(32, desc.width), Scale::E8M0};
    desc.scale =
        1 / std::sqrt(double(shape.indexHeads) * double(shape.indexWidth));
    return desc;
  }

  /// Index keys projected from the layer's own entries.
  IndexKeyDesc keyOfEntries(int64_t index) const {
    std::string base = name(index) + "attn.indexer.";
    IndexKeyDesc key;
    key.down = project(base + "wk", shape.width, shape.indexWidth);
    key.ofEntries = true;
    key.norm = norm(base + "k_norm", shape.indexWidth);
    key.rope = rope(index);
    return key;
  }

  /// The rotation of everything in a layer.
  RopeDesc rope(int64_t index) const {
    const RopeSettings &settings =
        shape.ratios[index] ? shape.ropes.compressed : shape.ropes.plain;
    return {settings.rotary, /*interleaved=*/true, /*first=*/false};
  }

private:
  static std::string name(int64_t index) {
    return "layers." + std::to_string(index) + ".";
  }
  NormDesc norm(const std::string &name, int64_t width) const {
    return {name + ".weight", width, shape.eps, 0};
  }
  static ProjectionDesc project(const std::string &name, int64_t in,
                                int64_t out) {
    return {name + ".weight", "", in, out};
  }

  const RatioShape &shape;
};

} // namespace

void readOwnEntries(ConfigObject &root, const RatioSpelling &spelling) {
  RatioShape shape = ShapeReader(root, spelling, 1e-6).read();
  bool indexed =
      std::count(shape.ratios.begin(), shape.ratios.end(), indexedRatio) > 0;
  readIndexShape(root, spelling, indexed, /*hadamard=*/true, shape);
  shape.formats = ownFormats(shape.width, shape.ropes.plain.rotary.dims);
  RatioLayers maker(shape);
  for (size_t i = 0; i < shape.ratios.size(); ++i) {
    LayerDesc layer = maker.make(i, /*normsQuery=*/true);
    int64_t ratio = shape.ratios[i];
    bool overlap = ratio == indexedRatio;
    if (ratio) {
      SourceDesc source;
      source.entries =
          EntrySource{maker.pool(i, "", shape.width, overlap, /*gated=*/true,
                                 /*bias=*/true),
                      int64_t(i), maker.rope(i), shape.formats.entries};
      if (overlap) {
        layer.index = maker.select(i, /*hadamard=*/true);
        IndexKeyDesc key;
        key.pool = maker.pool(i, "indexer.", shape.indexWidth, overlap,
                              /*gated=*/true, /*bias=*/true);
        key.rope = maker.rope(i);
        layer.index->key = key;
        layer.index->keyLayer = i;
        source.selectedBy = i;
      }
      layer.sources.push_back(source);
    }
    root.config().layers.push_back(std::move(layer));
  }
}

void readSharedEntries(ConfigObject &root, const RatioSpelling &spelling) {
  RatioShape shape = ShapeReader(root, spelling, 1e-20).read();
  readIndexShape(root, spelling, /*needed=*/true, /*hadamard=*/false, shape);
  SourceLists lists =
      readSourceLists(root, spelling.sources, shape.ratios, shape.picks);
  shape.formats = sharedFormats(shape.width);
  RatioLayers maker(shape);
  for (size_t i = 0; i < shape.ratios.size(); ++i) {
    LayerDesc layer = maker.make(i, /*normsQuery=*/false);
    const LayerSources &sources = lists.layers[i];
    int64_t self = i;
    if (sources.entries >= 0) {
      SourceDesc source;
      source.entries = EntrySource{
          {}, sources.entries, maker.rope(i), shape.formats.entries};
      if (sources.entries == self)
        source.entries->pool =
            maker.pool(i, "", shape.width, /*overlap=*/false,
                       /*gated=*/shape.ratios[i] > 1, /*bias=*/false);
      source.selectedBy = sources.index;
      layer.sources.push_back(source);
    }
    if (sources.index == self) {
      layer.index = maker.select(i, /*hadamard=*/false);
      if (sources.entries == self)
        layer.index->key = maker.keyOfEntries(i);
      layer.index->keyLayer = sources.entries;
      if (lists.candidateLayer == self)
        layer.index->candidates = lists.candidates;
      layer.index->within = sources.within;
    }
    root.config().layers.push_back(std::move(layer));
  }
}

} // namespace attnc
