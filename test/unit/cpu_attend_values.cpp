//===- cpu_attend_values.cpp - hard values in compiled attend kernels -------===//
// SPDX-License-Identifier: Apache-2.0
//
// NaN, infinities, empty rows, sinks, flat and peaked scores, score maps.
//
//===----------------------------------------------------------------------===//
#include "test/unit/CpuAttend.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

using namespace attnc;
using namespace attnc::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

class CpuAttendValues : public testing::Test {
protected:
  void compile(AttendProblem &problem, bool sink = false) {
    kernels = std::make_unique<LoadedKernels>(
        context, std::vector<KernelSpec>{problem.spec("attend"), problem.combineSpec(sink)});
    ASSERT_EQ(kernels->error, "");
  }
  std::vector<float> answer(AttendProblem &problem, int64_t splits = 1,
                            const float *sink = nullptr) {
    return problem.answer(*kernels, "attend", splits, 1, sink);
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::unique_ptr<LoadedKernels> kernels;
};

/// `heads` query heads, each with a KV head of its own: one channel.
AttendShape scalar(int64_t heads = 1, int64_t kvHeads = 1) {
  AttendShape shape;
  shape.heads = heads;
  shape.kvHeads = kvHeads;
  shape.keys = {{1, kvHeads}};
  shape.value = {1, kvHeads};
  shape.scale = 1;
  return shape;
}

/// Queries 1, so that keys are scores.
void setScores(AttendProblem &problem, const std::vector<float> &scores,
               const std::vector<float> &values) {
  for (int64_t t = 0; t < problem.tokens(); ++t)
    for (int64_t h = 0; h < problem.shape.heads; ++h)
      *problem.query(0, t, h) = 1;
  for (size_t e = 0; e < scores.size(); ++e)
    for (int64_t h = 0; h < problem.shape.kvHeads; ++h) {
      problem.row(0, int64_t(e), h, 0) = scores[e];
      problem.row(1, int64_t(e), h, 0) = values[e];
    }
  problem.pack();
}

TEST_F(CpuAttendValues, HeadsShareInRuns) {
  AttendProblem problem(scalar(4, 2), 1, {{0, 1, 0}});
  setScores(problem, {0}, {0});
  problem.row(1, 0, 0, 0) = 10;
  problem.row(1, 0, 1, 0) = 20;
  problem.pack();
  compile(problem);
  EXPECT_EQ(answer(problem), (std::vector<float>{10, 10, 20, 20}));
}

TEST_F(CpuAttendValues, VeryNegativeScores) {
  AttendProblem problem(scalar(), 2, {{0, 2, 1}});
  compile(problem);
  setScores(problem, {-60000, -60000}, {1, 3});
  EXPECT_EQ(answer(problem), std::vector<float>{2});
  EXPECT_EQ(answer(problem, 2), std::vector<float>{2});
  setScores(problem, {-60000, -infinity}, {1, 3});
  EXPECT_EQ(answer(problem), std::vector<float>{1});
  setScores(problem, {-infinity, -60000}, {1, 3});
  EXPECT_EQ(answer(problem, 2), std::vector<float>{3});
}

TEST_F(CpuAttendValues, EmptyRowsAreZeroAndLeaveOthersAlone) {
  AttendProblem problem(scalar(), 3, {{0, 3, 2}, {0, 0, 0}, {2, 2, 1}, {1, 3, 2}});
  compile(problem);
  setScores(problem, {0, 0, 0}, {1, 2, 6});
  for (int64_t splits : {1, 2, 3})
    EXPECT_EQ(answer(problem, splits), (std::vector<float>{3, 0, 0, 4}));
}

TEST_F(CpuAttendValues, EmptyStateIsTheNeutralOne) {
  AttendProblem problem(scalar(), 3, {{0, 3, 2}, {0, 0, 0}});
  compile(problem);
  AttendProblem::State state = problem.run(*kernels, "attend");
  EXPECT_EQ(state.sum[1], 0);
  EXPECT_EQ(state.max[1], kEmptyMax);
  EXPECT_EQ(state.acc[1], 0);
}

TEST_F(CpuAttendValues, CausalTriangleEndsAtTheLastEntry) {
  AttendProblem problem(scalar(), 5, causal(5, 2));
  compile(problem);
  setScores(problem, {0, 0, 0, 0, 0}, {0, 1, 2, 3, 4});
  EXPECT_EQ(answer(problem), (std::vector<float>{1.5, 2}));
  AttendProblem few(scalar(), 2, causal(2, 5));
  setScores(few, {0, 0}, {1, 2});
  EXPECT_EQ(answer(few), (std::vector<float>{0, 0, 0, 1, 1.5}));
}

TEST_F(CpuAttendValues, SinkCountsOnce) {
  AttendProblem problem(scalar(), 3, {{0, 3, 2}});
  setScores(problem, {0, 0, 0}, {4, 4, 4});
  compile(problem, true);
  float zero = 0, none = -infinity;
  for (int64_t splits : {1, 2, 3}) {
    EXPECT_EQ(answer(problem, splits, &zero), std::vector<float>{3});
    EXPECT_EQ(answer(problem, splits, &none), std::vector<float>{4});
  }
  AttendProblem empty(scalar(), 3, {{0, 0, 0}});
  EXPECT_EQ(answer(empty, 1, &zero), std::vector<float>{0});
  EXPECT_EQ(answer(empty, 1, &none), std::vector<float>{0});
}

TEST_F(CpuAttendValues, SinkOfEachHead) {
  AttendShape shape = scalar(3, 1);
  AttendProblem problem(shape, 60, {{0, 60, 59}}, 5);
  compile(problem, true);
  float sinks[] = {-3, 0.5, 6};
  std::vector<double> want = problem.expected(sinks);
  for (int64_t splits : {1, 3})
    expectClose(problem, answer(problem, splits, sinks), want);
}

TEST_F(CpuAttendValues, LongFlatSums) {
  for (int64_t entries : {256, 4096, 131072}) {
    AttendProblem problem(scalar(), entries, {{0, entries, entries - 1}});
    std::vector<float> ones(size_t(entries), 1), twos = ones;
    for (size_t i = 1; i < twos.size(); i += 2)
      twos[i] = 1.0078125f;
    if (!kernels)
      compile(problem);
    for (int64_t splits : {1, 2, 5, 8}) {
      setScores(problem, std::vector<float>(size_t(entries), 0), ones);
      EXPECT_EQ(answer(problem, splits), std::vector<float>{1});
      setScores(problem, std::vector<float>(size_t(entries), 0), twos);
      EXPECT_NEAR(answer(problem, splits)[0], 1.00390625, 1e-6);
    }
  }
}

TEST_F(CpuAttendValues, PeakedScores) {
  AttendShape shape;
  shape.heads = 16;
  shape.keys = {{64, 1}};
  shape.valueKey = 0;
  shape.scale = 1;
  AttendProblem problem(shape, 203, causal(203, 2), 9, 3);
  compile(problem);
  std::vector<double> want = problem.expected();
  EXPECT_GT(problem.greatestScore, 60);
  for (int64_t splits : {1, 3})
    expectClose(problem, answer(problem, splits), want);
}

TEST_F(CpuAttendValues, NaNShowsInTheRowsThatSeeIt) {
  for (float bad : {poison, infinity}) {
    // Entry 5 is bad; tokens see 0..4, 0..5, 0..6, and 6 alone.
    AttendProblem problem(scalar(2, 1), 7, {{0, 5, 4}, {0, 6, 5}, {0, 7, 6}, {6, 7, 6}});
    if (!kernels)
      compile(problem);
    for (bool inKey : {true, false}) {
      setScores(problem, std::vector<float>(7, 0), std::vector<float>(7, 1));
      problem.row(inKey ? 0 : 1, 5, 0, 0) = bad;
      problem.pack();
      std::vector<float> got = answer(problem);
      for (int64_t h = 0; h < 2; ++h) {
        EXPECT_EQ(got[size_t(0 + h)], 1);
        EXPECT_FALSE(std::isfinite(got[size_t(2 + h)]));
        EXPECT_FALSE(std::isfinite(got[size_t(4 + h)]));
        EXPECT_EQ(got[size_t(6 + h)], 1);
      }
    }
  }
}

TEST_F(CpuAttendValues, NaNShowsWhereverItComes) {
  for (int64_t at : {0, 1, 47, 48, 99}) {
    AttendProblem problem(scalar(), 100, {{0, 100, 99}});
    setScores(problem, std::vector<float>(100, 2), std::vector<float>(100, 1));
    problem.row(0, at, 0, 0) = poison;
    problem.pack();
    if (!kernels)
      compile(problem);
    for (int64_t splits : {1, 3})
      EXPECT_TRUE(std::isnan(answer(problem, splits)[0])) << "at " << at;
  }
}

TEST_F(CpuAttendValues, NaNQuery) {
  AttendProblem problem(scalar(2, 1), 9, {{0, 9, 8}});
  setScores(problem, std::vector<float>(9, 1), std::vector<float>(9, 4));
  *problem.query(0, 0, 1) = poison;
  compile(problem);
  std::vector<float> got = answer(problem);
  EXPECT_EQ(got[0], 4);
  EXPECT_TRUE(std::isnan(got[1]));
}

TEST_F(CpuAttendValues, RunsAreBitIdentical) {
  AttendShape shape;
  shape.heads = 24;
  shape.keys = {{72, 1}};
  shape.valueKey = 0;
  AttendProblem problem(shape, 129, causal(129, 3), 4);
  compile(problem);
  std::vector<float> first = answer(problem, 2);
  for (int i = 0; i < 3; ++i) {
    std::vector<float> again = answer(problem, 2);
    EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * 4), 0);
  }
}

