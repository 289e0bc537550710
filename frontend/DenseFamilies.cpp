//===- DenseFamilies.cpp - keys and values projected per head
//--------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Llama and its relatives differ in defaults and in a few parts that a layer
// has or lacks. The table below says which; the reader after it knows no names.
//
//===----------------------------------------------------------------------===//

#include "frontend/Families.h"
#include "frontend/RopeSettings.h"
#include "frontend/Windows.h"

#include <cmath>

namespace attnc {

struct DenseFamily {
  const char *modelType;
  double ropeTheta = 10000;
  double eps = 1e-6;
  int64_t headDim = 0;       ///< absent head_dim; 0: hidden / heads
  int64_t keyValueHeads = 0; ///< absent num_key_value_heads; 0: heads
  bool biases = false;       ///< absent attention_bias
  bool normsHeads = false;   ///< RMS norm on each head of q and k
  double normOffset = 0;     ///< norms multiply by w + this
  bool normsOutput = false;  ///< the attention's output is normalised
  double queryScalar = 0;    ///< scale = scalar^-1/2; 0: head_dim^-1/2, no key
  double softCap = 0;        ///< absent attn_logit_softcapping; 0: no key
  bool sink = false;
  WindowFamily window{};
};

using Rule = WindowFamily::Rule;

static std::vector<DenseFamily> makeDenseFamilies() {
  DenseFamily llama{"llama"};
  DenseFamily mistral{"mistral"};
  mistral.window.rule = Rule::EveryLayer;
  DenseFamily qwen3{"qwen3"};
  qwen3.normsHeads = true;
  qwen3.window.rule = Rule::Switched;
  DenseFamily gemma2{"gemma2"};
  gemma2.headDim = 256;
  gemma2.keyValueHeads = 4;
  gemma2.normOffset = 1;
  gemma2.normsOutput = true;
  gemma2.queryScalar = 256;
  gemma2.softCap = 50;
  gemma2.window.rule = Rule::EvenLayers;
  gemma2.window.synonym = "sliding_window_size";
  DenseFamily gptOss{"gpt_oss"};
  gptOss.ropeTheta = 150000;
  gptOss.eps = 1e-5;
  gptOss.headDim = 64;
  gptOss.keyValueHeads = 8;
  gptOss.biases = true;
  gptOss.sink = true;
  gptOss.window.rule = Rule::EvenLayers;
  gptOss.window.window = 128;
  return {llama, mistral, qwen3, gemma2, gptOss};
}

static const std::vector<DenseFamily> &denseFamilies() {
  static const std::vector<DenseFamily> families = makeDenseFamilies();
  return families;
}

const DenseFamily *findDenseFamily(std::string_view modelType) {
  for (const DenseFamily &family : denseFamilies())
    if (modelType == family.modelType)
      return &family;
  return nullptr;
}

std::vector<std::string> denseModelTypes() {
  std::vector<std::string> types;
  for (const DenseFamily &family : denseFamilies())
    types.push_back(family.modelType);
  return types;
}

namespace {

/// What all layers of a dense model have in common.
struct DenseShape {
  int64_t hidden, heads, keyValueHeads, width;
  bool biases;
  double eps;
};

int64_t readKeyValueHeads(ConfigObject &root, const DenseFamily &family,
                          int64_t heads) {
  const char *key = "num_key_value_heads";
  Field<int64_t> field = root.integer(key, channelRange);
  int64_t count = heads;
  if (field.present()) {
    count = field.value;
  } else if (field.absent() && family.keyValueHeads) {
    count = family.keyValueHeads;
    root.noteDefault(key, double(count));
  } else if (field.null() && family.keyValueHeads) {
    root.refuse(key,
                "a divisor of num_attention_heads " + std::to_string(heads));
  }
  if (count > heads || heads % count)
    root.fail(key, "found " + std::to_string(count),
              "a divisor of num_attention_heads " + std::to_string(heads));
  return count;
}

int64_t readHeadDim(ConfigObject &root, const DenseFamily &family,
                    int64_t hidden, int64_t heads) {
  Field<int64_t> field = root.integer("head_dim", channelRange);
  int64_t width = field.value;
  if (field.absent() && family.headDim) {
    width = family.headDim;
    root.noteDefault("head_dim", double(width));
  } else if (field.null() && family.headDim) {
    root.refuse("head_dim", "a positive even integer");
  } else if (!field.present()) {
    if (hidden % heads)
      root.fail("hidden_size",
                "found " + std::to_string(hidden) + " without a head_dim",
                "a multiple of num_attention_heads " + std::to_string(heads));
    width = hidden / heads;
  }
  if (width % 2)
    root.fail(field.present() ? "head_dim" : "hidden_size",
              "found heads of " + std::to_string(width) + " channels",
              "an even number, as a rotation pairs them");
  return width;
}

DenseShape readShape(ConfigObject &root, const DenseFamily &family) {
  DenseShape shape;
  shape.hidden = root.require("hidden_size", channelRange);
  shape.heads = root.require("num_attention_heads", channelRange);
  shape.keyValueHeads = readKeyValueHeads(root, family, shape.heads);
  shape.width = readHeadDim(root, family, shape.hidden, shape.heads);
  checkProduct(root, "num_attention_heads", shape.heads, "head_dim",
               shape.width);
  Field<bool> biases = root.boolean("attention_bias");
  shape.biases = biases.present() ? biases.value : family.biases;
  shape.eps = root.numberOr("rms_norm_eps", family.eps, positiveRange);
  return shape;
}

class DenseLayers {
public:
  DenseLayers(const DenseFamily &family, const DenseShape &shape)
      : family(family), shape(shape) {}

