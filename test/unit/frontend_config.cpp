//===- frontend_config.cpp - what the families read and refuse
//-------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend/Families.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace attnc;

namespace {

/// A small config of `modelType`; `more` are further members, as text.
std::string config(const std::string &modelType, const std::string &more = "",
                   int layers = 2) {
  return R"({"model_type":")" + modelType +
         R"(","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":)" +
         std::to_string(layers) + (more.empty() ? "" : ",") + more + "}";
}

ModelConfig read(const std::string &text) {
  Result<ModelConfig> result = readModelConfig(text, "c.json");
  EXPECT_TRUE(bool(result)) << (result ? "" : result.error());
  return result ? *result : ModelConfig();
}

std::string refusal(const std::string &text) {
  Result<ModelConfig> result = readModelConfig(text, "c.json");
  return result ? "accepted" : result.error();
}

bool contains(const std::vector<std::string> &sentences,
              const std::string &part) {
  for (const std::string &sentence : sentences)
    if (sentence.find(part) != std::string::npos)
      return true;
  return false;
}

const ProjectedSource &projected(const ModelConfig &config, int layer = 0) {
  return *config.layers.at(layer).sources.at(0).projected;
}

const Rotary &rotary(const ModelConfig &config, int layer = 0) {
  return config.layers.at(layer).query.rope.rotary;
}

std::vector<int64_t> windows(const ModelConfig &config) {
  std::vector<int64_t> result;
  for (const LayerDesc &layer : config.layers)
    result.push_back(layer.sources[0].window);
  return result;
}

} // namespace

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

TEST(Families, Llama) {
  ModelConfig m = read(config("llama", R"("num_key_value_heads":2)"));
  const LayerDesc &layer = m.layers[1];
  EXPECT_EQ(m.hidden, 64);
  EXPECT_EQ(layer.inputNorm.weight, "model.layers.1.input_layernorm.weight");
  EXPECT_EQ(layer.query.up.weight, "model.layers.1.self_attn.q_proj.weight");
  EXPECT_EQ(layer.query.up.bias, "");
  EXPECT_EQ(layer.query.width, 16);
  EXPECT_EQ(projected(m).heads, 2);
  EXPECT_EQ(projected(m).key.out, 32);
  EXPECT_FALSE(layer.query.headNorm);
  EXPECT_FALSE(layer.outputNorm);
  EXPECT_FALSE(layer.softCap);
  EXPECT_EQ(layer.sink, "");
  EXPECT_EQ(layer.scale, 0.25);
  EXPECT_FALSE(layer.query.rope.interleaved);
  EXPECT_EQ(layer.feedForward, "model.layers.1.mlp");
}

TEST(Families, LlamaWithBiases) {
  ModelConfig m = read(config("llama", R"("attention_bias":true)"));
  EXPECT_EQ(m.layers[0].query.up.bias, "model.layers.0.self_attn.q_proj.bias");
  EXPECT_EQ(projected(m).key.bias, "model.layers.0.self_attn.k_proj.bias");
  EXPECT_EQ(projected(m).value.bias, "model.layers.0.self_attn.v_proj.bias");
  EXPECT_EQ(m.layers[0].output.bias, "model.layers.0.self_attn.o_proj.bias");
}

TEST(Families, Qwen3NormalisesHeads) {
  ModelConfig m = read(config("qwen3", R"("head_dim":32)"));
  ASSERT_TRUE(m.layers[0].query.headNorm);
  EXPECT_EQ(m.layers[0].query.headNorm->weight,
            "model.layers.0.self_attn.q_norm.weight");
  EXPECT_EQ(m.layers[0].query.headNorm->width, 32);
  EXPECT_EQ(projected(m).keyNorm->weight,
            "model.layers.0.self_attn.k_norm.weight");
}

