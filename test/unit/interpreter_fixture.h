//===- interpreter_fixture.h - runs graphs given as text -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TEST_UNIT_INTERPRETER_FIXTURE_H
#define ATTNC_TEST_UNIT_INTERPRETER_FIXTURE_H

#include "dialect/Attn/Interpreter/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

namespace attnc::test {

/// Weights held in memory.
class MapWeights : public WeightSource {
public:
  std::map<std::string, std::vector<float>> tensors;

  const float *get(const std::string &name, const std::vector<int64_t> &shape,
                   std::string &error) override {
    int64_t entries = 1;
    for (int64_t extent : shape)
      entries *= extent;
    auto found = tensors.find(name);
    if (found == tensors.end() || int64_t(found->second.size()) != entries) {
      error = "tensor '" + name + "' not found";
      return nullptr;
    }
    return found->second.data();
  }
};

/// `n` reproducible numbers in [-1, 1], exact in f32.
inline std::vector<double> numbers(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<double> out(n);
  for (double &x : out)
    x = double(int(engine() % 2001) - 1000) / 1024.0;
  return out;
}

inline std::vector<float> toFloat(const std::vector<double> &x) {
  return {x.begin(), x.end()};
}

/// Parses a module, runs its first model, keeps outputs, traces and errors.
class InterpreterTest : public ::testing::Test {
protected:
  InterpreterTest() {
    context.loadDialect<mlir::attn::AttnDialect, mlir::arith::ArithDialect,
                        mlir::math::MathDialect>();
  }

  /// Runs on inputs given as (features, numbers).
  bool run(llvm::StringRef text, std::vector<mlir::attn::StreamValue> inputs) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      errors += diagnostic.str() + "\n";
      return mlir::success();
    });
    outputs.clear();
    errors.clear();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return false;
    auto model = *module->getOps<mlir::attn::ModelOp>().begin();
    auto trace = [&](llvm::StringRef name, const mlir::attn::StreamValue &value) {
      traces[name.str()] = value;
    };
    return succeeded(mlir::attn::interpret(model, inputs, weights, outputs, trace));
  }

  /// Expects output 0 to be `expected` up to `tolerance`.
  void expectOutput(const std::vector<double> &expected, double tolerance = 1e-12) {
    ASSERT_EQ(outputs.size(), 1u) << errors;
    ASSERT_EQ(outputs[0].data.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(outputs[0].data[i], expected[i], tolerance) << "at " << i;
  }

  mlir::MLIRContext context;
  MapWeights weights;
  llvm::SmallVector<mlir::attn::StreamValue> outputs;
  std::map<std::string, mlir::attn::StreamValue> traces;
  std::string errors;
};

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_INTERPRETER_FIXTURE_H
