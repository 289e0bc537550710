//===- frontend_sources.cpp - DeepSeek V4.1: layers that share ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend_fixture.h"

#include <map>

using namespace attnc;
using namespace attnc::test;

static const char *const published = "configs/deepseek-v4.1-flash.json";

static const EntrySource &entries(const ModelConfig &config, int layer) {
  return *config.layers.at(layer).sources.at(1).entries;
}

/// What a layer does beside attending to its window.
static std::string role(const LayerDesc &layer) {
  if (layer.sources.size() == 1)
    return "window";
  if (!layer.index)
    return "reuse";
  return layer.index->key ? "full" : "reindex";
}

TEST(Sources, PublishedConfig) {
  for (const char *path :
       {published, "configs/deepseek-v4.1-flash.inference.json"}) {
    SCOPED_TRACE(path);
    ModelConfig m = read(shipped(path));
    ASSERT_EQ(m.layers.size(), 40u);
    EXPECT_EQ(m.hidden, 5120);
    std::map<std::string, std::vector<int>> roles;
    for (int i = 0; i < 40; ++i)
      roles[role(m.layers[i])].push_back(i);
    EXPECT_EQ(roles["window"], (std::vector<int>{0, 1}));
    EXPECT_EQ(roles["full"], (std::vector<int>{2, 8, 14, 20}));
    EXPECT_EQ(roles["reindex"], (std::vector<int>{24, 28, 32, 36}));
    EXPECT_EQ(roles["reuse"].size(), 30u);
    for (int i = 2; i < 40; ++i) {
      int source = i < 8 ? 2 : i < 14 ? 8 : i < 20 ? 14 : 20;
      int index = i < 20 ? source : i / 4 * 4;
      EXPECT_EQ(entries(m, i).layer, source) << i;
      EXPECT_EQ(bool(entries(m, i).pool), i == source) << i;
      EXPECT_EQ(m.layers[i].sources[1].selectedBy, index) << i;
    }
    EXPECT_TRUE(m.warnings.empty());
    EXPECT_TRUE(contains(m.notes, "/compress_ratios: 3 ratio(s)"));
    EXPECT_TRUE(contains(m.notes, "3 draft layer(s), not planned"));
  }
}

TEST(Sources, Candidates) {
  ModelConfig m = read(shipped(published));
  const IndexDesc &source = *m.layers[20].index;
  ASSERT_TRUE(source.candidates);
  EXPECT_EQ(source.candidates->blocks, 2048);
  EXPECT_EQ(source.candidates->size, 8);
  EXPECT_FALSE(source.within);
  for (int layer : {24, 28, 32, 36})
    EXPECT_EQ(m.layers[layer].index->within, 20);
  for (int layer : {2, 8, 14}) {
    EXPECT_FALSE(m.layers[layer].index->within);
    EXPECT_FALSE(m.layers[layer].index->candidates);
  }
}

TEST(Sources, PartsOfASourceLayer) {
  ModelConfig m = read(shipped(published));
  const PoolDesc &pair = *entries(m, 2).pool;
  EXPECT_EQ(pair.every, 2);
  EXPECT_FALSE(pair.overlap);
  EXPECT_EQ(pair.gates->weight, "layers.2.attn.compressor.wgate.weight");
  EXPECT_EQ(pair.bias, "");
  const PoolDesc &single = *entries(m, 20).pool;
  EXPECT_EQ(single.every, 1);
  EXPECT_FALSE(single.gates);
  const IndexKeyDesc &key = *m.layers[20].index->key;
  EXPECT_TRUE(key.ofEntries);
  EXPECT_EQ(key.down->weight, "layers.20.attn.indexer.wk.weight");
  EXPECT_EQ(key.down->in, 512);
  EXPECT_EQ(key.norm->weight, "layers.20.attn.indexer.k_norm.weight");
  EXPECT_FALSE(m.layers[20].index->hadamard);
  EXPECT_EQ(m.layers[20].index->scale, 1.0 / 64);
  EXPECT_FALSE(m.layers[20].query.headNorm);
  EXPECT_EQ(m.layers[20].query.downNorm->eps, 1e-20);
  EXPECT_EQ(m.layers[24].index->keyLayer, 20);
}

TEST(Sources, Rotations) {
  ModelConfig m = read(shipped(published));
  EXPECT_EQ(rotary(m, 1).theta, 10000);
  EXPECT_EQ(rotary(m, 1).scaling, Rotary::Scaling::None);
  for (int layer : {2, 39}) {
    EXPECT_EQ(rotary(m, layer).theta, 160000);
    EXPECT_EQ(rotary(m, layer).scaling, Rotary::Scaling::Yarn);
    EXPECT_EQ(rotary(m, layer).amplitude, 1);
  }
}

