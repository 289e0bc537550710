//===- frontend_ratios.cpp - DeepSeek V4: windows beside entries ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend_fixture.h"

using namespace attnc;
using namespace attnc::test;

/// Layers of ratio 0, 4 and 16, and one of a draft layer.
static std::string v4(const std::string &more = "") {
  return R"({"model_type":"deepseek_v4","hidden_size":64,"head_dim":32,
    "num_hidden_layers":3,"num_attention_heads":4,"num_key_value_heads":1,
    "q_lora_rank":24,"qk_rope_head_dim":16,"o_groups":2,"o_lora_rank":12,
    "sliding_window":8,"compress_ratios":[0,4,16,0],
    "compress_rope_theta":40000,"rope_theta":10000,"rope_scaling":{
    "type":"yarn","factor":16,"beta_fast":32,"beta_slow":1,
    "original_max_position_embeddings":65536},"index_n_heads":8,
    "index_head_dim":32,"index_topk":4,"rms_norm_eps":1e-5)" +
         (more.empty() ? "" : "," + more) + "}";
}

/// What a layer sees beside its window: "" nothing, "4i" picked entries of
/// ratio 4, "128" all of ratio 128.
static std::string kind(const LayerDesc &layer) {
  if (layer.sources.size() == 1)
    return "";
  const SourceDesc &source = layer.sources[1];
  return std::to_string(source.entries->pool->every) +
         (source.selectedBy ? "i" : "");
}

static int count(const ModelConfig &config, const std::string &wanted) {
  int result = 0;
  for (const LayerDesc &layer : config.layers)
    result += kind(layer) == wanted;
  return result;
}

TEST(Ratios, PublishedConfigs) {
  struct {
    const char *path;
    int layers, plain, indexed, dense;
    int64_t picks;
    const char *drafts;
  } files[] = {
      {"deepseek-v4-flash.json", 43, 2, 21, 20, 512, "1 ratio(s)"},
      {"deepseek-v4-flash-0731.json", 43, 2, 21, 20, 512, "3 ratio(s)"},
      {"deepseek-v4-flash.inference.json", 43, 2, 21, 20, 512, "1 ratio(s)"},
      {"deepseek-v4-pro.json", 61, 0, 30, 31, 1024, "1 ratio(s)"}};
  for (const auto &file : files) {
    SCOPED_TRACE(file.path);
    ModelConfig m = read(shipped(std::string("configs/") + file.path));
    EXPECT_EQ(m.modelType, "deepseek_v4");
    EXPECT_EQ(m.layers.size(), size_t(file.layers));
    EXPECT_EQ(count(m, ""), file.plain);
    EXPECT_EQ(count(m, "4i"), file.indexed);
    EXPECT_EQ(count(m, "128"), file.dense);
    for (const LayerDesc &layer : m.layers)
      if (layer.index)
        EXPECT_EQ(layer.index->picks, file.picks);
    EXPECT_TRUE(
        contains(m.notes, std::string("/compress_ratios: ") + file.drafts));
    EXPECT_TRUE(m.warnings.empty());
  }
}

TEST(Ratios, SpellingsAgree) {
  ModelConfig a = read(shipped("configs/deepseek-v4-flash.json"));
  ModelConfig b = read(shipped("configs/deepseek-v4-flash.inference.json"));
  for (int layer : {0, 2, 3}) {
    EXPECT_EQ(rotary(a, layer).frequencies(), rotary(b, layer).frequencies());
    EXPECT_EQ(rotary(a, layer).amplitude, rotary(b, layer).amplitude);
    EXPECT_EQ(a.layers[layer].scale, b.layers[layer].scale);
    EXPECT_EQ(a.layers[layer].output.weight, b.layers[layer].output.weight);
    EXPECT_EQ(kind(a.layers[layer]), kind(b.layers[layer]));
  }
}

