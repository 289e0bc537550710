//===- cpu_tokens.cpp - compiled kernels that work token by token -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// norm, rope and map, against their formulas in f64.
//
//===----------------------------------------------------------------------===//
#include "test/unit/CpuKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace attnc;
using namespace attnc::test;

namespace {

constexpr float poison = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t tokens = 3;

/// A view with NaN between its heads and tokens.
struct Values {
  Values(ViewShape shape, bool filled, unsigned seed = 1)
      : shape(shape), data(size_t(tokens * token() + 16), poison) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int64_t t = 0; filled && t < tokens; ++t)
      for (int64_t h = 0; h < shape.heads; ++h)
        for (int64_t i = 0; i < shape.inner; ++i)
          at(t, h, i) = normal(random);
  }
  int64_t head() const { return shape.inner + 3; }
  int64_t token() const { return shape.heads * head() + 2; }
  float &at(int64_t t, int64_t h, int64_t i) { return data[size_t(t * token() + h * head() + i)]; }
  void add(Arguments &args) { args.view(data.data(), token(), head()); }

  /// Every element of tokens 0 and 1 as `want` says, nothing else written.
  void check(const std::function<double(int64_t, int64_t, int64_t)> &want, double bound = 2e-6) {
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t h = 0; h < shape.heads; ++h)
        for (int64_t i = 0; i < head(); ++i) {
          if (t == 2 || i >= shape.inner) {
            ASSERT_TRUE(std::isnan(at(t, h, i)));
            continue;
          }
          double w = want(t, h, i);
          ASSERT_NEAR(at(t, h, i), w, bound * std::max(1.0, std::fabs(w)))
              << "token " << t << " head " << h << " channel " << i;
        }
  }
  ViewShape shape;
  std::vector<float> data;
};

std::vector<float> numbers(int64_t count, unsigned seed) {
  std::vector<float> values;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(normal(random));
  return values;
}

class CpuTokens : public testing::Test {
protected:
  KernelFn compile(const KernelSpec &spec) {
    kernels = std::make_unique<LoadedKernels>(context, std::vector<KernelSpec>{spec});
    EXPECT_EQ(kernels->error, "");
    return kernels->error.empty() ? kernels->find(spec.name) : nullptr;
  }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::unique_ptr<LoadedKernels> kernels;
};

TEST_F(CpuTokens, NormOverAllChannelsAndPerHead) {
  for (int64_t inner : {1, 7, 64, 200})
    for (bool perHead : {false, true})
      for (bool weight : {false, true}) {
        NormSpec spec{{3, inner}, perHead, weight, 1e-5};
        KernelFn norm = compile({"norm", spec});
        Values x(spec.shape, true), y(spec.shape, false);
        std::vector<float> gamma = numbers(3 * inner, 4);
        Arguments args;
        x.add(args);
        y.add(args);
        args.pointer(weight ? gamma.data() : nullptr).integer(0).integer(2).call(norm);
        y.check([&](int64_t t, int64_t h, int64_t i) {
          double sum = 0;
          for (int64_t g = perHead ? h : 0; g < (perHead ? h + 1 : 3); ++g)
            for (int64_t c = 0; c < inner; ++c)
              sum += std::pow(double(x.at(t, g, c)), 2);
          double mean = sum / double(perHead ? inner : 3 * inner);
          double scale = weight ? double(gamma[size_t(perHead ? i : h * inner + i)]) : 1;
          return double(x.at(t, h, i)) / std::sqrt(mean + 1e-5) * scale;
        });
      }
}

TEST_F(CpuTokens, Rope) {
  for (int64_t dims : {2, 6, 64})
    for (bool interleaved : {false, true})
      for (bool inverse : {false, true})
        for (int64_t first : {0, 5}) {
          RopeSpec spec{{2, first + dims + 3}, first, dims, interleaved, inverse};
          KernelFn rope = compile({"rope", spec});
          Values x(spec.shape, true), y(spec.shape, false);
          std::vector<float> table = numbers(tokens * dims, 9);
          Arguments args;
          x.add(args);
          y.add(args);
          args.pointer(table.data()).integer(0).integer(2).call(rope);
          auto want = [&](int64_t t, int64_t h, int64_t i) -> double {
            int64_t c = i - first;
            if (c < 0 || c >= dims)
              return double(x.at(t, h, i));
            int64_t pair = interleaved ? c / 2 : c % (dims / 2);
            bool second = interleaved ? c % 2 : c >= dims / 2;
            double cos = double(table[size_t(t * dims + 2 * pair)]);
            double sin = double(table[size_t(t * dims + 2 * pair + 1)]) * (inverse ? -1 : 1);
            double a = double(x.at(t, h, first + (interleaved ? 2 * pair : pair)));
            double b = double(x.at(t, h, first + (interleaved ? 2 * pair + 1 : pair + dims / 2)));
            return second ? a * sin + b * cos : a * cos - b * sin;
          };
          y.check(want);
          // In place: the same values.
          Values z = x;
          Arguments again;
          z.add(again);
          z.add(again);
          again.pointer(table.data()).integer(0).integer(2).call(rope);
          for (int64_t i = 0; i < spec.shape.inner; ++i)
            EXPECT_EQ(z.at(1, 1, i), y.at(1, 1, i));
        }
}

