//===- frontend_oracles.cpp - imported models compute the expected values
//--===//
// SPDX-License-Identifier: Apache-2.0
//
// The graph of each oracle whose family is built, evaluated by the interpreter,
// against values that were computed independently (test/oracles/README.md).
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/Interpreter/Interpreter.h"
#include "frontend/Import.h"
#include "runtime/Safetensors.h"
#include "runtime/Weights.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

using namespace attnc;
using namespace mlir;
using namespace mlir::attn;

static double maxAbsError(const StreamValue &found,
                          const std::vector<float> &expected) {
  if (found.data.size() != expected.size())
    return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double error = std::abs(found.data[i] - double(expected[i]));
    // A NaN must not pass for a small error.
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

class Oracle : public ::testing::TestWithParam<const char *> {};

TEST_P(Oracle, ExactValues) {
  std::filesystem::path folder =
      std::filesystem::path(ATTNC_TEST_DATA) / "oracles" / GetParam();
  MLIRContext context;
  ImportInfo info;
  auto module = importModel(folder.string(), context, {}, info);
  ASSERT_TRUE(module) << info.error;
  auto weights = openWeights((folder / "model.safetensors").string());
  ASSERT_TRUE(bool(weights)) << weights.error();
  auto input = SafetensorsFile::open((folder / "input.safetensors").string());
  auto expected =
      SafetensorsFile::open((folder / "expected.safetensors").string());
  ASSERT_TRUE(bool(input) && bool(expected));

  std::vector<float> hidden = *(*input)->readF32("hidden");
  StreamValue x{info.hidden, {hidden.begin(), hidden.end()}};
  SmallVector<StreamValue> outputs;
  int64_t traced = 0;
  auto trace = [&](StringRef name, const StreamValue &value) {
    ++traced;
    EXPECT_LE(maxAbsError(value, *(*expected)->readF32("exact." + name.str())),
              1e-5)
        << name.str();
  };
  ModelOp model = *module->getOps<ModelOp>().begin();
  ASSERT_TRUE(succeeded(interpret(model, x, **weights, outputs, trace)));
  EXPECT_EQ(traced, info.layers);
  EXPECT_LE(maxAbsError(outputs[0], *(*expected)->readF32("exact.hidden")),
            1e-5);
}

INSTANTIATE_TEST_SUITE_P(Built, Oracle,
                         ::testing::Values("llama_mha", "llama_gqa",
                                           "llama_mqa", "mistral_window",
                                           "gpt_oss_sink", "deepseek_v2_lite",
                                           "deepseek_v3"));