/// Score maps are written as functions; what counts is the body.
class CpuScoreMap : public CpuAttendValues {
protected:
  mlir::Region *parse(const char *text) {
    context.loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect,
                        mlir::math::MathDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return &(*module->getOps<mlir::func::FuncOp>().begin()).getBody();
  }
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(CpuScoreMap, SoftCap) {
  AttendShape shape;
  shape.heads = 6;
  shape.kvHeads = 3;
  shape.keys = {{32, 3}};
  shape.value = {32, 3};
  shape.scale = 3;
  AttendProblem problem(shape, 103, causal(103, 30), 11);
  problem.scoreMap = parse(R"(
    func.func @cap(%s: f32, %q: f32, %k: f32, %h: f32) -> f32 {
      %cap = arith.constant 5.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %y = arith.mulf %t, %cap : f32
      return %y : f32
    })");
  problem.scoreFunction = [](double s, double, double, int64_t) { return 5 * std::tanh(s / 5); };
  compile(problem);
  std::vector<double> want = problem.expected();
  for (int64_t splits : {1, 2})
    expectClose(problem, answer(problem, splits), want);
}

TEST_F(CpuScoreMap, PositionsHeadsAndConstants) {
  AttendShape shape;
  shape.heads = 4;
  shape.kvHeads = 1;
  shape.keys = {{16, 1}};
  shape.value = {16, 1};
  shape.every = 4;
  AttendProblem problem(shape, 60, causal(60, 3), 12);
  for (Query &query : problem.queries)
    query.position = query.high * 4 + 2;
  problem.consts = {{0.5, 0.25, 0.125, 0.0625}};
  problem.scoreMap = parse(R"(
    func.func @alibi(%s: f32, %q: f32, %k: f32, %h: f32, %slope: f32) -> f32 {
      %d = arith.subf %q, %k : f32
      %b = arith.mulf %d, %slope : f32
      %c = arith.subf %s, %b : f32
      %y = arith.addf %c, %h : f32
      return %y : f32
    })");
  problem.scoreFunction = [&](double s, double q, double k, int64_t h) {
    return s - (q - k) * double(problem.consts[0][size_t(h)]) + double(h);
  };
  compile(problem);
  expectClose(problem, answer(problem, 2), problem.expected());
}

} // namespace