TEST(Families, Gemma2) {
  ModelConfig m = read(config("gemma2", R"("head_dim":16,"sliding_window":8)"));
  const LayerDesc &layer = m.layers[0];
  EXPECT_EQ(layer.scale, 1.0 / 16); // query_pre_attn_scalar 256
  EXPECT_EQ(layer.softCap, 50);
  EXPECT_EQ(layer.inputNorm.offset, 1);
  ASSERT_TRUE(layer.outputNorm);
  EXPECT_EQ(layer.outputNorm->weight,
            "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(projected(m).heads, 4);
  EXPECT_EQ(windows(m), (std::vector<int64_t>{8, 0}));
  EXPECT_TRUE(contains(m.defaulted, "/attn_logit_softcapping = 50"));
  EXPECT_TRUE(contains(m.defaulted, "/query_pre_attn_scalar = 256"));
}

TEST(Families, Gemma2NullSoftCapIsNone) {
  ModelConfig m = read(config("gemma2", R"("attn_logit_softcapping":null)"));
  EXPECT_FALSE(m.layers[0].softCap);
  EXPECT_NE(refusal(config("gemma2", R"("attn_logit_softcapping":0)"))
                .find("c.json at /attn_logit_softcapping: found 0; expected"),
            std::string::npos);
}

TEST(Families, GptOss) {
  ModelConfig m =
      read(config("gpt_oss", R"("num_key_value_heads":2,"rope_scaling":{
        "rope_type":"yarn","factor":32.0,"beta_fast":32.0,"beta_slow":1.0,
        "truncate":false,"original_max_position_embeddings":4096})"));
  const LayerDesc &layer = m.layers[0];
  EXPECT_EQ(layer.sink, "model.layers.0.self_attn.sinks");
  EXPECT_EQ(layer.output.bias, "model.layers.0.self_attn.o_proj.bias");
  EXPECT_EQ(layer.query.width, 64);
  EXPECT_EQ(layer.scale, 0.125);
  EXPECT_EQ(rotary(m).theta, 150000);
  EXPECT_FALSE(rotary(m).truncate);
  EXPECT_DOUBLE_EQ(rotary(m).amplitude, 0.1 * std::log(32.0) + 1);
  EXPECT_EQ(windows(m), (std::vector<int64_t>{128, 0}));
}

TEST(Families, NestedTextConfig) {
  ModelConfig m = read(R"({"model_type":"mistral3","torch_dtype":"bfloat16",
    "vision_config":{"rope_theta":1},"vision_rope_theta":2,"text_config":)" +
                       config("mistral", R"("sliding_window":null)") + "}");
  EXPECT_EQ(m.modelType, "mistral");
  EXPECT_EQ(m.torchDtype, "bfloat16");
  EXPECT_EQ(m.layers.size(), 2u);
}

TEST(Families, KeyOfAGroupOutsideTextConfig) {
  EXPECT_EQ(
      refusal(R"({"rope_theta":5,"text_config":)" + config("llama") + "}"),
      "c.json at /rope_theta: found a key of the rope group that 'llama' "
      "does not read; expected only keys that the family reads");
}

TEST(Families, UnknownType) {
  EXPECT_EQ(refusal(config("deepseek_v99")),
            "c.json at /model_type: found 'deepseek_v99'; expected one of "
            "llama, mistral, qwen3, gemma2, gpt_oss, deepseek_v2, deepseek_v3");
  EXPECT_EQ(refusal("{}").find("c.json at /model_type: the key is missing"),
            0u);
  EXPECT_EQ(refusal("[]"),
            "c.json at /: found a list of 0; expected an object");
}

TEST(Families, OtherKeysAreListed) {
  ModelConfig m = read(config("llama", R"("vocab_size":5,"a/b":1)"));
  EXPECT_EQ(m.unknownKeys, (std::vector<std::string>{"/vocab_size", "/a~1b"}));
}

TEST(Families, UnreadKeyOfAGroup) {
  EXPECT_EQ(refusal(config("llama", R"("sliding_window":4096)")),
            "c.json at /sliding_window: found a key of the attention group "
            "that 'llama' does not read; expected only keys that the family "
            "reads");
  EXPECT_EQ(refusal(config("deepseek_v3", R"("index_topk":2048)")),
            "c.json at /index_topk: found a key of the index group that "
            "'deepseek_v3' does not read; expected only keys that the family "
            "reads");
  EXPECT_EQ(
      refusal(config("llama", R"("compress_ratios":[4])"))
          .find("c.json at /compress_ratios: found a key of the compress"),
      0u);
  // Null says that there is no such thing.
  EXPECT_EQ(refusal(config("llama", R"("sliding_window":null)")), "accepted");
}

TEST(Families, UnbuiltOnes) {
  for (const char *type :
       {"deepseek_v32", "deepseek_v4", "deepseek_v41", "deepseek_v41_text"})
    EXPECT_EQ(refusal(config(type))
                  .find("c.json at /model_type: found a "
                        "DeepSeek V"),
              0u);
  std::string inference = R"({"dim":64,"n_layers":2,"n_heads":4,)";
  EXPECT_EQ(refusal(inference + R"("index_topk":5})")
                .find("c.json at /index_topk: found a DeepSeek V3.2 config"),
            0u);
  EXPECT_EQ(refusal(inference + R"("index_topk":5,"compress_ratios":[]})")
                .find("c.json at /compress_ratios: found a DeepSeek V4 config"),
            0u);
  EXPECT_EQ(
      refusal(inference + R"("compress_ratios":[],"kv_source_layers":[]})")
          .find("c.json at /kv_source_layers: found a DeepSeek V4.1 config"),
      0u);
}

