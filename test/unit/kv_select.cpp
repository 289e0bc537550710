//===- kv_select.cpp - selections over rows compute what graphs mean ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Graphs with selections are planned, lowered and run by the reference executor
// in every kind of schedule; the interpreter says what must come out. Fresh
// pages are filled with NaN.
//
//===----------------------------------------------------------------------===//

#include "kv_fixture.h"

using namespace attnc;
using namespace attnc::test;
using mlir::attn::PlanOptions;

namespace {

constexpr const char *kWeights = R"(
attn.weight @q : 16x8
attn.weight @k : 4x8
attn.weight @iq : 16x8
attn.weight @ik : 4x8
attn.weight @iw : 4x8
attn.weight @o : 8x16
)";

/// A layer that selects `picks` by an index of its own.
constexpr const char *kHead = R"(
attn.model @selected(%x: !attn.stream<8>) -> !attn.stream<8> {
  %q = attn.linear %x, @q : (!attn.stream<8>) -> !attn.stream<4x4>
  %k = attn.linear %x, @k : (!attn.stream<8>) -> !attn.stream<4>
  %iq = attn.linear %x, @iq : (!attn.stream<8>) -> !attn.stream<4x4>
  %ik = attn.linear %x, @ik : (!attn.stream<8>) -> !attn.stream<4>
  %iw = attn.linear %x, @iw : (!attn.stream<8>) -> !attn.stream<4>
)";

constexpr const char *kTail = R"(
  %y = attn.linear %a, @o : (!attn.stream<4x4>) -> !attn.stream<8>
  attn.return %y : !attn.stream<8>
}
)";

/// The index weighs its heads; all heads share the picks.
constexpr const char *kShared = R"(
  %s = attn.score relu scale 0.5 (%iq, %ik : !attn.stream<4x4>, !attn.stream<4>)
      weights %iw : !attn.stream<4> -> !attn.scores
  %sel = attn.top_k %s {attn.trace = "picks"} : !attn.scores -> !attn.selection<5>
  %a = attn.attend scale 0.5 select %sel : !attn.selection<5> (%q, %k : !attn.stream<4x4>, !attn.stream<4>)
      values %k : !attn.stream<4> -> !attn.stream<4x4>
)";

/// Each pair of heads has picks of its own.
constexpr const char *kGroups = R"(
  %s = attn.score none scale 0.5 (%iq, %ik : !attn.stream<4x4>, !attn.stream<4>)
      -> !attn.scores<groups 2>
  %sel = attn.top_k %s {attn.trace = "picks"} : !attn.scores<groups 2> -> !attn.selection<3, groups 2>
  %a = attn.attend scale 0.5 select %sel : !attn.selection<3, groups 2> (%q, %k : !attn.stream<4x4>, !attn.stream<4>)
      values %k : !attn.stream<4> -> !attn.stream<4x4>
)";

/// Elements are picked within blocks; both from the same scores.
constexpr const char *kPool = R"(
  %s = attn.score relu scale 0.5 (%iq, %ik : !attn.stream<4x4>, !attn.stream<4>) -> !attn.scores
  %pool = attn.block_top_k %s block 3 sum pin_first 1 pin_newest 1
      : !attn.scores -> !attn.selection<4, block 3>
  %t = attn.score relu scale 0.5 (%iq, %k : !attn.stream<4x4>, !attn.stream<4>)
      within %pool : !attn.selection<4, block 3> -> !attn.scores
  %sel = attn.top_k %t {attn.trace = "picks"} : !attn.scores -> !attn.selection<6>
  %b = attn.attend scale 0.5 select %sel : !attn.selection<6> (%q, %k : !attn.stream<4x4>, !attn.stream<4>)
      values %k : !attn.stream<4> -> !attn.stream<4x4>
  %a = attn.attend scale 0.5 select %pool : !attn.selection<4, block 3> (%b, %k : !attn.stream<4x4>, !attn.stream<4>)
      values %k : !attn.stream<4> -> !attn.stream<4x4>
)";

