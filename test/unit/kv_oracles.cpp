//===- kv_oracles.cpp - plans of imported models, run in f64 ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Models with selections and compressed history, planned and run step by step by
// the reference executor, against values that were computed independently
// (test/oracles/README.md).
//
//===----------------------------------------------------------------------===//

#include "kv_fixture.h"

#include "runtime/Safetensors.h"

#include <filesystem>

using namespace attnc;
using namespace attnc::test;

namespace {

class Oracles : public KvTest, public ::testing::WithParamInterface<const char *> {
protected:
  /// Compares a trace of picks with marks [tokens, entries] of 0 and 1.
  static void comparePicks(const RunResult::Trace &found, const SafetensorsFile &file,
                           const std::string &name) {
    Result<std::vector<int32_t>> marks = file.readI32(name);
    ASSERT_TRUE(marks) << marks.error();
    int64_t entries = file.find(name)->shape.back();
    std::vector<int32_t> mine(marks->size());
    for (size_t i = 0; i < found.rows.size(); ++i)
      if (int64_t pick = int64_t(found.rows[i]); pick >= 0)
        mine.at(int64_t(i) / found.width * entries + pick) = 1;
    EXPECT_EQ(mine, *marks) << name;
  }

  static void compare(const RunResult &result, const SafetensorsFile &file) {
    int compared = 0;
    for (const auto &[name, info] : file.tensors()) {
      if (name.rfind("exact.", 0) != 0)
        continue;
      std::string mine = name.substr(6);
      bool hidden = mine == "hidden";
      if (!hidden && !result.traces.count(mine))
        continue;
      ++compared;
      if (info.type == DType::U8) {
        comparePicks(result.traces.at(mine), file, name);
        continue;
      }
      Result<std::vector<float>> values = file.readF32(name);
      ASSERT_TRUE(values) << values.error();
      EXPECT_LT(worstDifference({values->begin(), values->end()},
                                hidden ? result.hidden : result.traces.at(mine).rows),
                1e-5)
          << name;
    }
    EXPECT_GE(compared, 3);
  }
};

TEST_P(Oracles, AgreeInEverySchedule) {
  std::string folder = std::string(ATTNC_TEST_DATA) + "/oracles/" + GetParam();
  ImportInfo info;
  auto graph = importModel(folder, context, {}, info);
  ASSERT_TRUE(graph) << info.error;
  mlir::attn::PlanOptions options;
  options.storage = mlir::attn::Storage::Exact;
  options.pageEntries = 16;
  auto step = lower(*graph, options);
  ASSERT_TRUE(step);
  auto weights = openWeights(folder + "/model.safetensors");
  auto input = openInput(folder + "/input.safetensors", info.hidden);
  auto expected = SafetensorsFile::open(folder + "/expected.safetensors");
  ASSERT_TRUE(weights && input && expected);
  for (const char *schedule : {"prefill", "decode", "chunk:5", "mixed:3", "batch:1"}) {
    SCOPED_TRACE(schedule);
    Result<RunResult> result = run(*step, **weights, *input, schedule);
    ASSERT_TRUE(result) << result.error();
    compare(*result, **expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Kv, Oracles, ::testing::Values("deepseek_v32", "deepseek_v4", "deepseek_v41", "llama_gqa",
                                           "mistral_window", "gpt_oss_sink", "deepseek_v3"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
