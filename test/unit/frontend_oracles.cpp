//===- frontend_oracles.cpp - imported models compute the expected values
//--===//
// SPDX-License-Identifier: Apache-2.0
//
// The graph of each oracle, evaluated by the interpreter, against values that
// were computed independently (test/oracles/README.md): without any rounding,
// and with the roundings that the model was trained with.
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

/// How many picks of `expected` are not those of `found`, or the reverse.
static int64_t countDifferences(const SelectionValue &found,
                                const std::vector<int32_t> &expected) {
  StreamValue rows = found.rows();
  if (rows.data.size() != expected.size())
    return std::max(rows.data.size(), expected.size());
  int64_t differences = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    differences += (rows.data[i] != 0) != (expected[i] != 0);
  return differences;
}

/// The oracle `folder`, and which of its expected values to compare with.
struct OracleCase {
  const char *folder;
  const char *values;
};

class Oracle : public ::testing::TestWithParam<OracleCase> {
protected:
  void SetUp() override {
    folder =
        std::filesystem::path(ATTNC_TEST_DATA) / "oracles" / GetParam().folder;
    auto file =
        SafetensorsFile::open((folder / "expected.safetensors").string());
    ASSERT_TRUE(bool(file)) << file.error();
    expected = *file;
  }

  std::string nameOf(StringRef value) const {
    return std::string(GetParam().values) + "." + value.str();
  }

  /// Compares what is traced, and counts it.
  InterpretHooks compareTraces() {
    InterpretHooks hooks;
    hooks.trace = [this](StringRef name, const StreamValue &value) {
      ++streams;
      EXPECT_LE(maxAbsError(value, *expected->readF32(nameOf(name))), 1e-5)
          << name.str();
    };
    hooks.traceSelection = [this](StringRef name, const SelectionValue &value) {
      ++selections;
      EXPECT_EQ(countDifferences(value, *expected->readI32(nameOf(name))), 0)
          << name.str();
    };
    return hooks;
  }

  int64_t countExpected(const std::string &suffix) const {
    int64_t count = 0;
    for (const auto &[name, info] : expected->tensors())
      count +=
          name.rfind(nameOf("layer"), 0) == 0 && name.size() > suffix.size() &&
          name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
    return count;
  }

  std::filesystem::path folder;
  std::shared_ptr<SafetensorsFile> expected;
  int64_t streams = 0, selections = 0;
};

TEST_P(Oracle, Values) {
  MLIRContext context;
  ImportInfo info;
  ImportOptions options;
  options.trainedRoundings = GetParam().values == StringRef("stored");
  auto module = importModel(folder.string(), context, options, info);
  ASSERT_TRUE(module) << info.error;
  auto weights = openWeights((folder / "model.safetensors").string());
  ASSERT_TRUE(bool(weights)) << weights.error();
  auto input = SafetensorsFile::open((folder / "input.safetensors").string());
  ASSERT_TRUE(bool(input)) << input.error();

  std::vector<float> hidden = *(*input)->readF32("hidden");
  StreamValue x{info.hidden, {hidden.begin(), hidden.end()}};
  SmallVector<StreamValue> outputs;
  ModelOp model = *module->getOps<ModelOp>().begin();
  ASSERT_TRUE(
      succeeded(interpret(model, x, **weights, outputs, compareTraces())));
  EXPECT_EQ(streams, info.layers);
  EXPECT_EQ(streams, countExpected(".attention"));
  EXPECT_EQ(selections, countExpected(".selection"));
  EXPECT_LE(maxAbsError(outputs[0], *expected->readF32(nameOf("hidden"))),
            1e-5);
}

static std::string caseName(const ::testing::TestParamInfo<OracleCase> &info) {
  return std::string(info.param.folder) + "_" + info.param.values;
}

INSTANTIATE_TEST_SUITE_P(
    All, Oracle,
    ::testing::Values(
        OracleCase{"llama_mha", "exact"}, OracleCase{"llama_gqa", "exact"},
        OracleCase{"llama_mqa", "exact"}, OracleCase{"mistral_window", "exact"},
        OracleCase{"gpt_oss_sink", "exact"},
        OracleCase{"deepseek_v2_lite", "exact"},
        OracleCase{"deepseek_v3", "exact"}, OracleCase{"deepseek_v32", "exact"},
        OracleCase{"deepseek_v4", "exact"}, OracleCase{"deepseek_v41", "exact"},
        OracleCase{"deepseek_v32", "stored"},
        OracleCase{"deepseek_v4", "stored"},
        OracleCase{"deepseek_v41", "stored"}),
    caseName);