/// A selected and a windowed source under one softmax.
constexpr const char *kWindow = R"(
  %s = attn.score relu scale 0.5 (%iq, %ik : !attn.stream<4x4>, !attn.stream<4>) -> !attn.scores
  %sel = attn.top_k %s : !attn.scores -> !attn.selection<2>
  %a = attn.attend scale 0.5
      select %sel : !attn.selection<2> (%q, %k : !attn.stream<4x4>, !attn.stream<4>) values %k : !attn.stream<4>
      window 3 (%q, %ik : !attn.stream<4x4>, !attn.stream<4>) values %ik : !attn.stream<4>
      -> !attn.stream<4x4>
)";

struct SelectCase {
  const char *name, *graph;
};

class Selections : public KvTest, public ::testing::WithParamInterface<SelectCase> {
protected:
  /// The picks that the interpreter finds, as executors publish them.
  std::vector<double> interpretPicks(mlir::ModuleOp module, WeightSource &weights,
                                     const Input &input) {
    std::vector<double> rows;
    mlir::attn::InterpretHooks hooks;
    auto model = *module.getOps<mlir::attn::ModelOp>().begin();
    int64_t picks = 0;
    model.walk([&](mlir::attn::TopKOp op) { picks = op.getType().getPicks(); });
    hooks.traceSelection = [&](llvm::StringRef, const mlir::attn::SelectionValue &value) {
      for (const auto &row : value.picks) {
        rows.insert(rows.end(), row.begin(), row.end());
        rows.insert(rows.end(), picks - row.size(), -1.0);
      }
    };
    mlir::attn::StreamValue in{input.hidden, {input.rows.begin(), input.rows.end()}};
    llvm::SmallVector<mlir::attn::StreamValue> outputs;
    EXPECT_TRUE(succeeded(mlir::attn::interpret(model, in, weights, outputs, hooks)));
    return rows;
  }
};

TEST_P(Selections, AgreeWithTheInterpreterInEverySchedule) {
  auto graph = parse(std::string(kWeights) + kHead + GetParam().graph + kTail);
  ASSERT_TRUE(graph);
  PlanOptions options;
  options.storage = mlir::attn::Storage::Exact;
  options.pageEntries = 16;
  auto step = lower(*graph, options);
  ASSERT_TRUE(step);
  RandomWeights weights(5);
  Input input = *openInput("random:3:50", 8);
  std::vector<double> expected = interpret(*graph, weights, input);
  std::vector<double> picks = interpretPicks(*graph, weights, input);
  for (const char *schedule :
       {"prefill", "decode", "chunk:3", "chunk:17", "mixed:1", "batch:1"}) {
    Result<RunResult> result = run(*step, weights, input, schedule);
    ASSERT_TRUE(result) << schedule << ": " << result.error();
    EXPECT_LT(worstDifference(expected, result->hidden), 1e-5) << schedule;
    if (!picks.empty())
      EXPECT_EQ(worstDifference(picks, result->traces["picks"].rows), 0) << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(Kv, Selections,
                         ::testing::Values(SelectCase{"shared", kShared},
                                           SelectCase{"groups", kGroups},
                                           SelectCase{"pool", kPool},
                                           SelectCase{"window", kWindow}),
                         [](const auto &info) { return info.param.name; });

TEST_F(KvTest, PickingEverythingIsPlainAttention) {
  std::string text = std::string(kWeights) + kHead + kShared + kTail;
  for (size_t at = 0; (at = text.find("selection<5>")) != std::string::npos;)
    text.replace(at, 12, "selection<50>");
  auto graph = parse(text);
  std::string_view selected = "select %sel : !attn.selection<50>";
  text.replace(text.find(selected), selected.size(), "causal");
  auto dense = parse(text);
  ASSERT_TRUE(graph && dense);
  PlanOptions options;
  options.storage = mlir::attn::Storage::Exact;
  auto step = lower(*graph, options);
  ASSERT_TRUE(step);
  RandomWeights weights(5);
  Input input = *openInput("random:3:50", 8);
  Result<RunResult> result = run(*step, weights, input, "chunk:7");
  ASSERT_TRUE(result) << result.error();
  EXPECT_LT(worstDifference(interpret(*dense, weights, input), result->hidden), 1e-5);
}

} // namespace