//===----------------------------------------------------------------------===//
// DeepSeek V2 and V3
//===----------------------------------------------------------------------===//

static const char *const v3Scaling =
    R"("rope_scaling":{"type":"yarn","factor":40,"beta_fast":32,"beta_slow":1,
    "mscale":1.0,"mscale_all_dim":1.0,"original_max_position_embeddings":4096})";

TEST(Latent, NullQueryRankProjectsDirectly) {
  ModelConfig m = read(
      R"({"model_type":"deepseek_v2","hidden_size":2048,"num_hidden_layers":27,
      "num_attention_heads":16,"q_lora_rank":null,"kv_lora_rank":512,
      "qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128})");
  const QueryDesc &query = m.layers[26].query;
  EXPECT_FALSE(query.down);
  EXPECT_FALSE(query.downNorm);
  EXPECT_EQ(query.up.weight, "model.layers.26.self_attn.q_proj.weight");
  EXPECT_EQ(query.up.out, 3072);
  const LatentSource &source = *m.layers[26].sources[0].latent;
  EXPECT_EQ(source.down.out, 576);
  EXPECT_EQ(source.up.out, 4096);
  EXPECT_EQ(source.norm.eps, 1e-6);
  EXPECT_TRUE(source.rope.interleaved);
}

TEST(Latent, AbsentQueryRankIsTheFamilyDefault) {
  ModelConfig m = read(config("deepseek_v3"));
  ASSERT_TRUE(m.layers[0].query.down);
  EXPECT_EQ(m.layers[0].query.down->out, 1536);
  EXPECT_TRUE(contains(m.defaulted, "/q_lora_rank = 1536"));
}

TEST(Latent, ZeroQueryRankIsRefused) {
  for (const char *rank : {"0", "-1", "1.5", "\"8\""})
    EXPECT_EQ(
        refusal(config("deepseek_v2", std::string("\"q_lora_rank\":") + rank))
            .find(std::string("c.json at /q_lora_rank: found ") + rank),
        0u);
}

TEST(Latent, LatentNormsIgnoreTheConfigsEps) {
  ModelConfig m = read(config("deepseek_v3", R"("rms_norm_eps":1e-3)"));
  EXPECT_EQ(m.layers[0].inputNorm.eps, 1e-3);
  EXPECT_EQ(m.layers[0].query.downNorm->eps, 1e-6);
  EXPECT_EQ(m.layers[0].sources[0].latent->norm.eps, 1e-6);
}

