//===- Families.cpp - from a config to a ModelConfig
//-----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds out whose config a text is, hands it to the family's reader, and checks
// that no key which matters was left unread.
//
//===----------------------------------------------------------------------===//

#include "frontend/Families.h"

#include <algorithm>
#include <optional>

namespace attnc {

static constexpr int64_t maxLayers = 4096;
/// Positions travel as 32-bit integers from here down to the kernels.
static constexpr int64_t maxPosition = (int64_t(1) << 31) - 1;

int64_t readLayerCount(ConfigObject &root, const char *key) {
  return root.require(key, {1, maxLayers});
}

void readMaxPositions(ConfigObject &root, const char *key) {
  Field<int64_t> field = root.integer(key, {1, maxPosition});
  root.config().maxPositions = field.value;
}

void checkProduct(ConfigObject &root, const char *headsKey, int64_t heads,
                  const char *widthKey, int64_t width) {
  constexpr int64_t limit = int64_t(1) << 31;
  if (heads * width > limit)
    root.fail(headsKey,
              "found " + std::to_string(heads) + " heads of " +
                  std::to_string(width) + " channels (" + widthKey + ")",
              "at most 2^31 channels");
}

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

void checkIndexWidth(ConfigObject &root, int64_t width, const char *ropeKey,
                     int64_t rope, bool hadamard) {
  if (width < rope)
    root.fail("index_head_dim", "found " + std::to_string(width),
              std::string("at least ") + ropeKey + " " + std::to_string(rope));
  if (hadamard && (width & (width - 1)))
    root.fail("index_head_dim", "found " + std::to_string(width),
              "a power of two, as a Hadamard matrix mixes the channels");
}

namespace {

/// The families whose layers share a latent, select or compress.
struct LatentFamily {
  const char *modelType;
  void (*read)(ConfigObject &root);
};
const LatentFamily latentFamilies[] = {
    {"deepseek_v2", [](ConfigObject &root) { readLatent(root, false); }},
    {"deepseek_v3", [](ConfigObject &root) { readLatent(root, false); }},
    {"deepseek_v32", [](ConfigObject &root) { readLatent(root, true); }},
    {"deepseek_v4",
     [](ConfigObject &root) { readOwnEntries(root, huggingFaceRatios); }},
    {"deepseek_v41",
     [](ConfigObject &root) { readSharedEntries(root, huggingFaceRatios); }},
    {"deepseek_v41_text",
     [](ConfigObject &root) { readSharedEntries(root, huggingFaceRatios); }}};

std::string listSupported() {
  std::string result;
  for (const std::string &type : supportedModelTypes())
    result += (result.empty() ? "" : ", ") + type;
  return result;
}

/// Two spellings of one key must agree.
void checkSynonyms(ConfigObject &root, const char *a, const char *b) {
  const JsonNode *first = root.get(a), *second = root.get(b);
  if (first && second && !(*first == *second))
    root.fail(b, std::string("found another value than in ") + a,
              "the same value in both");
}

std::string readDtype(ConfigObject &root) {
  checkSynonyms(root, "torch_dtype", "dtype");
  Field<std::string> dtype = root.text("torch_dtype");
  return dtype.present() ? dtype.value : root.text("dtype").value;
}

void readByType(ConfigObject &root, const std::string &modelType) {
  root.config().modelType = modelType;
  if (const DenseFamily *dense = findDenseFamily(modelType))
    return readDense(root, *dense);
  for (const LatentFamily &family : latentFamilies)
    if (modelType == family.modelType)
      return family.read(root);
  root.fail("model_type", "found '" + modelType + "'",
            "one of " + listSupported());
}

/// The inference code of these models has its own spelling and no model_type:
/// the keys that only one of them has tell it.
void readInferenceStyle(ConfigObject &root) {
  std::string &modelType = root.config().modelType;
  if (root.has("kv_source_layers")) {
    modelType = "deepseek_v41";
    return readSharedEntries(root, inferenceRatios);
  }
  if (root.has("compress_ratios")) {
    modelType = "deepseek_v4";
    return readOwnEntries(root, inferenceRatios);
  }
  bool selects = root.has("index_topk") || root.has("index_n_heads") ||
                 root.has("index_head_dim");
  modelType = selects ? "deepseek_v32" : "deepseek_v3";
  readInferenceLatent(root, selects);
}

/// Reads the object that holds the attention's keys.
void readRoot(ConfigObject &root, const Field<std::string> &outerType) {
  checkSynonyms(root, "quantization", "quantization_config");
  root.config().torchDtype = readDtype(root);
  Field<std::string> modelType = root.text("model_type");
  if (!modelType.present())
    modelType = outerType;
  if (modelType.present())
    readByType(root, modelType.value);
  else if (root.has("dim") && root.has("n_layers") && root.has("n_heads"))
    readInferenceStyle(root);
  else
    root.fail("model_type", "the key is missing",
              "one of " + listSupported() +
                  ", or dim, n_layers and n_heads of an inference config");
  checkUnread(root);
}

void readDocument(const JsonNode &document, const std::string &file,
                  ModelConfig &config) {
  ConfigObject outer(document, file, "", config);
  if (outer.has("attnc_variant"))
    outer.fail("attnc_variant", "found a variant file",
               "a model's config; variant files are not built");
  if (!outer.hasValue("text_config"))
    return readRoot(outer, {});
  // A multimodal file: the text model is one level down.
  checkSynonyms(outer, "quantization", "quantization_config");
  std::string dtype = readDtype(outer);
  Field<std::string> outerType = outer.text("model_type");
  ConfigObject inner(*outer.get("text_config"), file, "/text_config", config);
  readRoot(inner, outerType);
  if (config.torchDtype.empty())
    config.torchDtype = dtype;
  checkUnread(outer);
}

/// The same sentence once, in first order.
void removeRepeats(std::vector<std::string> &sentences) {
  std::vector<std::string> result;
  for (std::string &sentence : sentences)
    if (std::find(result.begin(), result.end(), sentence) == result.end())
      result.push_back(std::move(sentence));
  sentences = std::move(result);
}

} // namespace

std::vector<std::string> supportedModelTypes() {
  std::vector<std::string> types = denseModelTypes();
  for (const LatentFamily &family : latentFamilies)
    types.push_back(family.modelType);
  return types;
}

Result<ModelConfig> readModelConfig(std::string_view text,
                                    const std::string &file) {
  Result<JsonNode> document = parseConfigJson(text, file);
  if (!document)
    return Error{document.error()};
  ModelConfig config;
  try {
    readDocument(*document, file, config);
  } catch (const ConfigError &error) {
    return Error{error.message};
  }
  removeRepeats(config.defaulted);
  removeRepeats(config.warnings);
  removeRepeats(config.notes);
  return config;
}

} // namespace attnc