TEST(Sources, Faults) {
  const char *kv = R"("kv_source_layer_ids": [2, 8, 14, 20])";
  const char *index =
      R"("index_source_layer_ids": [2, 8, 14, 20, 24, 28, 32, 36])";
  const char *candidate = R"("candidate_source_layer_id": 20)";
  const char *blocks = R"("candidate_topk_blocks": 2048)";
  struct {
    const char *from, *to, *message;
  } faults[] = {
      {kv, R"("kv_source_layer_ids": [2, 14, 8, 20])",
       "kv_source_layer_ids: found layer 8 after layer 14; expected ascending "
       "layers, each once"},
      {kv, R"("kv_source_layer_ids": [2, 8, 8, 20])",
       "kv_source_layer_ids: found layer 8 after layer 8; expected ascending "
       "layers, each once"},
      {kv, R"("kv_source_layer_ids": [2, 8, 14, 40])",
       "kv_source_layer_ids: found layer 40; expected layers from 0 to 39"},
      {index, R"("index_source_layer_ids": [2, 8, 14, 20, 40])",
       "index_source_layer_ids: found layer 40; expected layers from 0 to 39"},
      {index, R"("index_source_layer_ids": [-2, 8, 14, 20])",
       "index_source_layer_ids: found layer -2; expected layers from 0 to 39"},
      {kv, R"("kv_source_layer_ids": [1, 2, 8, 14, 20])",
       "kv_source_layer_ids: found layer 1, whose ratio in compress_ratios is "
       "0; expected layers that compress"},
      {index, R"("index_source_layer_ids": [1, 2, 8, 14, 20])",
       "index_source_layer_ids: found layer 1, whose ratio in compress_ratios "
       "is 0; expected layers that compress"},
      {index, R"("index_source_layer_ids": [2, 14, 20, 24])",
       "index_source_layer_ids: found no layer 8, which is in "
       "kv_source_layer_ids; expected every layer of kv_source_layer_ids, as "
       "it makes the keys of its index"},
      {candidate, R"("candidate_source_layer_id": 24)",
       "candidate_source_layer_id: found layer 24; expected a layer of "
       "kv_source_layer_ids, or a negative number for none"},
      {candidate, R"("candidate_source_layer_id": 14)",
       "candidate_source_layer_id: found layer 14 of ratio 2 before layer 20, "
       "which picks, of ratio 1; expected the same ratio in every later layer "
       "of index_source_layer_ids"},
      {blocks, R"("candidate_topk_blocks": 0)",
       "candidate_topk_blocks: found 0 for the pool of layer 20; expected a "
       "positive integer"},
      {R"("candidate_block_size": 8,)", "",
       "candidate_block_size: found no number for the pool of layer 20; "
       "expected a positive integer"},
      {blocks, R"("candidate_topk_blocks": 32)",
       "candidate_topk_blocks: found 32 blocks of 8 for layer 20, which may "
       "hold only 249 visible elements; expected at least index_topk 512"},
      {kv, R"("kv_source_layer_ids": [8, 14, 20])",
       "compress_ratios: found ratio 2 of layer 2, which has no source; "
       "expected a layer of the same ratio in kv_source_layer_ids as the "
       "nearest at or before it"},
      {kv, R"("kv_source_layer_ids": [2, 8, 14])",
       "compress_ratios: found ratio 1 of layer 20, whose source, layer 14, "
       "has ratio 2; expected a layer of the same ratio in "
       "kv_source_layer_ids as the nearest at or before it"},
      {R"("index_topk": 512)", R"("index_topk": 0)",
       "index_topk: found 0; expected an integer from 1 to 1048576"},
      {R"("compress_rope_theta": 160000,)", "",
       "compress_rope_theta: the key is missing; expected the base of the "
       "layers that compress"},
  };
  // The shipped text in one spelling of spaces.
  std::string text;
  for (char c : shipped(published))
    if (c != '\n' && !(c == ' ' && !text.empty() &&
                       (text.back() == ' ' || text.back() == '[')))
      text += c;
  for (size_t at; (at = text.find(" ]")) != std::string::npos;)
    text.erase(at, 1);
  ASSERT_EQ(refusal(text), "accepted");
  for (const auto &fault : faults)
    EXPECT_EQ(refusal(replaced(text, fault.from, fault.to)),
              std::string("c.json at /text_config/") + fault.message);
}

TEST(Sources, EveryCutEndsInOneMessage) {
  std::string text = shipped("test/oracles/deepseek_v41/config.json");
  text.erase(text.find_last_of('}') + 1);
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(refusal(text.substr(0, length)), "accepted") << length;
}

TEST(Sources, NoCandidates) {
  std::string text = shipped("configs/deepseek-v4.1-flash.inference.json");
  ModelConfig off = read(replaced(text, R"("candidate_source_layer": 20)",
                                  R"("candidate_source_layer": -1)"));
  EXPECT_FALSE(off.layers[20].index->candidates);
  EXPECT_FALSE(off.layers[24].index->within);
}

TEST(Sources, AbsentCandidateSourceIsTheLastOne) {
  std::string text = shipped("configs/deepseek-v4.1-flash.inference.json");
  ModelConfig m = read(replaced(text, R"("candidate_source_layer": 20,)", ""));
  EXPECT_EQ(m.layers[24].index->within, 20);
  EXPECT_TRUE(contains(m.defaulted, "/candidate_source_layer = 20"));
}

TEST(Sources, FlatFileOfTheNestedType) {
  ModelConfig m = read(shipped("test/oracles/deepseek_v41/config.json"));
  EXPECT_EQ(m.layers.size(), 10u);
  EXPECT_EQ(role(m.layers[6]), "reindex");
  EXPECT_EQ(m.layers[6].index->within, 4);
}