TEST(Latent, SoftmaxScaleFollowsMscaleAllDim) {
  auto read40 = [](const char *pair) {
    return read(config("deepseek_v3", std::string(R"("max_position_embeddings":
      163840,"rope_scaling":{"type":"yarn","factor":40,"beta_fast":32,
      "beta_slow":1,"original_max_position_embeddings":4096)") +
                                          pair + "}"));
  };
  ModelConfig v3 = read40(R"(,"mscale":1.0,"mscale_all_dim":1.0)");
  EXPECT_NEAR(v3.layers[0].scale, 0.1352338, 1e-7);
  EXPECT_EQ(rotary(v3).amplitude, 1);
  ModelConfig lite = read40(R"(,"mscale":0.707,"mscale_all_dim":0.707)");
  EXPECT_NEAR(lite.layers[0].scale, 0.1147214, 1e-7);
  EXPECT_EQ(rotary(lite).amplitude, 1);
  for (const char *pair : {R"(,"mscale":1.0,"mscale_all_dim":0.0)", ""}) {
    ModelConfig plain = read40(pair);
    EXPECT_NEAR(plain.layers[0].scale, 0.0721688, 1e-7);
    EXPECT_NEAR(rotary(plain).amplitude, 1.3688879, 1e-7);
  }
}

TEST(Latent, BothRopeSpellings) {
  ModelConfig old = read(config("deepseek_v3", v3Scaling));
  ModelConfig renamed = read(config("deepseek_v3", R"("head_dim":64,
    "qk_head_dim":192,"rope_interleave":true,"rope_parameters":{
    "rope_type":"yarn","rope_theta":10000.0,"factor":40.0,"beta_fast":32.0,
    "beta_slow":1.0,"mscale":1.0,"mscale_all_dim":1.0,
    "original_max_position_embeddings":4096})"));
  EXPECT_EQ(rotary(old).frequencies(), rotary(renamed).frequencies());
  EXPECT_EQ(old.layers[0].scale, renamed.layers[0].scale);
}

TEST(Latent, DerivedKeysMustAgree) {
  EXPECT_EQ(refusal(config("deepseek_v3", R"("head_dim":128)")),
            "c.json at /head_dim: found 128; expected 64, qk_rope_head_dim");
  EXPECT_EQ(refusal(config("deepseek_v3", R"("num_key_value_heads":1)"))
                .find("c.json at /num_key_value_heads: found 1; expected 4"),
            0u);
}

TEST(Latent, DraftLayersAreNotPlanned) {
  ModelConfig m =
      read(config("deepseek_v3", R"("num_nextn_predict_layers":1)"));
  EXPECT_TRUE(contains(m.notes, "/num_nextn_predict_layers: 1 draft layer(s), "
                                "not planned"));
}

TEST(Latent, BiasesOfTheFirstProjectionsOnly) {
  ModelConfig m = read(config("deepseek_v3", R"("attention_bias":true)"));
  EXPECT_NE(m.layers[0].query.down->bias, "");
  EXPECT_EQ(m.layers[0].query.up.bias, "");
  EXPECT_NE(m.layers[0].sources[0].latent->down.bias, "");
  EXPECT_EQ(m.layers[0].sources[0].latent->up.bias, "");
  EXPECT_NE(m.layers[0].output.bias, "");
}

TEST(Latent, InferenceSpelling) {
  ModelConfig m = read(R"({"dim":2048,"n_layers":27,"n_heads":16,
    "q_lora_rank":0,"kv_lora_rank":512,"qk_nope_head_dim":128,
    "qk_rope_head_dim":64,"v_head_dim":128,"mscale":0.707})");
  EXPECT_FALSE(m.layers[0].query.down);
  EXPECT_NEAR(m.layers[0].scale, 0.1147214, 1e-7);
  EXPECT_EQ(rotary(m).scaling, Rotary::Scaling::Yarn);
  EXPECT_EQ(rotary(m).factor, 40);
  EXPECT_EQ(rotary(m).amplitude, 1);
  EXPECT_TRUE(contains(m.defaulted, "/rope_factor = 40"));
}

TEST(Latent, InferenceSpellingTurnsYarnOffForShortLengths) {
  ModelConfig m = read(R"({"dim":64,"n_layers":1,"n_heads":4,
    "max_seq_len":4096})");
  EXPECT_EQ(rotary(m).scaling, Rotary::Scaling::None);
  EXPECT_NEAR(m.layers[0].scale, 0.0721688, 1e-7);
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

TEST(Heads, WrittenHeadDimCounts) {
  ModelConfig m = read(R"({"model_type":"mistral","hidden_size":5120,
    "num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,
    "num_hidden_layers":40})");
  EXPECT_EQ(m.layers[0].query.width, 128);
  EXPECT_EQ(m.layers[0].query.up.out, 4096);
  EXPECT_EQ(projected(m).key.out, 1024);
}

TEST(Heads, NullHeadDimIsDerived) {
  EXPECT_EQ(read(config("llama", R"("head_dim":null)")).layers[0].query.width,
            16);
}

TEST(Heads, IndivisibleHiddenSize) {
  EXPECT_EQ(refusal(R"({"model_type":"llama","hidden_size":4100,
    "num_attention_heads":32,"num_hidden_layers":1})"),
            "c.json at /hidden_size: found 4100 without a head_dim; expected a "
            "multiple of num_attention_heads 32");
}

TEST(Heads, BadHeadDim) {
  EXPECT_EQ(refusal(config("llama", R"("head_dim":0)")),
            "c.json at /head_dim: found 0; expected an integer from 1 to "
            "1048576");
  EXPECT_EQ(refusal(config("llama", R"("head_dim":-8)"))
                .find("c.json at /head_dim: found -8; expected"),
            0u);
  EXPECT_EQ(refusal(config("llama", R"("head_dim":15)")),
            "c.json at /head_dim: found heads of 15 channels; expected an even "
            "number, as a rotation pairs them");
}

