//===- cpu_attend.cpp - compiled attend kernels against plain sums ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/CpuAttend.h"

#include <gtest/gtest.h>

using namespace attnc;
using namespace attnc::test;

namespace {

/// f32 rounding of scores grows with their size; the rest is a few ulp.
void expectClose(AttendProblem &problem, const std::vector<float> &got,
                 const std::vector<double> &want) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 0, bound = 2e-6 * (1 + problem.greatestScore);
  for (double w : want)
    largest = std::max(largest, std::fabs(w));
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], bound * std::max(1.0, largest)) << "at " << i;
}

/// Tokens at the end of `entries` entries, each seeing all up to itself.
std::vector<Query> causal(int64_t entries, int64_t tokens, int64_t window = 0) {
  std::vector<Query> queries;
  for (int64_t t = 0; t < tokens; ++t) {
    int64_t high = std::max<int64_t>(0, entries - tokens + 1 + t);
    queries.push_back({window ? std::max<int64_t>(0, high - window) : 0, high, high - 1});
  }
  return queries;
}

void check(const AttendShape &shape, std::vector<int64_t> lengths,
           std::vector<int64_t> tokenCounts = {1}, int64_t window = 0) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  AttendProblem first(shape, 1, {{0, 1, 0}});
  LoadedKernels kernels(context, {first.spec("attend"), first.combineSpec()});
  ASSERT_EQ(kernels.error, "");
  for (int64_t entries : lengths)
    for (int64_t tokens : tokenCounts) {
      SCOPED_TRACE("entries " + std::to_string(entries) + " tokens " + std::to_string(tokens));
      AttendProblem problem(shape, entries, causal(entries, tokens, window), 3);
      std::vector<double> want = problem.expected();
      for (int64_t splits : {1, 2, 3})
        expectClose(problem, problem.answer(kernels, "attend", splits, splits == 2 ? 3 : 1),
                    want);
    }
}

AttendShape latent(int64_t heads) {
  AttendShape shape;
  shape.heads = heads;
  shape.keys = {{512, 1}, {64, 1}};
  shape.valueKey = 0;
  shape.format.elem = Elem::BF16;
  shape.scale = 0.05;
  return shape;
}

AttendShape plain(int64_t heads, int64_t kvHeads, int64_t dim) {
  AttendShape shape;
  shape.heads = heads;
  shape.kvHeads = kvHeads;
  shape.keys = {{dim, kvHeads}};
  shape.value = {dim, kvHeads};
  return shape;
}

const std::vector<int64_t> lengths = {0, 1, 47, 48, 49, 103};

TEST(CpuAttend, Latent128Heads) { check(latent(128), {1, 48, 1003}); }
TEST(CpuAttend, Latent16Heads) { check(latent(16), {1, 49, 203}, {1, 2, 9}); }
TEST(CpuAttend, Latent64Heads) { check(latent(64), {203}, {1, 3}); }

} // namespace
