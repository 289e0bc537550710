//===- report_text.cpp - the text and JSON of reports
//----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/Report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace attnc;

namespace {

CacheDesc cacheOf(int64_t layer, CacheKind kind, int64_t everyOrRows,
                  std::vector<Segment> segments) {
  CacheDesc cache;
  cache.name = "layers." + std::to_string(layer) + ".main";
  cache.layer = layer;
  cache.kind = kind;
  cache.readers = {layer};
  (kind == CacheKind::Paged ? cache.every : cache.rows) = everyOrRows;
  cache.segments = std::move(segments);
  EXPECT_EQ(cache.place(), "");
  return cache;
}

const Format bf16{Elem::BF16};

/// The published rows of V4-Flash, of which every sum has a fraction.
ReportModel flash() {
  Format fp8{Elem::E4M3, 64, Scale::E8M0};
  Format fp4{Elem::E2M1, 32, Scale::E8M0};
  std::vector<Segment> main = {
      {"c", fp8, 448}, {"r", bf16, 64}, {"pad", {}, 1, true}};
  ReportModel model;
  model.name = "flash";
  model.modelType = "deepseek_v4";
  model.layers = 43;
  for (int i = 0; i < 43; ++i) {
    bool selects = i >= 2 && i % 2 == 0;
    model.caches.push_back(cacheOf(i, CacheKind::Ring, 128, main));
    if (i >= 2)
      model.caches.push_back(
          cacheOf(i, CacheKind::Paged, selects ? 4 : 128, main));
    if (selects)
      model.caches.push_back(
          cacheOf(i, CacheKind::Paged, 4, {{"k", fp4, 128}}));
    model.layerKinds.push_back({i,
                                i < 2     ? "window"
                                : selects ? "selected"
                                          : "compressed",
                                {},
                                {},
                                {},
                                {}});
  }
  return model;
}

ReportModel latent() {
  ReportModel model;
  model.name = "v3";
  model.modelType = "deepseek_v3";
  model.layers = 61;
  for (int i = 0; i < 61; ++i) {
    model.caches.push_back(
        cacheOf(i, CacheKind::Paged, 1, {{"c", bf16, 512}, {"k", bf16, 64}}));
    model.layerKinds.push_back({i, "full", i, {}, {}, {}});
  }
  model.decode = {1234567, 0, 2e9, 0};
  model.prefill = {500, 0, 1e9, 0.5};
  model.notes = {"/rope_theta = 10000 (default)"};
  return model;
}

} // namespace

TEST(Report, ExactBytesPerToken) {
  EXPECT_EQ(flash().keyValueBytesPerToken(), 3514.25);
  EXPECT_EQ(exactNumber(flash().keyValueBytesPerToken()), "3514.25");
  EXPECT_EQ(exactNumber(latent().keyValueBytesPerToken()), "70272");
  EXPECT_EQ(flash().bytesPerSequence(CacheKind::Ring), 3214336);
  EXPECT_EQ(flash().bytesPerSequence(CacheKind::State), 0);
}

TEST(Report, ThirdsMakeWholes) {
  ReportModel model;
  for (int i = 0; i < 3; ++i)
    model.caches.push_back(cacheOf(i, CacheKind::Paged, 3, {{"k", bf16, 50}}));
  EXPECT_EQ(model.keyValueBytesPerToken(), 100);
}

TEST(Report, Json) {
  auto json = nlohmann::json::parse(reportJson({flash()}, false));
  EXPECT_EQ(json["name"], "flash");
  EXPECT_EQ(json["model_type"], "deepseek_v4");
  EXPECT_EQ(json["layers"], 43);
  EXPECT_EQ(json["kv_bytes_per_token"], 3514.25);
  EXPECT_EQ(json["ring_bytes_per_sequence"], 3214336);
  EXPECT_EQ(json["state_bytes_per_sequence"], 0);
  double sum = 0;
  for (const auto &cache : json["caches"]) {
    if (cache["kind"] == "paged")
      sum += cache["row_bytes"].get<double>() / cache["every"].get<double>();
    int64_t bytes = 0;
    for (const auto &segment : cache["segments"])
      bytes += segment["bytes"].get<int64_t>();
    EXPECT_EQ(bytes, cache["row_bytes"].get<int64_t>());
  }
  EXPECT_EQ(sum, 3514.25);
  const auto &ring = json["caches"][0];
  EXPECT_EQ(ring["kind"], "ring");
  EXPECT_EQ(ring["rows"], 128);
  EXPECT_EQ(ring["row_bytes"], 584);
  EXPECT_EQ(ring["segments"][0]["format"], "e4m3 block 64 scale e8m0");
  EXPECT_EQ(ring["segments"][2]["name"], "pad");
  EXPECT_EQ(json["layer_kinds"][4]["kind"], "selected");
  EXPECT_TRUE(json["layer_kinds"][4]["kv_source"].is_null());
  EXPECT_TRUE(json["layer_kinds"][4]["trailing_tokens"]["attend"].is_null());
}

TEST(Report, JsonOfPagedCachesAndWork) {
  auto json = nlohmann::json::parse(reportJson({latent(), flash()}, true));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_TRUE(json[0]["kv_bytes_per_token"].is_number_integer());
  EXPECT_TRUE(json[0]["caches"][0]["rows"].is_null());
  EXPECT_EQ(json[0]["caches"][0]["page_entries"], 64);
  EXPECT_EQ(json[0]["caches"][0]["page_bytes"], 64 * 1152);
  EXPECT_EQ(json[0]["layer_kinds"][3]["kv_source"], 3);
  EXPECT_EQ(json[0]["flops_per_token"]["decode"]["attend"], 1234567);
  EXPECT_EQ(json[0]["flops_per_token"]["prefill"]["rebuild"], 0.5);
}

TEST(Report, TextSideBySide) {
  EXPECT_EQ(reportText({latent(), flash()}),
            R"(                          v3           flash
family                    deepseek_v3  deepseek_v4
layers                    61 full      2 window, 21 selected, 20 compressed
KV bytes per token        70272        3514.25
ring bytes per sequence   0            3214336
state bytes per sequence  0            0
caches                    61 paged     43 ring of 128, 42 paged every 4, 20 paged every 128
context                   4096         4096
decode FLOP per token     2.001 G      0
  attend                  1.235 M      0
  project                 2 G          0
prefill FLOP per token    1 G          0
  attend                  500          0
  project                 1 G          0
  rebuild                 0.5          0

v3
  61 x paged: 1152 bytes = c 512 x bf16 + k 64 x bf16, pages of 64 rows in 73728 bytes
  note: /rope_theta = 10000 (default)

flash
  43 x ring of 128: 584 bytes = c 448 x e4m3 block 64 scale e8m0 + r 64 x bf16 + pad 1
  21 x paged every 4: 584 bytes = c 448 x e4m3 block 64 scale e8m0 + r 64 x bf16 + pad 1, pages of 64 rows in 37376 bytes
  21 x paged every 4: 68 bytes = k 128 x e2m1 block 32 scale e8m0, pages of 64 rows in 4352 bytes
  20 x paged every 128: 584 bytes = c 448 x e4m3 block 64 scale e8m0 + r 64 x bf16 + pad 1, pages of 64 rows in 37376 bytes
)");
}