TEST(Heads, KeyValueHeads) {
  auto text = [](const char *more) {
    return std::string(R"({"model_type":"llama","hidden_size":4096,
      "num_attention_heads":32,"num_hidden_layers":1)") +
           more + "}";
  };
  EXPECT_EQ(projected(read(text(""))).heads, 32);
  EXPECT_EQ(projected(read(text(R"(,"num_key_value_heads":null)"))).heads, 32);
  EXPECT_EQ(projected(read(text(R"(,"num_key_value_heads":8)"))).heads, 8);
  EXPECT_EQ(projected(read(text(R"(,"num_key_value_heads":1)"))).heads, 1);
  EXPECT_EQ(refusal(text(R"(,"num_key_value_heads":5)")),
            "c.json at /num_key_value_heads: found 5; expected a divisor of "
            "num_attention_heads 32");
  EXPECT_EQ(refusal(text(R"(,"num_key_value_heads":64)")),
            "c.json at /num_key_value_heads: found 64; expected a divisor of "
            "num_attention_heads 32");
  EXPECT_EQ(refusal(text(R"(,"num_key_value_heads":0)"))
                .find("c.json at /num_key_value_heads: found 0; expected"),
            0u);
}

TEST(Heads, ProductsAreChecked) {
  EXPECT_EQ(refusal(R"({"model_type":"llama","hidden_size":64,
    "num_attention_heads":1048576,"head_dim":1048576,"num_hidden_layers":1})"),
            "c.json at /num_attention_heads: found 1048576 heads of 1048576 "
            "channels (head_dim); expected at most 2^31 channels");
  EXPECT_EQ(refusal(config("llama", R"("max_position_embeddings":
    4611686018427387904)"))
                .find("c.json at /max_position_embeddings: found "
                      "4611686018427387904; expected an integer from 1 to "
                      "2147483647"),
            0u);
}

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

TEST(Rope, TwoSpellingsOfLinear) {
  for (const char *block :
       {R"({"type":"linear","factor":8.0})",
        R"({"rope_type":"linear","factor":8.0})",
        R"({"type":"linear","rope_type":"linear","factor":8})"}) {
    ModelConfig m =
        read(config("llama", std::string("\"rope_scaling\":") + block));
    EXPECT_EQ(rotary(m).scaling, Rotary::Scaling::Linear);
    EXPECT_EQ(rotary(m).factor, 8);
  }
}

TEST(Rope, NullAndAbsentScalingArePlain) {
  for (const char *more : {"", R"("rope_scaling":null)"})
    EXPECT_EQ(rotary(read(config("llama", more))).scaling,
              Rotary::Scaling::None);
}

TEST(Rope, SpellingsMustAgree) {
  EXPECT_EQ(refusal(config("llama", R"("rope_scaling":{"type":"yarn",
    "rope_type":"linear","factor":8.0})")),
            "c.json at /rope_scaling/rope_type: found rope_type 'linear' and "
            "type 'yarn'; expected the same value in both");
  EXPECT_EQ(refusal(config("llama", R"("rope_theta":5000,"rope_parameters":{
    "rope_type":"default","rope_theta":10000})")),
            "c.json at /rope_theta: found 5000 here and 10000 in the rotary "
            "block; expected the same value in both");
  const char *both = R"("rope_scaling":{"type":"linear","factor":2},
    "rope_parameters":{"rope_type":"linear","factor":%})";
  auto with = [&](char factor) {
    std::string text = both;
    text[text.find('%')] = factor;
    return refusal(config("llama", text));
  };
  EXPECT_EQ(with('2'), "accepted");
  EXPECT_EQ(with('3'), "c.json at /rope_parameters: found other settings than "
                       "in rope_scaling; expected one of the two, or the same "
                       "in both");
}

TEST(Rope, Llama3Frequencies) {
  ModelConfig m = read(config("llama", R"("head_dim":128,"rope_theta":500000,
    "rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,
    "high_freq_factor":4.0,"original_max_position_embeddings":8192})"));
  std::vector<double> f = rotary(m).frequencies();
  ASSERT_EQ(f.size(), 64u);
  EXPECT_EQ(f[0], 1);
  EXPECT_NEAR(f[28], 3.2114e-3, 1e-7);
  EXPECT_NEAR(f[29], 2.16657e-3, 1e-8);
  EXPECT_NEAR(f[34], 1.78508e-4, 1e-9);
  EXPECT_NEAR(f[35], 9.55621e-5, 1e-10);
  EXPECT_NEAR(f[63], 3.06893e-7, 1e-12);
}

TEST(Rope, ThetaUnderRopeParameters) {
  ModelConfig m = read(config("llama", R"("rope_parameters":{
    "rope_type":"default","rope_theta":1234.0})"));
  EXPECT_EQ(rotary(m).theta, 1234);
  EXPECT_FALSE(contains(m.defaulted, "rope_theta"));
}

TEST(Rope, AbsentThetaIsTheFamilyDefault) {
  ModelConfig m = read(config("llama"));
  EXPECT_EQ(rotary(m).theta, 10000);
  EXPECT_TRUE(contains(m.defaulted, "/rope_theta = 10000"));
}

