//===- cpu_attend.cpp - shapes of compiled attend kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Head counts, widths, lengths, formats and pages: every result against a plain
// sum in f64. Everything that must not be read is NaN.
//
//===----------------------------------------------------------------------===//
#include "test/unit/CpuAttend.h"

#include <gtest/gtest.h>

using namespace attnc;
using namespace attnc::test;

namespace {

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

/// Every length, split in one to three, folded in one to three pieces.
void check(const AttendShape &shape, std::vector<int64_t> lengths,
           std::vector<int64_t> tokenCounts = {1}, int64_t window = 0,
           const std::string &target = "cpu") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  AttendProblem first(shape, 1, {{0, 1, 0}});
  LoadedKernels kernels(context, {first.spec("attend"), first.combineSpec()}, target);
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

const std::vector<int64_t> someLengths = {0, 1, 47, 48, 49, 103};

TEST(CpuAttend, Latent128Heads) { check(latent(128), {1, 48, 1003}); }
TEST(CpuAttend, Latent16Heads) { check(latent(16), {1, 49, 203}, {1, 2, 9}); }
TEST(CpuAttend, Latent64Heads) { check(latent(64), {203}, {1, 3}); }

class HeadCounts : public testing::TestWithParam<int64_t> {};
TEST_P(HeadCounts, ShareOneRow) {
  AttendShape shape = plain(GetParam(), 1, 72);
  shape.value = {80, 1};
  check(shape, someLengths, {1, 3});
}
INSTANTIATE_TEST_SUITE_P(CpuAttend, HeadCounts, testing::Values(1, 2, 3, 4, 8, 16, 24, 64, 128));

class Widths : public testing::TestWithParam<int64_t> {};
TEST_P(Widths, OfKeysAndValues) { check(plain(4, 2, GetParam()), someLengths, {1, 5}); }
INSTANTIATE_TEST_SUITE_P(CpuAttend, Widths, testing::Values(1, 8, 63, 72, 80, 128, 576));

TEST(CpuAttend, KeysWiderThanValues) {
  AttendShape shape = plain(6, 6, 128);
  shape.keys = {{128, 6}, {64, 1}};
  check(shape, {1, 49, 130}, {1, 40});
}

TEST(CpuAttend, ValueIsTheSecondKeyPart) {
  AttendShape shape = plain(8, 1, 9);
  shape.keys = {{9, 1}, {35, 1}};
  shape.valueKey = 1;
  check(shape, {1, 49, 103}, {1, 2, 20});
}

TEST(CpuAttend, PartsWithDifferentSharing) {
  AttendShape shape = plain(8, 4, 16);
  shape.keys = {{16, 2}, {8, 4}};
  check(shape, {50}, {1, 17});
}

TEST(CpuAttend, Windows) {
  for (int64_t window : {1, 20, 64})
    check(plain(4, 2, 64), {200}, {1, 7, 150}, window);
}

TEST(CpuAttend, LongPrompt) { check(plain(2, 2, 32), {300}, {300}); }

TEST(CpuAttend, MoreQueriesThanEntries) { check(plain(2, 1, 16), {2}, {5}); }

class Pages : public testing::TestWithParam<int64_t> {};
TEST_P(Pages, OfEverySize) {
  for (Elem elem : {Elem::F32, Elem::BF16, Elem::F16}) {
    AttendShape shape = plain(4, 2, 24);
    shape.pageEntries = GetParam();
    shape.format.elem = elem;
    check(shape, {1, 13, 64, 103}, {1, 4});
  }
}
INSTANTIATE_TEST_SUITE_P(CpuAttend, Pages, testing::Values(1, 4, 16, 64));

TEST(CpuAttend, DenseRows) {
  AttendShape shape = plain(4, 2, 40);
  shape.dense = true;
  check(shape, {1, 48, 103}, {1, 30});
}

TEST(CpuAttend, NarrowerVectors) {
  for (const char *target : {"cpu:haswell", "cpu:x86-64"}) {
    check(plain(4, 2, 63), {1, 49}, {1, 40}, 0, target);
    check(latent(16), {103}, {1, 3}, 0, target);
    check(latent(128), {50}, {1}, 0, target);
  }
}

} // namespace
