//===- passes_published_numbers.cpp - the caches of the shipped configs ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Published bytes per token, and bytes that follow from a change of objective.
// None of these numbers occurs in the compiler.
//
//===----------------------------------------------------------------------===//

#include "frontend/Import.h"
#include "passes/CachePlanning.h"
#include "passes/Pipelines.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace attnc;
using namespace mlir;
using namespace mlir::attn;

namespace {

struct Expected {
  const char *name, *config;
  double bytesPerToken;
  int64_t ringRows; ///< of every ring; 0: no ring
  Absorb absorb = Absorb::Cost;
  Cut cut = Cut::Cost;
  int64_t balance = 200;
  int64_t stateBytes = 0; ///< per sequence
  int64_t mainCaches = -1, indexCaches = -1; ///< paged ones; -1: any number
  Storage storage = Storage::BF16;
};

class PublishedNumbers : public ::testing::TestWithParam<Expected> {};

TEST_P(PublishedNumbers, FollowFromTheCut) {
  const Expected &expected = GetParam();
  MLIRContext context;
  ImportInfo info;
  ImportOptions import;
  import.trainedRoundings = expected.storage == Storage::Published;
  auto module = importModel(std::string(ATTNC_TEST_DATA) + "/" + expected.config, context, import,
                            info);
  ASSERT_TRUE(module) << info.error;
  PlanOptions options;
  options.storage = expected.storage, options.verifyEach = true;
  options.absorb = expected.absorb, options.cut = expected.cut;
  options.balance = expected.balance;
  PassReport report;
  ASSERT_TRUE(succeeded(planModule(*module, options, report)));
  auto plan = planOf(*module);
  ASSERT_TRUE(succeeded(plan));
  double bytes = 0;
  int64_t rings = 0, stateBytes = 0, mainCaches = 0, indexCaches = 0;
  for (const CacheDesc &cache : *plan) {
    if (cache.kind == CacheKind::Paged) {
      bytes += double(cache.rowBytes) / cache.every;
      bool isIndex = cache.segments.size() == 1 && cache.segments[0].name == "index_key";
      ++(isIndex ? indexCaches : mainCaches);
      continue;
    }
    if (cache.kind == CacheKind::State) {
      stateBytes += cache.rows * cache.rowBytes;
      continue;
    }
    EXPECT_EQ(cache.rows, expected.ringRows) << cache.name;
    ++rings;
  }
  EXPECT_EQ(bytes, expected.bytesPerToken);
  EXPECT_EQ(rings, expected.ringRows ? info.layers : 0);
  EXPECT_EQ(stateBytes, expected.stateBytes);
  if (expected.mainCaches >= 0) {
    EXPECT_EQ(mainCaches, expected.mainCaches);
    EXPECT_EQ(indexCaches, expected.indexCaches);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Configs, PublishedNumbers,
    ::testing::Values(
        Expected{"llm_67b", "../configs/deepseek-llm-67b.json", 389120, 0},
        Expected{"mistral", "../configs/mistral-7b-v0.1.json", 0, 4096},
        Expected{"v2_lite", "../configs/deepseek-v2-lite.json", 31104, 0},
        Expected{"v2", "../configs/deepseek-v2.json", 69120, 0},
        Expected{"v3", "../configs/deepseek-v3.json", 70272, 0},
        Expected{"v3_always", "../configs/deepseek-v3.json", 70272, 0, Absorb::Always},
        Expected{"v3_never", "../configs/deepseek-v3.json", 4005504, 0, Absorb::Never},
        Expected{"v3_never_510", "../configs/deepseek-v3.json", 4005504, 0, Absorb::Never,
                 Cut::Cost, 510},
        Expected{"v3_never_530", "../configs/deepseek-v3.json", 70272, 0, Absorb::Never,
                 Cut::Cost, 530},
        Expected{"v3_never_bytes", "../configs/deepseek-v3.json", 70272, 0, Absorb::Never,
                 Cut::Bytes},
        Expected{"v32", "../configs/deepseek-v3.2.json", 85888, 0, Absorb::Cost, Cut::Cost, 200,
                 0, 61, 61},
        Expected{"v32_published", "../configs/deepseek-v3.2.json", 48068, 0, Absorb::Cost,
                 Cut::Cost, 200, 0, 61, 61, Storage::Published},
        Expected{"v4_flash", "../configs/deepseek-v4-flash.json", 6880, 128, Absorb::Cost,
                 Cut::Cost, 200, 606720, 41, 21},
        Expected{"v4_pro", "../configs/deepseek-v4-pro.json", 9848, 128, Absorb::Cost, Cut::Cost,
                 200, 881664, 61, 30},
        Expected{"v41_flash", "../configs/deepseek-v4.1-flash.json", 3200, 128, Absorb::Cost,
                 Cut::Cost, 200, 18432, 4, 4},
        Expected{"v41_flash_published", "../configs/deepseek-v4.1-flash.json", 890, 128,
                 Absorb::Cost, Cut::Cost, 200, 18432, 4, 4, Storage::Published},
        Expected{"v41_flash_505", "../configs/deepseek-v4.1-flash.json", 3200, 128, Absorb::Cost,
                 Cut::Cost, 505, 18432, 4, 4},
        Expected{"v41_flash_530", "../configs/deepseek-v4.1-flash.json", 2560, 128, Absorb::Cost,
                 Cut::Cost, 530, 18432, 4, 0},
        Expected{"v41_flash_bytes", "../configs/deepseek-v4.1-flash.json", 2560, 128,
                 Absorb::Cost, Cut::Bytes, 200, 18432, 4, 0},
        Expected{"mha_4096", "Inputs/mha-4096.json", 524288, 0},
        Expected{"mha_4096_bytes", "Inputs/mha-4096.json", 262144, 0, Absorb::Cost, Cut::Bytes},
        Expected{"mha_8192_bytes", "Inputs/mha-8192.json", 524288, 0, Absorb::Cost, Cut::Bytes}),
    [](const ::testing::TestParamInfo<Expected> &info) { return info.param.name; });

} // namespace
