//===- frontend_families.cpp - what a family reads and refuses ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend_fixture.h"

using namespace attnc;
using namespace attnc::test;

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
            "llama, mistral, qwen3, gemma2, gpt_oss, deepseek_v2, deepseek_v3, "
            "deepseek_v32, deepseek_v4, deepseek_v41, deepseek_v41_text");
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

//===----------------------------------------------------------------------===//
// DeepSeek V2 and V3
//===----------------------------------------------------------------------===//

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
