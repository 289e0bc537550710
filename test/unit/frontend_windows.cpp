//===- frontend_windows.cpp - which layers see a window only ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend_fixture.h"

using namespace attnc;
using namespace attnc::test;

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
