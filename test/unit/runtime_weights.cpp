//===- runtime_weights.cpp - checkpoints, random weights, inputs ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Weights.h"
#include "runtime/Input.h"
#include "runtime/ThreadPool.h"
#include "runtime_files.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace attnc;
using namespace attnc::test;

namespace {

#define EXPECT_SAYS(found, part)                                               \
  EXPECT_NE((found).find(part), std::string::npos) << (found)

class Weights : public ::testing::Test {
protected:
  void shard(const std::string &file, std::vector<std::string> names) {
    std::vector<float> values = {1, 2, 3, 4};
    std::vector<OutputTensor> tensors;
    for (const std::string &name : names)
      tensors.push_back({name, DType::F32, {2, 2}, values.data()});
    ASSERT_EQ(writeSafetensors(folder.path(file), tensors), "");
  }
  void index(const std::string &map) {
    folder.write("model.safetensors.index.json",
                 "{\"weight_map\":{" + map + "}}");
  }
  std::string refusal() {
    auto weights = SafetensorsWeights::open(folder.name());
    return weights ? "" : weights.error();
  }
  Folder folder;
};

TEST_F(Weights, FolderWithOneFile) {
  shard("model.safetensors", {"a"});
  auto weights = SafetensorsWeights::open(folder.name());
  ASSERT_TRUE(bool(weights)) << weights.error();
  std::string error;
  const float *a = (*weights)->get("a", {2, 2}, error);
  ASSERT_TRUE(a);
  EXPECT_EQ(a[3], 4);
}

TEST_F(Weights, ShapeAndNameAreChecked) {
  shard("model.safetensors", {"kv_a.weight"});
  auto weights = SafetensorsWeights::open(folder.path("model.safetensors"));
  std::string error;
  EXPECT_EQ((*weights)->get("kv_a.weight", {2, 3}, error), nullptr);
  EXPECT_SAYS(error, "model.safetensors: tensor kv_a.weight has shape [2, 2]; "
                     "expected [2, 3]");
  EXPECT_EQ((*weights)->get("kv_b.weight", {2, 3}, error), nullptr);
  EXPECT_SAYS(error, "tensor kv_b.weight is missing; expected shape [2, 3]");
}

TEST_F(Weights, LeadingModelIsAcceptedButNotPreferred) {
  float plain = 1, prefixed = 2;
  std::string path = folder.path("m.safetensors");
  writeSafetensors(path, {{"model.layers.0.a", DType::F32, {1}, &prefixed},
                          {"model.layers.0.b", DType::F32, {1}, &prefixed},
                          {"layers.0.b", DType::F32, {1}, &plain}});
  auto weights = SafetensorsWeights::open(path);
  std::string error;
  EXPECT_EQ(*(*weights)->get("layers.0.a", {1}, error), 2);
  EXPECT_EQ(*(*weights)->get("layers.0.b", {1}, error), 1);
}

TEST_F(Weights, ShardsAreJoined) {
  shard("one.safetensors", {"a"});
  shard("two.safetensors", {"b"});
  index(R"("a":"one.safetensors","b":"two.safetensors")");
  auto weights = SafetensorsWeights::open(folder.name());
  ASSERT_TRUE(bool(weights)) << weights.error();
  EXPECT_EQ((*weights)->index().size(), 2u);
}

TEST_F(Weights, IndexAndShardsMustAgree) {
  shard("one.safetensors", {"a"});
  index(R"("a":"one.safetensors","b":"two.safetensors","c":"three.safetensors")");
  EXPECT_SAYS(refusal(),
              "shards are missing: three.safetensors, two.safetensors");
  index(R"("a":"one.safetensors","b":"one.safetensors")");
  EXPECT_SAYS(refusal(), "shards lack tensors: b (in one.safetensors)");
  shard("one.safetensors", {"a", "a.weight_scale_inv"});
  index(R"("a":"one.safetensors")");
  EXPECT_SAYS(refusal(), "the index lacks tensors: a.weight_scale_inv");
  shard("two.safetensors", {"a"});
  index(R"("a":"one.safetensors","a.weight_scale_inv":"two.safetensors")");
  EXPECT_SAYS(refusal(), "tensor a is also in");
  for (const char *bad : {R"("a":"../x")", R"("a":"/etc/x")", R"("a":7)",
                          R"("a":"")", R"("a":"..")"}) {
    index(bad);
    EXPECT_SAYS(refusal(), "leaves the folder");
  }
  folder.write("model.safetensors.index.json", "{}");
  EXPECT_SAYS(refusal(), "'weight_map' is missing");
  index(R"("a":"one.safetensors","a":"two.safetensors")");
  EXPECT_SAYS(refusal(), "occurs twice");
}

TEST_F(Weights, EmptyFoldersAreRefused) {
  EXPECT_SAYS(refusal(), "has neither model.safetensors nor");
  folder.write("x.safetensors/readme", "");
  EXPECT_SAYS(openWeights(folder.path("x.safetensors")).error(),
              "has neither model.safetensors nor");
}

TEST_F(Weights, UnreadableTypesAreRefused) {
  std::vector<uint8_t> codes(4);
  std::string path = folder.path("m.safetensors");
  writeSafetensors(path, {{"q", DType::F8E4M3, {2, 2}, codes.data()}});
  auto weights = SafetensorsWeights::open(path);
  std::string error;
  EXPECT_EQ((*weights)->get("q", {2, 2}, error), nullptr);
  EXPECT_SAYS(error, "tensor q has type F8_E4M3; expected F32, BF16 or F16");
}

TEST_F(Weights, OracleFilesOpen) {
  auto weights = SafetensorsWeights::open(ATTNC_TEST_DATA "/oracles/llama_gqa");
  ASSERT_TRUE(bool(weights)) << weights.error();
  EXPECT_FALSE((*weights)->index().empty());
}

TEST(RandomWeights, DependOnSeedAndNameOnly) {
  std::string error;
  RandomWeights one(1), again(1), other(2);
  again.get("b", {3, 4}, error);
  std::vector<float> a(one.get("a", {3, 4}, error),
                       one.get("a", {3, 4}, error) + 12);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), again.get("a", {3, 4}, error)));
  EXPECT_FALSE(std::equal(a.begin(), a.end(), again.get("b", {3, 4}, error)));
  EXPECT_FALSE(std::equal(a.begin(), a.end(), other.get("a", {3, 4}, error)));
  EXPECT_EQ(one.get("a", {4, 3}, error), nullptr);
  EXPECT_SAYS(error, "expected one shape");
}