TEST(Rope, BadTheta) {
  for (const char *theta : {"0", "-1", "Infinity", "NaN", "null", "\"1e4\""})
    EXPECT_EQ(refusal(config("llama", std::string("\"rope_theta\":") + theta)),
              std::string("c.json at /rope_theta: found ") + theta +
                  "; expected a finite positive number");
}

TEST(Rope, NestedByLayerType) {
  const char *nested = R"("num_key_value_heads":2,
    "layer_types":["sliding_attention","full_attention"],"rope_parameters":{
    "sliding_attention":{"rope_type":"default","rope_theta":10000.0},
    "full_attention":{"rope_type":"linear","factor":8.0,
                      "rope_theta":1000000.0}})";
  ModelConfig m = read(config("gpt_oss", nested));
  EXPECT_EQ(rotary(m, 0).theta, 1e4);
  EXPECT_EQ(rotary(m, 0).scaling, Rotary::Scaling::None);
  EXPECT_EQ(rotary(m, 1).theta, 1e6);
  EXPECT_EQ(rotary(m, 1).scaling, Rotary::Scaling::Linear);
  EXPECT_EQ(rotary(m, 1).factor, 8);
}

TEST(Rope, MissingLayerType) {
  EXPECT_EQ(refusal(config("gpt_oss", R"("num_key_value_heads":2,
    "rope_parameters":{"sliding_attention":{"rope_theta":10000.0}})")),
            "c.json at /rope_parameters: found no entry for 'full_attention', "
            "the type of layer 1; expected one for each layer type");
}

TEST(Rope, WholeNumbersAreFine) {
  ModelConfig whole = read(config("deepseek_v3", v3Scaling));
  EXPECT_TRUE(whole.warnings.empty());
  ModelConfig floats =
      read(config("deepseek_v3", R"("rope_scaling":{"type":"yarn","factor":40.0,
    "beta_fast":32.0,"beta_slow":1.0,"mscale":1.0,"mscale_all_dim":1.0,
    "original_max_position_embeddings":4096.0})"));
  EXPECT_EQ(rotary(whole).frequencies(), rotary(floats).frequencies());
}

TEST(Rope, BadFactor) {
  for (const char *factor : {"\"40\"", "0.5", "true", "null", "Infinity"})
    EXPECT_EQ(refusal(config("llama", std::string(R"("rope_scaling":{
      "type":"yarn","original_max_position_embeddings":64,"factor":)") +
                                          factor + "}")),
              std::string("c.json at /rope_scaling/factor: found ") + factor +
                  "; expected a finite number of at least 1");
  EXPECT_EQ(refusal(config("llama", R"("rope_scaling":{"type":"linear"})")),
            "c.json at /rope_scaling/factor: the key is missing; expected a "
            "finite number of at least 1");
}

TEST(Rope, WrittenFactorBeatsLengths) {
  ModelConfig m = read(config("qwen3", R"("max_position_embeddings":40960,
    "rope_scaling":{"rope_type":"yarn","factor":4.0,
    "original_max_position_embeddings":32768})"));
  EXPECT_NEAR(rotary(m).amplitude, 1.1386294, 1e-7);
  ASSERT_EQ(m.warnings.size(), 1u);
  EXPECT_EQ(m.warnings[0],
            "/rope_scaling/factor 4 times original_max_position_embeddings "
            "32768 is not max_position_embeddings 40960; the factor is used as "
            "written");
}

TEST(Rope, AttnFactorMultipliesAndIsNamed) {
  ModelConfig m = read(config("qwen3", R"("rope_scaling":{"rope_type":"yarn",
    "factor":4.0,"original_max_position_embeddings":32768,
    "attn_factor":0.8782488562869419})"));
  EXPECT_NEAR(rotary(m).amplitude, 1, 1e-12);
  EXPECT_TRUE(contains(m.warnings, "/rope_scaling/attn_factor "
                                   "0.8782488562869419 multiplies"));
}

TEST(Rope, AttentionFactorReplacesTheAmplitude) {
  ModelConfig m = read(config("qwen3", R"("rope_scaling":{"rope_type":"yarn",
    "factor":4.0,"original_max_position_embeddings":32768,
    "attention_factor":1.25})"));
  EXPECT_EQ(rotary(m).amplitude, 1.25);
}

TEST(Rope, MscalePairOfOtherFamilies) {
  ModelConfig m = read(config("llama", R"("rope_scaling":{"rope_type":"yarn",
    "factor":40,"original_max_position_embeddings":4096,"mscale":1.0,
    "mscale_all_dim":0.707})"));
  EXPECT_NEAR(rotary(m).amplitude, 1.3688879 / 1.2608038, 1e-7);
  EXPECT_EQ(m.layers[0].scale, 0.25);
}

TEST(Rope, DeepseekYarnKeepsTheWrittenLength) {
  ModelConfig m = read(config("deepseek_v3", R"("max_position_embeddings":
    1048576,"rope_scaling":{"rope_type":"deepseek_yarn","factor":32,
    "original_max_position_embeddings":32768})"));
  EXPECT_EQ(m.maxPositions, 1048576);
  EXPECT_EQ(rotary(m).scaling, Rotary::Scaling::Yarn);
  EXPECT_TRUE(m.warnings.empty());
}

TEST(Rope, RefusedKinds) {
  auto kind = [](const char *block) {
    return refusal(config("llama", std::string("\"rope_scaling\":") + block));
  };
  EXPECT_EQ(kind(R"({"type":"dynamic","factor":2.0})"),
            "c.json at /rope_scaling/type: found the rotation 'dynamic', whose "
            "frequencies change with the length, so that cached keys would mix "
            "tables; expected default, linear, llama3 or yarn");
  EXPECT_EQ(kind(R"({"rope_type":"longrope","short_factor":[1],
    "long_factor":[1]})"),
            "c.json at /rope_scaling/rope_type: found the rotation 'longrope', "
            "whose frequencies depend on the position (a short and a long "
            "list); expected default, linear, llama3 or yarn");
  EXPECT_EQ(kind(R"({"type":"mrope"})"),
            "c.json at /rope_scaling/type: found the rotation 'mrope'; "
            "expected default, linear, llama3 or yarn");
  EXPECT_EQ(kind(R"({"factor":2.0})"),
            "c.json at /rope_scaling/rope_type: neither rope_type nor type is "
            "there; expected one of default, linear, llama3, yarn");
  EXPECT_EQ(kind("5"), "c.json at /rope_scaling: found 5; expected an object");
}

TEST(Rope, UnknownKeyOfABlock) {
  EXPECT_EQ(refusal(config("llama", R"("rope_scaling":{"type":"linear",
    "factor":2,"beta_fast":3})")),
            "c.json at /rope_scaling/beta_fast: found a key that no 'linear' "
            "rotation has; expected only keys of that rotation");
}

TEST(Rope, PartialRotation) {
  EXPECT_EQ(refusal(config("llama", R"("rope_parameters":{
    "partial_rotary_factor":0.5})")),
            "c.json at /rope_parameters/partial_rotary_factor: found 0.5; "
            "expected 1, a rotation of the whole head");
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

TEST(Windows, MistralStates) {
  EXPECT_EQ(windows(read(config("mistral"))),
            (std::vector<int64_t>{4096, 4096}));
  EXPECT_TRUE(
      contains(read(config("mistral")).defaulted, "/sliding_window = 4096"));
  EXPECT_EQ(windows(read(config("mistral", R"("sliding_window":null)"))),
            (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(windows(read(config("mistral", R"("sliding_window":5)"))),
            (std::vector<int64_t>{5, 5}));
  for (const char *window : {"0", "-5", "2.5", "true"})
    EXPECT_EQ(
        refusal(config("mistral", std::string("\"sliding_window\":") + window))
            .find(std::string("c.json at /sliding_window: found ") + window +
                  "; expected"),
        0u);
}

TEST(Windows, SwitchedOff) {
  ModelConfig off = read(config("qwen3", R"("sliding_window":4096,
    "use_sliding_window":false,"max_window_layers":21)",
                                28));
  EXPECT_EQ(windows(off), std::vector<int64_t>(28, 0));
  EXPECT_EQ(windows(read(config("qwen3", R"("sliding_window":4096)"))),
            (std::vector<int64_t>{0, 0}));
}

TEST(Windows, MaxWindowLayersCountsLeadingFullLayers) {
  ModelConfig m = read(config("qwen3", R"("use_sliding_window":true,
    "sliding_window":2048,"max_window_layers":2)",
                              5));
  EXPECT_EQ(windows(m), (std::vector<int64_t>{0, 0, 2048, 2048, 2048}));
}

TEST(Windows, AbsentMaxWindowLayersWarns) {
  ModelConfig m = read(config("qwen3", R"("use_sliding_window":true,
    "sliding_window":2048)",
                              5));
  EXPECT_EQ(windows(m), std::vector<int64_t>(5, 0));
  EXPECT_EQ(m.warnings,
            std::vector<std::string>{"/sliding_window 2048 has no effect: "
                                     "max_window_layers 28 keeps all 5 layers "
                                     "full"});
}

TEST(Windows, LayerTypesWin) {
  ModelConfig m = read(config("qwen3", R"("use_sliding_window":true,
    "sliding_window":2048,"layer_types":["sliding_attention","full_attention",
    "full_attention","sliding_attention","full_attention"])",
                              5));
  EXPECT_EQ(windows(m), (std::vector<int64_t>{2048, 0, 0, 2048, 0}));
}

TEST(Windows, ListPattern) {
  std::string eight =
      R"({"text_config":)" +
      config("mistral", R"("sliding_window":[4096,null,null,null])", 8) + "}";
  EXPECT_EQ(windows(read(eight)),
            (std::vector<int64_t>{4096, 0, 0, 0, 4096, 0, 0, 0}));
  EXPECT_EQ(refusal(config("mistral",
                           R"("sliding_window":[4096,null,null,null])", 6)),
            "c.json at /sliding_window: found a list of 4 for 6 layers; "
            "expected a list whose length divides the number of layers");
  EXPECT_EQ(windows(read(config("mistral", R"("sliding_window":[4096,2048])"))),
            (std::vector<int64_t>{4096, 2048}));
  EXPECT_EQ(refusal(config("mistral", R"("sliding_window":[0,null])")),
            "c.json at /sliding_window: found 0 in the list of windows; "
            "expected null or a positive integer");
}

TEST(Windows, NeverSlides) {
  auto at = [](int length) {
    return read(config("mistral", R"("sliding_window":512,
      "max_position_embeddings":)" + std::to_string(length)));
  };
  EXPECT_EQ(windows(at(511)), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(windows(at(512)), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(windows(at(513)), (std::vector<int64_t>{512, 512}));
  EXPECT_TRUE(contains(at(512).notes, "/sliding_window 512 never slides"));
}

TEST(Windows, BadLayerTypes) {
  EXPECT_EQ(refusal(config("mistral", R"("layer_types":["full_attention",
    "full_attention","full_attention"])",
                           4)),
            "c.json at /layer_types: found 3 types for 4 layers; expected one "
            "for each layer");
  EXPECT_EQ(refusal(config("mistral", R"("layer_types":["sliding_attention",
    "linear_attention"])")),
            "c.json at /layer_types: found the type \"linear_attention\" of "
            "layer 1; expected sliding_attention or full_attention");
  EXPECT_EQ(refusal(config("mistral", R"("sliding_window":null,
    "layer_types":["sliding_attention","full_attention"])")),
            "c.json at /sliding_window: found null; expected a positive "
            "integer, as layer_types has windowed layers");
}

TEST(Windows, Synonyms) {
  EXPECT_EQ(refusal(config("gemma2", R"("sliding_window":8,
    "sliding_window_size":9)")),
            "c.json at /sliding_window_size: found 9 here and sliding_window "
            "8; expected the same value in both");
}

//===----------------------------------------------------------------------===//
// Whole files
//===----------------------------------------------------------------------===//

TEST(Files, QuantizationSynonyms) {
  auto text = [](const char *second) {
    return config("llama", std::string(R"("quantization":{"bits":8,"mode":"a"},
      "quantization_config":)") +
                               second);
  };
  EXPECT_EQ(refusal(text(R"({"mode":"a","bits":8})")), "accepted");
  EXPECT_EQ(refusal(text(R"({"mode":"b","bits":8})")),
            "c.json at /quantization_config: found another value than in "
            "quantization; expected the same value in both");
}

TEST(Files, DtypeSynonyms) {
  EXPECT_EQ(read(config("llama", R"("dtype":"bfloat16")")).torchDtype,
            "bfloat16");
  EXPECT_EQ(refusal(config("llama", R"("dtype":"bfloat16",
    "torch_dtype":"float16")")),
            "c.json at /dtype: found another value than in torch_dtype; "
            "expected the same value in both");
}

TEST(Files, NonFiniteInAFieldThatNobodyReads) {
  EXPECT_EQ(refusal(config("llama", R"("time_step_limit":[0.0,Infinity])")),
            "accepted");
  EXPECT_EQ(refusal(config("llama", R"("about":"to Infinity and NaN")")),
            "accepted");
}

TEST(Files, NumbersOutsideAFieldsRange) {
  EXPECT_EQ(refusal(R"({"model_type":"llama","num_hidden_layers":1000000})")
                .find("c.json at /num_hidden_layers: found 1000000; expected "
                      "an integer from 1 to 4096"),
            0u);
  EXPECT_EQ(refusal(config("llama", R"("rms_norm_eps":-1e-6)")),
            "c.json at /rms_norm_eps: found -1e-06; expected a finite positive "
            "number");
}
