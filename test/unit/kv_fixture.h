//===- kv_fixture.h - plans of small graphs, run in f64 -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TEST_UNIT_KV_FIXTURE_H
#define ATTNC_TEST_UNIT_KV_FIXTURE_H

#include "dialect/Attn/Interpreter/Interpreter.h"
#include "dialect/Kv/Reference/ReferenceExecutor.h"
#include "frontend/Import.h"
#include "passes/Pipelines.h"
#include "runtime/Schedule.h"
#include "runtime/Weights.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attnc::test {

/// A reference executor as a backend of schedules.
class ReferenceBackend : public StepBackend {
public:
  explicit ReferenceBackend(mlir::kv::ReferenceExecutor &executor) : executor(executor) {}

  int64_t hidden() const override { return executor.hidden(); }
  const std::vector<CacheDesc> &caches() const override { return executor.caches(); }
  std::string step(StepBatch &batch, TraceSink *trace) override {
    if (!trace)
      return executor.step(batch);
    return executor.step(batch, [&](const std::string &name, int64_t row, int64_t count,
                                    int64_t width, const float *data) {
      trace->rows(name, row, count, width, data, width);
    });
  }

private:
  mlir::kv::ReferenceExecutor &executor;
};

/// The largest difference; infinite where shapes differ or a NaN is met.
inline double worstDifference(const std::vector<double> &expected,
                              const std::vector<float> &found) {
  if (expected.size() != found.size() || expected.empty())
    return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double error = std::abs(expected[i] - double(found[i]));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

class KvTest : public ::testing::Test {
protected:
  KvTest() {
    context.loadDialect<mlir::attn::AttnDialect, mlir::kv::KvDialect, mlir::arith::ArithDialect,
                        mlir::math::MathDialect>();
    context.printOpOnDiagnostic(false);
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  /// Plans and lowers a copy of `graph`; the plan stays in `planned`.
  mlir::OwningOpRef<mlir::ModuleOp> lower(mlir::ModuleOp graph, mlir::attn::PlanOptions options) {
    options.verifyEach = true;
    planned = graph.clone();
    mlir::attn::PassReport report;
    if (failed(mlir::attn::planModule(*planned, options, report)))
      return {};
    mlir::OwningOpRef<mlir::ModuleOp> step = planned->clone();
    if (failed(mlir::attn::lowerModule(*step, options, report)))
      return {};
    return step;
  }

  /// Runs `step` on random rows by `schedule`.
  Result<RunResult> run(mlir::ModuleOp step, WeightSource &weights, const Input &input,
                        const std::string &schedule) {
    auto executor = mlir::kv::ReferenceExecutor::create(step, weights);
    if (!executor)
      return Error{executor.error()};
    ReferenceBackend backend(**executor);
    ScheduleOptions options;
    options.trace = true;
    options.poison = true;
    return runSchedule(backend, input, *parseSchedule(schedule), options);
  }

  /// What the interpreter makes of the first model of `module`.
  std::vector<double> interpret(mlir::ModuleOp module, WeightSource &weights, const Input &input) {
    mlir::attn::StreamValue rows;
    rows.features = input.hidden;
    rows.data.assign(input.rows.begin(), input.rows.end());
    llvm::SmallVector<mlir::attn::StreamValue> outputs;
    auto model = *module.getOps<mlir::attn::ModelOp>().begin();
    if (failed(mlir::attn::interpret(model, rows, weights, outputs)))
      return {};
    return outputs[0].data;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> planned;
};

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_KV_FIXTURE_H
