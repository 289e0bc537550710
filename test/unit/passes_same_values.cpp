//===- passes_same_values.cpp - passes do not change what is computed ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Graphs are run by the interpreter before and after passes. The lit tests of
// the passes serve as graphs here too, so that every case whose text is checked
// there is checked for its values here.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/Interpreter/Interpreter.h"
#include "frontend/Import.h"
#include "passes/Pipelines.h"
#include "runtime/Weights.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace attnc;
using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kTokens = 11;

namespace {

/// One random input per argument of `model`.
SmallVector<StreamValue> randomInputs(ModelOp model) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal;
  SmallVector<StreamValue> inputs;
  for (Type type : model.getArgumentTypes()) {
    auto stream = cast<StreamType>(type);
    StreamValue &value = inputs.emplace_back();
    value.features = stream.getNumFeatures();
    value.data.resize(value.features * (kTokens / stream.getEvery()));
    for (double &x : value.data)
      x = normal(engine);
  }
  return inputs;
}

/// The largest difference of any output, infinite if shapes differ or a NaN is
/// met; none if the reference cannot be run.
double maxDifference(ModelOp reference, ModelOp changed) {
  RandomWeights weights(3);
  SmallVector<StreamValue> inputs = randomInputs(reference), expected, found;
  EXPECT_TRUE(succeeded(interpret(reference, inputs, weights, expected)));
  EXPECT_TRUE(succeeded(interpret(changed, inputs, weights, found)));
  if (expected.size() != found.size() || expected.empty())
    return INFINITY;
  double worst = 0;
  for (auto [e, f] : llvm::zip_equal(expected, found)) {
    if (e.data.size() != f.data.size())
      return INFINITY;
    for (auto [a, b] : llvm::zip_equal(e.data, f.data))
      worst = std::isnan(a - b) ? INFINITY : std::max(worst, std::abs(a - b));
  }
  return worst;
}

class SameValues : public ::testing::Test {
protected:
  SameValues() {
    context.loadDialect<AttnDialect, arith::ArithDialect, math::MathDialect>();
  }

  /// Runs passes on every split of a lit test and compares every model.
  void compareFile(const std::string &file,
                   llvm::function_ref<void(OpPassManager &)> addPasses, unsigned expectedModels) {
    auto buffer = llvm::MemoryBuffer::getFile(std::string(ATTNC_TEST_DATA) + "/passes/" + file);
    ASSERT_TRUE(bool(buffer)) << file;
    SmallVector<StringRef> splits;
    (*buffer)->getBuffer().split(splits, "// -----");
    unsigned models = 0;
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &diagnostic) {
      return success(diagnostic.getSeverity() == DiagnosticSeverity::Remark);
    });
    for (StringRef split : splits) {
      OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(split.str(), &context);
      ASSERT_TRUE(module);
      OwningOpRef<ModuleOp> changed = module->clone();
      PassManager manager(&context);
      addPasses(manager);
      ASSERT_TRUE(succeeded(manager.run(*changed)));
      for (ModelOp model : module->getOps<ModelOp>()) {
        auto other = changed->lookupSymbol<ModelOp>(model.getSymName());
        ASSERT_TRUE(other);
        EXPECT_LE(maxDifference(model, other), 1e-11) << model.getSymName().str();
        ++models;
      }
    }
    EXPECT_EQ(models, expectedModels);
  }

  MLIRContext context;
};

} // namespace

TEST_F(SameValues, DecoupleRope) {
  compareFile("decouple-rope.mlir",
              [](OpPassManager &manager) { manager.addPass(createDecoupleRope()); }, 7);
}

TEST_F(SameValues, AbsorbWhereLegal) {
  compareFile("absorb-weights.mlir", [](OpPassManager &manager) {
    AbsorbWeightsOptions options;
    options.absorb = Absorb::Always;
    manager.addPass(createAbsorbWeights(options));
  }, 23);
}

TEST_F(SameValues, ShareStreams) {
  compareFile("share-streams.mlir",
              [](OpPassManager &manager) { manager.addPass(createShareStreams()); }, 4);
}

//===----------------------------------------------------------------------===//
// Whole plans of imported models
//===----------------------------------------------------------------------===//

namespace {
struct PlanCase {
  const char *model;
  Absorb absorb;
  Cut cut;
};
} // namespace

class WholePlan : public ::testing::TestWithParam<PlanCase> {};

TEST_P(WholePlan, BothFormsComputeTheGraph) {
  MLIRContext context;
  ImportInfo info;
  auto graph = importModel(std::string(ATTNC_TEST_DATA) + "/oracles/" + GetParam().model, context,
                           {}, info);
  ASSERT_TRUE(graph) << info.error;
  OwningOpRef<ModuleOp> plan = graph->clone();
  PlanOptions options;
  options.storage = Storage::Exact, options.verifyEach = true;
  options.absorb = GetParam().absorb, options.cut = GetParam().cut;
  PassReport report;
  ASSERT_TRUE(succeeded(planModule(*plan, options, report)));
  ModelOp reference = *graph->getOps<ModelOp>().begin();
  unsigned forms = 0;
  for (ModelOp form : plan->getOps<ModelOp>()) {
    EXPECT_LE(maxDifference(reference, form), 1e-10) << form.getSymName().str();
    ++forms;
  }
  EXPECT_EQ(forms, 2u);
}

static std::vector<PlanCase> planCases() {
  std::vector<PlanCase> cases;
  for (const char *model : {"llama_mha", "llama_gqa", "llama_mqa", "mistral_window",
                            "gpt_oss_sink", "deepseek_v2_lite", "deepseek_v3", "deepseek_v32",
                            "deepseek_v4", "deepseek_v41"})
    for (auto [absorb, cut] : {std::make_pair(Absorb::Cost, Cut::Cost),
                               std::make_pair(Absorb::Always, Cut::Flops),
                               std::make_pair(Absorb::Never, Cut::Bytes)})
      cases.push_back({model, absorb, cut});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Oracles, WholePlan, ::testing::ValuesIn(planCases()),
                         [](const ::testing::TestParamInfo<PlanCase> &info) {
                           return std::string(info.param.model) + "_" +
                                  stringify(info.param.absorb).str() + "_" +
                                  stringify(info.param.cut).str();
                         });
