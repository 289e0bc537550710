//===- frontend_fixture.h - small configs and what is read from them -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TEST_UNIT_FRONTEND_FIXTURE_H
#define ATTNC_TEST_UNIT_FRONTEND_FIXTURE_H

#include "frontend/Families.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

namespace attnc::test {

/// A small config of `modelType`; `more` are further members, as text.
inline std::string config(const std::string &modelType,
                          const std::string &more = "", int layers = 2) {
  return R"({"model_type":")" + modelType +
         R"(","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":)" +
         std::to_string(layers) + (more.empty() ? "" : ",") + more + "}";
}

/// The text of a shipped config, by its path in the repository.
inline std::string shipped(const std::string &path) {
  std::ifstream file(std::string(ATTNC_TEST_DATA) + "/../" + path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

/// `text` with the only occurrence of `from` replaced.
inline std::string replaced(std::string text, const std::string &from,
                            const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline ModelConfig read(const std::string &text) {
  Result<ModelConfig> result = readModelConfig(text, "c.json");
  EXPECT_TRUE(bool(result)) << (result ? "" : result.error());
  return result ? *result : ModelConfig();
}

inline std::string refusal(const std::string &text) {
  Result<ModelConfig> result = readModelConfig(text, "c.json");
  return result ? "accepted" : result.error();
}

inline bool contains(const std::vector<std::string> &sentences,
                     const std::string &part) {
  for (const std::string &sentence : sentences)
    if (sentence.find(part) != std::string::npos)
      return true;
  return false;
}

inline const ProjectedSource &projected(const ModelConfig &config,
                                        int layer = 0) {
  return *config.layers.at(layer).sources.at(0).projected;
}

inline const Rotary &rotary(const ModelConfig &config, int layer = 0) {
  return config.layers.at(layer).query.rope.rotary;
}

inline std::vector<int64_t> windows(const ModelConfig &config) {
  std::vector<int64_t> result;
  for (const LayerDesc &layer : config.layers)
    result.push_back(layer.sources[0].window);
  return result;
}

/// The rope_scaling member of the published DeepSeek V3.
inline constexpr const char *v3Scaling =
    R"("rope_scaling":{"type":"yarn","factor":40,"beta_fast":32,"beta_slow":1,
    "mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":4096})";

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_FRONTEND_FIXTURE_H