TEST(Ratios, WindowOnlyLayer) {
  ModelConfig m = read(v4());
  const LayerDesc &layer = m.layers[0];
  EXPECT_FALSE(layer.index);
  ASSERT_EQ(layer.sources.size(), 1u);
  EXPECT_EQ(layer.sources[0].window, 8);
  EXPECT_EQ(layer.sources[0].vector->down.weight, "layers.0.attn.wkv.weight");
  EXPECT_EQ(layer.sources[0].vector->norm.weight,
            "layers.0.attn.kv_norm.weight");
  EXPECT_EQ(layer.inputNorm.weight, "layers.0.attn_norm.weight");
  EXPECT_EQ(layer.sink, "layers.0.attn.attn_sink");
  EXPECT_EQ(layer.feedForward, "layers.0.ffn");
  // A norm without weights over each head.
  EXPECT_EQ(layer.query.headNorm->weight, "");
  EXPECT_EQ(layer.query.headNorm->width, 32);
  EXPECT_EQ(layer.outputGroups->groups, 2);
  EXPECT_EQ(layer.outputGroups->down.weight, "layers.0.attn.wo_a.weight");
  EXPECT_EQ(layer.outputGroups->down.in, 64);
  EXPECT_EQ(layer.outputGroups->down.out, 24);
  EXPECT_EQ(layer.output.weight, "layers.0.attn.wo_b.weight");
  EXPECT_EQ(layer.output.in, 24);
}

TEST(Ratios, OverlappingLayerHasAnIndex) {
  ModelConfig m = read(v4());
  const LayerDesc &layer = m.layers[1];
  const PoolDesc &pool = *layer.sources[1].entries->pool;
  EXPECT_TRUE(pool.overlap);
  EXPECT_EQ(pool.every, 4);
  EXPECT_EQ(pool.values.weight, "layers.1.attn.compressor.wkv.weight");
  EXPECT_EQ(pool.values.out, 64);
  EXPECT_EQ(pool.gates->weight, "layers.1.attn.compressor.wgate.weight");
  EXPECT_EQ(pool.bias, "layers.1.attn.compressor.ape");
  EXPECT_EQ(pool.norm.weight, "layers.1.attn.compressor.norm.weight");
  ASSERT_TRUE(layer.index);
  EXPECT_EQ(layer.sources[1].selectedBy, 1);
  const PoolDesc &keys = *layer.index->key->pool;
  EXPECT_TRUE(keys.overlap);
  EXPECT_EQ(keys.values.weight, "layers.1.attn.indexer.compressor.wkv.weight");
  EXPECT_EQ(keys.bias, "layers.1.attn.indexer.compressor.ape");
  EXPECT_EQ(layer.index->query.weight, "layers.1.attn.indexer.wq_b.weight");
  EXPECT_EQ(layer.index->scale, 1.0 / 16);
  EXPECT_TRUE(layer.index->hadamard);
  EXPECT_FALSE(layer.index->rope.first);
  EXPECT_TRUE(layer.index->rope.interleaved);
}

TEST(Ratios, OtherRatiosAreDense) {
  ModelConfig m = read(v4());
  const LayerDesc &layer = m.layers[2];
  EXPECT_FALSE(layer.index);
  EXPECT_FALSE(layer.sources[1].selectedBy);
  EXPECT_FALSE(layer.sources[1].entries->pool->overlap);
  EXPECT_EQ(layer.sources[1].entries->pool->every, 16);
  EXPECT_EQ(layer.sources[1].entries->pool->values.out, 32);
}

TEST(Ratios, TheConfigsEpsIsThatOfEveryNorm) {
  ModelConfig m = read(v4());
  const LayerDesc &layer = m.layers[1];
  for (const NormDesc *norm :
       {&layer.inputNorm, &*layer.query.downNorm, &*layer.query.headNorm,
        &layer.sources[0].vector->norm, &layer.sources[1].entries->pool->norm,
        &layer.index->key->pool->norm})
    EXPECT_EQ(norm->eps, 1e-5);
}

TEST(Ratios, LayersThatCompressRotateWithAnotherBase) {
  ModelConfig m = read(v4());
  EXPECT_EQ(rotary(m, 0).theta, 10000);
  EXPECT_EQ(rotary(m, 0).scaling, Rotary::Scaling::None);
  const LayerDesc &layer = m.layers[1];
  for (const RopeDesc *rope :
       {&layer.query.rope, &layer.sources[0].vector->rope,
        &layer.sources[1].entries->rope, &layer.index->rope,
        &layer.index->key->rope, &*layer.outputRope}) {
    EXPECT_EQ(rope->rotary.theta, 40000);
    EXPECT_EQ(rope->rotary.scaling, Rotary::Scaling::Yarn);
    EXPECT_EQ(rope->rotary.factor, 16);
    EXPECT_EQ(rope->rotary.amplitude, 1);
  }
}

