//===- frontend_index.cpp - DeepSeek V3.2: a latent behind an index -------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend_fixture.h"

using namespace attnc;
using namespace attnc::test;

static const char *const indexKeys =
    R"("index_n_heads":8,"index_head_dim":64,"index_topk":6)";

static std::string v32(const std::string &more = "") {
  return config("deepseek_v32", indexKeys + (more.empty() ? "" : "," + more));
}

TEST(Index, PublishedConfig) {
  ModelConfig m = read(shipped("configs/deepseek-v3.2.json"));
  EXPECT_EQ(m.modelType, "deepseek_v32");
  ASSERT_EQ(m.layers.size(), 61u);
  const LayerDesc &layer = m.layers[60];
  EXPECT_EQ(layer.sources[0].selectedBy, 60);
  ASSERT_TRUE(layer.index);
  EXPECT_EQ(layer.index->heads, 64);
  EXPECT_EQ(layer.index->width, 128);
  EXPECT_EQ(layer.index->picks, 2048);
  EXPECT_EQ(layer.index->keyLayer, 60);
  EXPECT_DOUBLE_EQ(layer.index->scale,
                   std::sqrt(1.0 / 64) * std::sqrt(1.0 / 128));
  EXPECT_EQ(layer.index->query.weight,
            "model.layers.60.self_attn.indexer.wq_b.weight");
  EXPECT_EQ(layer.index->query.in, 1536);
  EXPECT_EQ(layer.index->weights.weight,
            "model.layers.60.self_attn.indexer.weights_proj.weight");
  const IndexKeyDesc &key = *layer.index->key;
  EXPECT_EQ(key.down->weight, "model.layers.60.self_attn.indexer.wk.weight");
  EXPECT_FALSE(key.ofEntries);
  EXPECT_EQ(key.layerNorm->bias,
            "model.layers.60.self_attn.indexer.k_norm.bias");
  EXPECT_EQ(key.layerNorm->eps, 1e-6);
}

TEST(Index, RotatesHalvesOfTheFirstChannels) {
  ModelConfig m = read(v32());
  const LayerDesc &layer = m.layers[0];
  for (const RopeDesc *rope : {&layer.index->rope, &layer.index->key->rope}) {
    EXPECT_TRUE(rope->first);
    EXPECT_FALSE(rope->interleaved);
    EXPECT_EQ(rope->rotary.dims, 64);
  }
  EXPECT_TRUE(layer.index->hadamard);
  EXPECT_TRUE(layer.query.rope.interleaved);
  EXPECT_FALSE(layer.query.rope.first);
}

TEST(Index, AWrittenPairingCounts) {
  EXPECT_TRUE(read(v32(R"("indexer_rope_interleave":true)"))
                  .layers[0]
                  .index->rope.interleaved);
}

TEST(Index, SharesTheScalingOfTheAttention) {
  ModelConfig m = read(v32(v3Scaling));
  EXPECT_EQ(m.layers[0].index->rope.rotary.frequencies(),
            rotary(m).frequencies());
  EXPECT_NEAR(m.layers[0].scale, 0.1352338, 1e-7);
}

TEST(Index, InferenceSpellingIsTheSameModel) {
  ModelConfig a = read(shipped("configs/deepseek-v3.2.inference.json"));
  EXPECT_EQ(a.modelType, "deepseek_v32");
  ASSERT_TRUE(a.layers[5].index);
  EXPECT_EQ(a.layers[5].index->picks, 2048);
  EXPECT_NEAR(a.layers[5].scale, 0.1352338, 1e-7);
}

TEST(Index, KeysOfAnotherFamily) {
  EXPECT_EQ(refusal(config("deepseek_v3", indexKeys)),
            "c.json at /index_n_heads: found a key of the index group that "
            "'deepseek_v3' does not read; expected only keys that the family "
            "reads");
}

TEST(Index, Faults) {
  struct {
    const char *from, *to, *message;
  } faults[] = {
      {R"("index_topk":6)", R"("index_topk":0)",
       "/index_topk: found 0; expected an integer from 1 to 1048576"},
      {R"(,"index_topk":6)", "",
       "/index_topk: the key is missing; expected an integer from 1 to "
       "1048576"},
      {R"("index_n_heads":8)", R"("index_n_heads":null)",
       "/index_n_heads: found null; expected an integer from 1 to 1048576"},
      {R"("index_head_dim":64)", R"("index_head_dim":32)",
       "/index_head_dim: found 32; expected at least qk_rope_head_dim 64"},
      {R"("index_head_dim":64)", R"("index_head_dim":96)",
       "/index_head_dim: found 96; expected a power of two, as a Hadamard "
       "matrix mixes the channels"},
      {R"("index_topk":6)", R"("index_topk":6,"q_lora_rank":null)",
       "/q_lora_rank: found null; expected a rank, as the index projects its "
       "queries from that latent"},
      {R"("index_topk":6)", R"("index_topk":6,"index_topk_freq":4)",
       "/index_topk_freq: found a key of the index group that 'deepseek_v32' "
       "does not read; expected only keys that the family reads"},
  };
  for (const auto &fault : faults)
    EXPECT_EQ(refusal(replaced(v32(), fault.from, fault.to)),
              std::string("c.json at ") + fault.message);
}