std::pair<double, double> moments(const float *values, int64_t count) {
  double sum = 0, square = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += values[i];
    square += double(values[i]) * values[i];
  }
  double mean = sum / double(count);
  return {mean, std::sqrt(square / double(count) - mean * mean)};
}

TEST(RandomWeights, HaveTheirDistributions) {
  std::string error;
  RandomWeights weights(3);
  auto [mean, deviation] =
      moments(weights.get("q.weight", {1000, 400}, error), 400000);
  EXPECT_NEAR(mean, 0, 3e-4);
  EXPECT_NEAR(deviation, 0.05, 3e-4);
  std::tie(mean, deviation) =
      moments(weights.get("q_norm.weight", {100000}, error), 100000);
  EXPECT_NEAR(mean, 1, 2e-3);
  EXPECT_NEAR(deviation, 0.1, 2e-3);
  std::tie(mean, deviation) =
      moments(weights.get("sinks", {100000}, error), 100000);
  EXPECT_NEAR(mean, 0, 2e-3);
  EXPECT_NEAR(deviation, 0.1, 2e-3);
  std::tie(mean, deviation) =
      moments(weights.get("k_norm.bias", {100000}, error), 100000);
  EXPECT_NEAR(mean, 0, 2e-3);
}

TEST(RandomWeights, ThreadsCannotBeSeen) {
  std::vector<float> one(200001), many(200001);
  setDefaultThreads(1);
  fillNormal(5, one.data(), 200001);
  setDefaultThreads(4);
  fillNormal(5, many.data(), 200001);
  setDefaultThreads(0);
  EXPECT_EQ(one, many);
}

TEST(RandomWeights, BadSpecsAreRefused) {
  for (const char *bad : {"random:", "random:x", "random:-1", "random:1:2"})
    EXPECT_SAYS(openWeights(bad).error(), "expected random:SEED");
}

TEST(Input, RandomRowsAreAPrefixOfLongerOnes) {
  Input few = *openInput("random:9:3", 16), more = *openInput("random:9:5", 16);
  EXPECT_EQ(few.lengths, (std::vector<int64_t>{3}));
  EXPECT_TRUE(std::equal(few.rows.begin(), few.rows.end(), more.rows.begin()));
  for (const char *bad : {"random:1", "random:1:0", "random:1:-3", "random::3",
                          "random:1:3x", "random:1:99999999999"})
    EXPECT_SAYS(openInput(bad, 16).error(), "expected random:SEED:TOKENS");
}

class InputFile : public ::testing::Test {
protected:
  Result<Input> read(std::vector<int64_t> shape, std::vector<int32_t> lengths) {
    std::vector<float> rows(64, 0.5f);
    std::vector<OutputTensor> tensors = {
        {"hidden", DType::F32, shape, rows.data()}};
    if (!lengths.empty())
      tensors.push_back({"lengths", DType::I32, {int64_t(lengths.size())},
                         lengths.data()});
    std::string path = folder.path("i.safetensors");
    EXPECT_EQ(writeSafetensors(path, tensors), "");
    return openInput(path, 8);
  }
  Folder folder;
};

TEST_F(InputFile, LengthsCutTheRows) {
  Result<Input> input = read({6, 8}, {1, 5});
  ASSERT_TRUE(bool(input)) << input.error();
  EXPECT_EQ(input->lengths, (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(limitTokens(*input, 3), "");
  EXPECT_EQ(input->lengths, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(input->rows.size(), 24u);
  EXPECT_SAYS(limitTokens(*input, 4), "expected 1 to 3");
}

TEST_F(InputFile, WrongShapesAreRefused) {
  EXPECT_SAYS(read({8, 6}, {}).error(), "expected [tokens, 8]");
  EXPECT_SAYS(read({48}, {}).error(), "has shape [48]");
  EXPECT_SAYS(read({0, 8}, {}).error(), "has shape [0, 8]");
  EXPECT_SAYS(read({6, 8}, {1, 4}).error(), "adds up to 5; expected 6");
  EXPECT_SAYS(read({6, 8}, {7, -1}).error(), "holds -1");
  EXPECT_SAYS(read({6, 8}, {6, 0}).error(), "holds 0");
}

} // namespace