TEST(Ratios, YarnScalesNothingElse) {
  ModelConfig m = read(shipped("configs/deepseek-v4-flash.json"));
  for (int layer : {0, 2, 3})
    EXPECT_NEAR(m.layers[layer].scale, 0.0441942, 1e-7);
  EXPECT_EQ(rotary(m, 2).amplitude, 1);
}

TEST(Ratios, BlocksOfNewerWriters) {
  std::string old = v4();
  size_t from = old.find("\"rope_scaling\""),
         to = old.find("\"index_n_heads\"");
  auto with = [&](const std::string &block) {
    return old.substr(0, from) + block + "," + old.substr(to);
  };
  const char *main = R"("main":{"rope_type":"default","rope_theta":10000,
    "partial_rotary_factor":0.5})";
  std::string compress = R"("compress":{"rope_type":"yarn","factor":16,
    "beta_fast":32,"beta_slow":1,"original_max_position_embeddings":65536,
    "rope_theta":40000,"partial_rotary_factor":0.5,"attention_factor":1.0})";
  std::string both =
      with(R"("rope_parameters":{)" + std::string(main) + "," + compress + "}");
  ModelConfig a = read(old), b = read(both);
  for (int layer : {0, 1})
    EXPECT_EQ(rotary(a, layer).frequencies(), rotary(b, layer).frequencies());
  EXPECT_EQ(refusal(replaced(both, R"("rope_theta":40000)",
                             R"("rope_theta":160000)")),
            "c.json at /compress_rope_theta: found 40000 here and 160000 in "
            "the rotary block; expected the same value in both");
  EXPECT_EQ(refusal(replaced(both, R"("attention_factor":1.0)",
                             R"("attention_factor":1.277)")),
            "c.json at /rope_parameters/compress/attention_factor: found "
            "1.277; expected 1: these models do not scale cos and sin");
  EXPECT_EQ(refusal(with(R"("rope_parameters":{)" + std::string(main) + "}")),
            "c.json at /rope_parameters: found no entry for 'compress', the "
            "type of layer 0; expected one for each layer type");
}

TEST(Ratios, DraftLayersTakeNoLayersPlace) {
  ModelConfig m =
      read(replaced(replaced(v4(R"("num_nextn_predict_layers":1)"),
                             "[0,4,16,0]", "[128,128,4,128,4,0]"),
                    R"("num_hidden_layers":3)", R"("num_hidden_layers":5)"));
  std::vector<std::string> kinds;
  for (const LayerDesc &layer : m.layers)
    kinds.push_back(kind(layer));
  EXPECT_EQ(kinds, (std::vector<std::string>{"128", "128", "4i", "128", "4i"}));
  EXPECT_TRUE(contains(m.notes, "/num_nextn_predict_layers: 1 draft layer(s), "
                                "not planned"));
  EXPECT_TRUE(contains(m.notes, "/compress_ratios: 1 ratio(s) after those of "
                                "the 5 layers, of draft layers, not planned"));
}

TEST(Ratios, NoRatioNeedsNoBase) {
  std::string text = replaced(v4(), "[0,4,16,0]", "[0,0,0]");
  text = replaced(text, R"("compress_rope_theta":40000,)", "");
  for (const char *key : {R"("index_n_heads":8,)", R"("index_topk":4,)"})
    text = replaced(text, key, "");
  EXPECT_EQ(count(read(text), ""), 3);
}

TEST(Ratios, AWindowThatHoldsEverything) {
  ModelConfig m = read(v4(R"("max_position_embeddings":8)"));
  EXPECT_EQ(m.layers[0].sources[0].window, 0);
  EXPECT_TRUE(contains(m.notes, "/sliding_window 8 never slides within "
                                "max_position_embeddings 8"));
}

