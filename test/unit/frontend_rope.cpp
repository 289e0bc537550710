//===- frontend_rope.cpp - the rotary settings of a config --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend_fixture.h"

using namespace attnc;
using namespace attnc::test;

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