class CpuMap : public CpuTokens {
protected:
  mlir::Region *parse(const char *text) {
    context.loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect,
                        mlir::math::MathDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return &(*module->getOps<mlir::func::FuncOp>().begin()).getBody();
  }
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(CpuMap, OperandsAndConstants) {
  MapSpec spec;
  spec.shape = {3, 21};
  spec.operands = {MapSpec::Operand::Full, MapSpec::Operand::PerHead, MapSpec::Operand::PerToken};
  spec.consts = {MapSpec::Const::PerChannel, MapSpec::Const::PerHead, MapSpec::Const::PerInner,
                 MapSpec::Const::One};
  spec.body.region = parse(R"(
    func.func @f(%x: f32, %g: f32, %t: f32, %c: f32, %h: f32, %i: f32, %o: f32) -> f32 {
      %a = arith.mulf %x, %g : f32
      %b = arith.addf %a, %t : f32
      %d = arith.mulf %c, %h : f32
      %e = arith.addf %d, %i : f32
      %f = arith.subf %e, %o : f32
      %y = arith.addf %b, %f : f32
      return %y : f32
    })");
  KernelFn map = compile({"map", spec});
  Values x(spec.shape, true), gate({3, 1}, true, 2), token({1, 1}, true, 3), y(spec.shape, false);
  std::vector<float> channel = numbers(63, 4), head = numbers(3, 5), inner = numbers(21, 6),
                     one = numbers(1, 7);
  Arguments args;
  for (Values *view : {&x, &gate, &token, &y})
    view->add(args);
  for (std::vector<float> *values : {&channel, &head, &inner, &one})
    args.pointer(values->data());
  args.integer(0).integer(2).call(map);
  y.check([&](int64_t t, int64_t h, int64_t i) {
    return double(x.at(t, h, i)) * double(gate.at(t, h, 0)) + double(token.at(t, 0, 0)) +
           double(channel[size_t(h * 21 + i)]) * double(head[size_t(h)]) +
           double(inner[size_t(i)]) - double(one[0]);
  });
}

TEST_F(CpuMap, WithoutABodyCopies) {
  MapSpec spec;
  spec.shape = {4, 10};
  spec.operands = {MapSpec::Operand::PerToken};
  KernelFn map = compile({"map", spec});
  Values x({1, 1}, true), y(spec.shape, false);
  Arguments args;
  x.add(args);
  y.add(args);
  args.integer(0).integer(2).call(map);
  y.check([&](int64_t t, int64_t, int64_t) { return double(x.at(t, 0, 0)); }, 0);
}

/// What scalar bodies may call, with its meaning and a factor on the arguments.
struct Function {
  const char *op;
  double (*meaning)(double);
  float spread;
};

class CpuMath : public CpuMap, public testing::WithParamInterface<Function> {};

TEST_P(CpuMath, IsAccurate) {
  const Function &function = GetParam();
  bool positive = std::string(function.op).find("log") != std::string::npos ||
                  std::string(function.op).find("sqrt") != std::string::npos;
  MapSpec spec;
  spec.shape = {5, 333};
  spec.operands = {MapSpec::Operand::Full};
  std::string text = "func.func @f(%x: f32) -> f32 {\n %y = " + std::string(function.op) +
                     " %x : f32\n return %y : f32\n}";
  spec.body.region = parse(text.c_str());
  KernelFn map = compile({"map", spec});
  ASSERT_TRUE(map);
  Values x(spec.shape, true), y(spec.shape, false);
  for (float &v : x.data)
    v = (positive ? std::fabs(v) : v) * function.spread;
  Arguments args;
  x.add(args);
  y.add(args);
  args.integer(0).integer(2).call(map);
  for (int64_t t = 0; t < 2; ++t)
    for (int64_t h = 0; h < 5; ++h)
      for (int64_t i = 0; i < 333; ++i) {
        double want = function.meaning(double(x.at(t, h, i)));
        ASSERT_NEAR(y.at(t, h, i), want, 1e-6 * std::max(1e-3, std::fabs(want)))
            << function.op << " of " << x.at(t, h, i);
      }
}

INSTANTIATE_TEST_SUITE_P(
    Ops, CpuMath,
    testing::Values(Function{"math.exp", [](double x) { return std::exp(x); }, 8},
                    Function{"math.exp2", [](double x) { return std::exp2(x); }, 8},
                    Function{"math.expm1", [](double x) { return std::expm1(x); }, 2},
                    Function{"math.log", [](double x) { return std::log(x); }, 9},
                    Function{"math.log2", [](double x) { return std::log2(x); }, 9},
                    Function{"math.log1p", [](double x) { return std::log1p(x); }, 9},
                    Function{"math.tanh", [](double x) { return std::tanh(x); }, 3},
                    Function{"math.erf", [](double x) { return std::erf(x); }, 2},
                    Function{"math.sqrt", [](double x) { return std::sqrt(x); }, 9},
                    Function{"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }, 9},
                    Function{"math.absf", [](double x) { return std::fabs(x); }, 9},
                    Function{"math.floor", [](double x) { return std::floor(x); }, 9},
                    Function{"math.ceil", [](double x) { return std::ceil(x); }, 9}),
    [](const auto &info) { return std::string(info.param.op + 5); });

TEST_F(CpuMap, RefusesWhatHasNoVectorForm) {
  MapSpec spec;
  spec.shape = {1, 4};
  spec.operands = {MapSpec::Operand::Full};
  spec.body.region = parse(R"(
    func.func @f(%x: f32) -> f32 {
      %y = math.acosh %x : f32
      return %y : f32
    })");
  LoadedKernels kernels(context, {{"map_x", spec}});
  EXPECT_EQ(kernels.error,
            "kernel 'map_x': CPU code has no vector form of 'math.acosh' in a scalar body");
}

} // namespace