TEST(Ratios, Faults) {
  struct {
    const char *from, *to, *message;
  } faults[] = {
      {R"("compress_rope_theta":40000,)", "",
       "/compress_rope_theta: the key is missing; expected the base of the "
       "layers that compress"},
      {R"("compress_rope_theta":40000)", R"("compress_rope_theta":0)",
       "/compress_rope_theta: found 0; expected a finite positive number"},
      {"[0,4,16,0]", "[0,4]",
       "/compress_ratios: found 2 ratios for 3 layers; expected one for each "
       "layer, and perhaps for draft layers after them"},
      {"[0,4,16,0]", "[0,-4,16]",
       "/compress_ratios/1: found -4; expected an integer from 0 to 65536"},
      {"[0,4,16,0]", "[0,4,\"16\"]",
       "/compress_ratios/2: found \"16\"; expected an integer from 0 to 65536"},
      {"[0,4,16,0]", "4",
       "/compress_ratios: found 4; expected a list of integers"},
      {R"("compress_ratios":[0,4,16,0],)", "",
       "/compress_ratios: the key is missing; expected a list of integers"},
      {R"("num_key_value_heads":1)", R"("num_key_value_heads":4)",
       "/num_key_value_heads: found 4; expected 1, as all heads share one "
       "vector"},
      {R"("o_groups":2)", R"("o_groups":3)",
       "/o_groups: found 3; expected a divisor of num_attention_heads 4"},
      {R"("qk_rope_head_dim":16)", R"("qk_rope_head_dim":15)",
       "/qk_rope_head_dim: found 15; expected an even number up to head_dim "
       "32"},
      {R"("qk_rope_head_dim":16)", R"("qk_rope_head_dim":64)",
       "/qk_rope_head_dim: found 64; expected an even number up to head_dim "
       "32"},
      {R"("q_lora_rank":24)", R"("q_lora_rank":null)",
       "/q_lora_rank: found null; expected an integer from 1 to 1048576"},
      {R"("sliding_window":8)", R"("sliding_window":0)",
       "/sliding_window: found 0; expected an integer from 1 to 2147483647"},
      {R"("index_topk":4)", R"("index_topk":null)",
       "/index_topk: found null; expected an integer from 1 to 1048576"},
      {R"("index_head_dim":32)", R"("index_head_dim":48)",
       "/index_head_dim: found 48; expected a power of two, as a Hadamard "
       "matrix mixes the channels"},
      {R"("index_topk":4)", R"("index_topk":4,"attention_bias":true)",
       "/attention_bias: found true; expected false: these models have no "
       "biases"},
      {R"("index_topk":4)", R"("index_topk":4,"kv_source_layer_ids":[1])",
       "/kv_source_layer_ids: found a key of the compress group that "
       "'deepseek_v4' does not read; expected only keys that the family "
       "reads"},
      {R"("index_topk":4)", R"("index_topk":4,"kv_lora_rank":512)",
       "/kv_lora_rank: found a key of the attention group that 'deepseek_v4' "
       "does not read; expected only keys that the family reads"},
      {R"("beta_slow":1)", R"("beta_slow":1,"mscale":1.0)",
       "/rope_scaling/mscale: found a key that no 'yarn' rotation has; "
       "expected only keys of that rotation"},
  };
  for (const auto &fault : faults)
    EXPECT_EQ(refusal(replaced(v4(), fault.from, fault.to)),
              std::string("c.json at ") + fault.message);
}

TEST(Ratios, InferenceSpellingHasNoDefaults) {
  std::string text = shipped("configs/deepseek-v4-flash.inference.json");
  for (const char *key :
       {"compress_rope_theta", "original_seq_len", "rope_factor", "beta_fast",
        "beta_slow", "rope_theta"}) {
    std::string quoted = std::string("\"") + key + "\"";
    EXPECT_EQ(refusal(replaced(text, quoted, std::string("\"x") + key + "\""))
                  .find("c.json at /" + std::string(key) +
                        ": the key is missing; expected"),
              0u);
  }
}

TEST(Ratios, InferenceSpellingTurnsYarnOff) {
  ModelConfig m = read(
      replaced(shipped("configs/deepseek-v4-flash.inference.json"),
               R"("original_seq_len": 65536)", R"("original_seq_len": 0)"));
  EXPECT_EQ(rotary(m, 2).scaling, Rotary::Scaling::None);
  EXPECT_EQ(rotary(m, 2).theta, 160000);
}
