//===- Families.h - from a config to a ModelConfig
//-------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FRONTEND_FAMILIES_H
#define ATTNC_FRONTEND_FAMILIES_H

#include "formats/Result.h"
#include "frontend/ConfigReader.h"
#include "frontend/ModelConfig.h"

#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// Reads the text of a config.json. A failed result is one sentence that names
/// `file`, the place, what was found and what was expected.
Result<ModelConfig> readModelConfig(std::string_view text,
                                    const std::string &file);

/// The value of `model_type` of every family that is built.
std::vector<std::string> supportedModelTypes();

//===----------------------------------------------------------------------===//
// The readers, for Families.cpp
//===----------------------------------------------------------------------===//

/// How one family of attention over projected keys and values differs from
/// another: data, read by one reader.
struct DenseFamily;
/// Null when `modelType` names no dense family.
const DenseFamily *findDenseFamily(std::string_view modelType);
std::vector<std::string> denseModelTypes();
void readDense(ConfigObject &root, const DenseFamily &family);

/// DeepSeek V2 and V3 in Hugging Face spelling, and V3.2, whose layers select.
void readLatent(ConfigObject &root, bool selects);
/// The same models in the spelling of their inference code.
void readInferenceLatent(ConfigObject &root, bool selects);

/// A spelling of DeepSeek V4 and V4.1, whose layers compress by ratios.
struct RatioSpelling;
extern const RatioSpelling huggingFaceRatios, inferenceRatios;
/// V4: every layer compresses for itself.
void readOwnEntries(ConfigObject &root, const RatioSpelling &spelling);
/// V4.1: layers read the entries and the picks of earlier ones.
void readSharedEntries(ConfigObject &root, const RatioSpelling &spelling);

/// Helpers that the readers share.
int64_t readLayerCount(ConfigObject &root, const char *key);
/// maxPositions of the config, from `key`.
void readMaxPositions(ConfigObject &root, const char *key);
/// Fails when `key`, which newer writers add, contradicts the other keys.
void checkDerived(ConfigObject &root, const char *key, int64_t value,
                  const std::string &meaning);
/// Fails unless `index_head_dim` holds the rotated channels and, where one
/// mixes them, suits a Hadamard matrix.
void checkIndexWidth(ConfigObject &root, int64_t width, const char *ropeKey,
                     int64_t rope, bool hadamard);
/// Notes the draft layers that `key` counts.
void noteDraftLayers(ConfigObject &root, const char *key);
/// Fails when heads x width exceeds what a stream holds.
void checkProduct(ConfigObject &root, const char *headsKey, int64_t heads,
                  const char *widthKey, int64_t width);

} // namespace attnc

#endif // ATTNC_FRONTEND_FAMILIES_H
