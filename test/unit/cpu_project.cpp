//===- cpu_project.cpp - compiled projections against plain sums ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/CpuKernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace attnc;
using namespace attnc::test;

namespace {

constexpr float poison = std::numeric_limits<float>::quiet_NaN();

/// A projection with its weights in panels and as a matrix.
struct Projection {
  Projection(const ProjectSpec &spec, int64_t panel, int64_t tokens)
      : spec(spec), panel(panel), tokens(tokens), random(1) {
    int64_t perGroup = panelsPerGroup();
    panels.assign(size_t(spec.groups * perGroup * spec.in * panel), 0);
    for (int64_t g = 0; g < spec.groups; ++g)
      for (int64_t o = 0; o < spec.out; ++o)
        for (int64_t i = 0; i < spec.in; ++i) {
          float w = normal(random);
          matrix.push_back(w);
          panels[size_t(((g * perGroup + o / panel) * spec.in + i) * panel + o % panel)] = w;
        }
    for (int64_t i = 0; i < spec.groups * spec.out; ++i)
      bias.push_back(normal(random));
    // Heads and tokens apart, NaN in between.
    x.assign(size_t(tokens * xToken()), poison);
    y.assign(size_t(tokens * yToken() + 64), poison);
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t g = 0; g < (spec.sharedInput ? 1 : spec.groups); ++g)
        for (int64_t i = 0; i < spec.in; ++i)
          x[size_t(t * xToken() + g * xHead() + i)] = normal(random);
  }
  int64_t panelsPerGroup() const { return (spec.out + panel - 1) / panel; }
  int64_t xHead() const { return spec.in + 1; }
  int64_t xToken() const { return spec.groups * xHead() + 2; }
  int64_t yHead() const { return spec.out + 3; }
  int64_t yToken() const { return spec.groups * yHead() + 1; }

  void run(KernelFn kernel, int64_t from, int64_t to) {
    for (int64_t item = 0; item < spec.groups * panelsPerGroup(); ++item) {
      Arguments args;
      args.view(x.data(), xToken(), xHead()).view(y.data(), yToken(), yHead());
      args.pointer(panels.data()).pointer(spec.bias ? bias.data() : nullptr);
      args.integer(item).integer(from).integer(to).call(kernel);
    }
  }
  double expected(int64_t t, int64_t g, int64_t o) const {
    double sum = spec.bias ? double(bias[size_t(g * spec.out + o)]) : 0;
    for (int64_t i = 0; i < spec.in; ++i)
      sum += double(matrix[size_t((g * spec.out + o) * spec.in + i)]) *
             double(x[size_t(t * xToken() + (spec.sharedInput ? 0 : g) * xHead() + i)]);
    return sum;
  }
  void check(int64_t from, int64_t to) const {
    double bound = 2e-6 * std::sqrt(double(spec.in)) + 1e-6;
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t g = 0; g < spec.groups; ++g)
        for (int64_t o = 0; o < yHead(); ++o) {
          float got = y[size_t(t * yToken() + g * yHead() + o)];
          if (o < spec.out && t >= from && t < to)
            ASSERT_NEAR(got, expected(t, g, o), bound) << "token " << t << " output " << o;
          else
            ASSERT_TRUE(std::isnan(got)) << "written beyond: token " << t << " output " << o;
        }
  }

  ProjectSpec spec;
  int64_t panel, tokens;
  std::mt19937 random;
  std::normal_distribution<float> normal;
  std::vector<float> panels, matrix, bias, x, y;
};

void check(const ProjectSpec &spec, std::vector<int64_t> tokenCounts,
           const std::string &target = "cpu") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  LoadedKernels kernels(context, {{"project", spec}}, target);
  ASSERT_EQ(kernels.error, "");
  int64_t panel = kernels.desc("project").params.at("panel");
  for (int64_t tokens : tokenCounts) {
    Projection projection(spec, panel, tokens + 2);
    projection.run(kernels.find("project"), 1, tokens + 1);
    projection.check(1, tokens + 1);
  }
}

TEST(CpuProject, TokensOfEveryBlock) {
  ProjectSpec spec;
  spec.in = 70;
  spec.out = 64;
  check(spec, {0, 1, 3, 4, 11, 12, 13, 29, 64, 97, 200});
}

TEST(CpuProject, LongInputs) {
  ProjectSpec spec;
  spec.in = 1537;
  spec.out = 33;
  check(spec, {1, 17});
}

TEST(CpuProject, NarrowOutputs) {
  for (int64_t out : {1, 2, 31, 32, 47, 65}) {
    ProjectSpec spec;
    spec.in = 5;
    spec.out = out;
    spec.bias = true;
    check(spec, {1, 5, 13});
  }
}

TEST(CpuProject, Groups) {
  for (bool shared : {false, true}) {
    ProjectSpec spec;
    spec.groups = 3;
    spec.in = 24;
    spec.out = 40;
    spec.sharedInput = shared;
    spec.bias = shared;
    check(spec, {1, 14});
  }
}

TEST(CpuProject, NarrowerVectors) {
  ProjectSpec spec;
  spec.in = 300;
  spec.out = 45;
  for (const char *target : {"cpu:haswell", "cpu:x86-64"})
    check(spec, {1, 9, 50}, target);
}

} // namespace