  LayerDesc make(int64_t index, const RopeSettings &rope, int64_t window,
                 double scale, std::optional<double> softCap) const {
    std::string base = "model.layers." + std::to_string(index) + ".";
    std::string attention = base + "self_attn.";
    LayerDesc layer;
    layer.inputNorm = norm(base + "input_layernorm", shape.hidden);
    layer.heads = shape.heads;
    layer.valueWidth = shape.width;
    layer.query.width = shape.width;
    layer.query.up = projection(attention + "q_proj", shape.hidden,
                                shape.heads * shape.width);
    layer.query.rope = {rope.rotary, false};
    ProjectedSource source;
    source.heads = shape.keyValueHeads;
    source.width = shape.width;
    int64_t rows = shape.keyValueHeads * shape.width;
    source.key = projection(attention + "k_proj", shape.hidden, rows);
    source.value = projection(attention + "v_proj", shape.hidden, rows);
    source.rope = {rope.rotary, false};
    if (family.normsHeads) {
      layer.query.headNorm = norm(attention + "q_norm", shape.width);
      source.keyNorm = norm(attention + "k_norm", shape.width);
    }
    SourceDesc visible;
    visible.projected = source;
    visible.window = window;
    layer.sources.push_back(visible);
    layer.scale = scale * rope.softmaxScale;
    layer.softCap = softCap;
    if (family.sink)
      layer.sink = attention + "sinks";
    layer.output = projection(attention + "o_proj", shape.heads * shape.width,
                              shape.hidden);
    if (family.normsOutput)
      layer.outputNorm = norm(base + "post_attention_layernorm", shape.hidden);
    layer.feedForward = base + "mlp";
    return layer;
  }

private:
  NormDesc norm(const std::string &name, int64_t width) const {
    return {name + ".weight", width, shape.eps, family.normOffset};
  }
  ProjectionDesc projection(const std::string &name, int64_t in,
                            int64_t out) const {
    return {name + ".weight", shape.biases ? name + ".bias" : "", in, out};
  }

  const DenseFamily &family;
  const DenseShape &shape;
};

double readScale(ConfigObject &root, const DenseFamily &family, int64_t width) {
  if (!family.queryScalar)
    return 1 / std::sqrt(double(width));
  return 1 / std::sqrt(root.numberOr("query_pre_attn_scalar",
                                     family.queryScalar, positiveRange));
}

std::optional<double> readSoftCap(ConfigObject &root,
                                  const DenseFamily &family) {
  if (!family.softCap)
    return std::nullopt;
  Field<double> cap = root.number("attn_logit_softcapping", positiveRange);
  if (cap.null())
    return std::nullopt;
  if (cap.present())
    return cap.value;
  root.noteDefault("attn_logit_softcapping", family.softCap);
  return family.softCap;
}

} // namespace

void readDense(ConfigObject &root, const DenseFamily &family) {
  ModelConfig &config = root.config();
  readMaxPositions(root, "max_position_embeddings");
  int64_t layers = readLayerCount(root, "num_hidden_layers");
  DenseShape shape = readShape(root, family);
  config.hidden = shape.hidden;
  RopeTable rope = readRope(root, {shape.width, family.ropeTheta});
  LayerWindows windows = readWindows(root, family.window, layers);
  double scale = readScale(root, family, shape.width);
  std::optional<double> softCap = readSoftCap(root, family);
  if (family.softCap && root.booleanOr("use_bidirectional_attention", false))
    root.refuse("use_bidirectional_attention", "false: attention is causal");

  DenseLayers maker(family, shape);
  for (int64_t i = 0; i < layers; ++i)
    config.layers.push_back(maker.make(i, rope.of(root, i, windows.types[i]),
                                       windows.windows[i], scale, softCap));
}

} // namespace attnc
