//===- attn_work.cpp - what ops cost and how far back they read ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/interpreter_fixture.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Parses a module and finds its ops by their attn.trace.
class WorkTest : public ::testing::Test {
protected:
  WorkTest() {
    context.loadDialect<AttnDialect, arith::ArithDialect, math::MathDialect>();
    module = parseSourceString<ModuleOp>(kText, &context);
  }

  Operation *find(StringRef name) {
    Operation *found = nullptr;
    module->walk([&](Operation *op) {
      auto trace = op->getAttrOfType<StringAttr>(kTraceAttr);
      if (trace && trace.getValue() == name)
        found = op;
    });
    return found;
  }

  Work work(StringRef name, double context) {
    return cast<WorkOpInterface>(find(name)).getWork(context);
  }

  static constexpr const char *kText = R"(
    attn.weight @w : 64x32
    attn.weight @n : 64
    attn.weight @ape : 4x577
    attn.model @m(%x: !attn.stream<32>, %q: !attn.stream<128x576>, %q2: !attn.stream<128x64>,
                  %c: !attn.stream<576>, %slow: !attn.stream<64, every 4>, %wide: !attn.stream<576, every 4>,
                  %one: !attn.stream<1>, %heads: !attn.stream<128>) -> !attn.stream<32> {
      %a = attn.linear %x, @w {attn.trace = "whole"} : (!attn.stream<32>) -> !attn.stream<64>
      %b = attn.linear %x, @w groups 4 rows [8, 8] {attn.trace = "grouped"} : (!attn.stream<32>) -> !attn.stream<4x8>
      %e = attn.rms_norm %a, @n eps 1.0e-6 {attn.trace = "norm"} : !attn.stream<64>
      %f = attn.rope %b last interleaved <theta = 10000.0, dims = 4> {attn.trace = "rope"} : !attn.stream<4x8>
      %g = attn.round %a to <bf16> {attn.trace = "round"} : !attn.stream<64>
      %h = attn.slice %a [0, 8] {attn.trace = "slice"} : !attn.stream<64> -> !attn.stream<8>
      %i = attn.map(%a : !attn.stream<64>) {attn.trace = "map"} -> !attn.stream<64> {
      ^bb0(%s: f32):
        %two = arith.constant 2.0 : f32
        %t = arith.mulf %s, %two : f32
        %u = math.exp %t : f32
        attn.yield %u : f32
      }
      %o = attn.attend scale 1.0
          causal (%q, %c : !attn.stream<128x576>, !attn.stream<576>) values %c : !attn.stream<576>
          {attn.trace = "causal"} -> !attn.stream<128x576>
      %p = attn.attend scale 1.0
          window 128 (%q, %c : !attn.stream<128x576>, !attn.stream<576>) values %c : !attn.stream<576>
          causal (%q2, %slow : !attn.stream<128x64>, !attn.stream<64, every 4>),
                 (%q2, %slow : !attn.stream<128x64>, !attn.stream<64, every 4>)
          values %wide : !attn.stream<576, every 4>
          {attn.trace = "sources"} -> !attn.stream<128x576>
      %ln = attn.layer_norm %a, @n eps 1.0e-6 {attn.trace = "layer_norm"} : !attn.stream<64>
      %hd = attn.hadamard %b {attn.trace = "hadamard"} : !attn.stream<4x8>
      %cp = attn.compress every 4 bias @ape (%c at -2 : !attn.stream<576>), (%c, %c at -1 : !attn.stream<576>, !attn.stream<576>),
          (%c, %one at 0 : !attn.stream<576>, !attn.stream<1>) {attn.trace = "compress"} -> !attn.stream<576, every 4>
      %sc = attn.score relu scale 1.0 (%q, %wide : !attn.stream<128x576>, !attn.stream<576, every 4>)
          weights %heads : !attn.stream<128> {attn.trace = "score"} -> !attn.scores<every 4>
      %pool = attn.block_top_k %sc block 8 max {attn.trace = "pool"} : !attn.scores<every 4> -> !attn.selection<16, every 4, block 8>
      %in = attn.score relu scale 1.0 (%q, %wide : !attn.stream<128x576>, !attn.stream<576, every 4>)
          within %pool : !attn.selection<16, every 4, block 8> {attn.trace = "within"} -> !attn.scores<every 4>
      %picks = attn.top_k %in {attn.trace = "picks"} : !attn.scores<every 4> -> !attn.selection<32, every 4>
      %sel = attn.attend scale 1.0
          select %picks : !attn.selection<32, every 4> (%q, %wide : !attn.stream<128x576>, !attn.stream<576, every 4>)
          values %wide : !attn.stream<576, every 4>
          {attn.trace = "selected"} -> !attn.stream<128x576>
      attn.return %x : !attn.stream<32>
    })";

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

TEST_F(WorkTest, ProjectionsCountTwoPerEntryOfTheWeight) {
  EXPECT_EQ(work("whole", 1).project, 2.0 * 32 * 64);
  EXPECT_EQ(work("grouped", 1).project, 2.0 * 32 * 8 * 4);
  EXPECT_EQ(work("whole", 1).total(), work("whole", 4096).project);
}

TEST_F(WorkTest, PerTokenOps) {
  EXPECT_EQ(work("norm", 1).other, 4.0 * 64);
  EXPECT_EQ(work("rope", 1).other, 4.0 * 4 * 4);
  EXPECT_EQ(work("round", 1).other, 2.0 * 64);
  EXPECT_EQ(work("map", 1).other, 2.0 * 64); // the constant is free
  EXPECT_EQ(work("slice", 1).total(), 0.0);
  EXPECT_EQ(work("layer_norm", 1).other, 6.0 * 64);
  EXPECT_EQ(work("hadamard", 1).other, 4 * (8 * 3 + 8.0));
  // 4 rows: three values, gates of 576 channels and of 1, with a bias.
  EXPECT_EQ(work("compress", 1).other, 4 * (3 * 2.0 * 576 + 4 * 577));
}

TEST_F(WorkTest, AttentionCountsVisibleEntries) {
  EXPECT_EQ(work("causal", 1000).attend, 1000 * 2.0 * 128 * (576 + 576));
  // A window of 128, and 250 complete elements of two parts.
  double window = 128 * 2.0 * 128 * (576 + 576), slow = 250 * 2.0 * 128 * (64 + 64 + 576);
  EXPECT_EQ(work("sources", 1003).attend, window + slow);
  EXPECT_EQ(work("sources", 3).attend, 3 * 2.0 * 128 * (576 + 576));
}

TEST_F(WorkTest, ScoresCountVisibleEntries) {
  EXPECT_EQ(work("score", 1003).score, 250 * 2.0 * 128 * 576);
  EXPECT_EQ(work("score", 1003).total(), work("score", 1003).score);
  // At most the 16 blocks of 8 that are picked.
  EXPECT_EQ(work("within", 1003).score, 128 * 2.0 * 128 * 576);
  EXPECT_EQ(work("within", 43).score, 10 * 2.0 * 128 * 576);
  EXPECT_EQ(work("selected", 1003).attend, 32 * 2.0 * 128 * (576 + 576));
  EXPECT_EQ(work("pool", 1003).total() + work("picks", 1003).total(), 0.0);
}

TEST_F(WorkTest, HistoryOfScoresAndSelections) {
  using Kind = HistoryUse::Kind;
  auto within = cast<ScoreOp>(find("within"));
  for (OpOperand &operand : within->getOpOperands())
    EXPECT_EQ(within.getHistoryUse(operand).kind,
              operand.get() == within.getKey() ? Kind::All : Kind::None);
  auto selected = cast<AttendOp>(find("selected"));
  for (OpOperand &operand : selected->getOpOperands())
    EXPECT_EQ(selected.getHistoryUse(operand).kind,
              operand.get() == selected.getKeys()[0] ? Kind::All : Kind::None);
  EXPECT_FALSE(isa<HistoryOpInterface>(find("picks")));
}

TEST_F(WorkTest, HistoryOfACompressorIsAFold) {
  auto compress = cast<CompressOp>(find("compress"));
  // values at -2, -1, 0, then the gates of the last two
  const int64_t sizes[] = {12, 8, 4, 8, 4};
  ASSERT_EQ(compress->getNumOperands(), std::size(sizes));
  for (OpOperand &operand : compress->getOpOperands()) {
    HistoryUse use = compress.getHistoryUse(operand);
    EXPECT_EQ(use.kind, HistoryUse::Kind::Fold);
    EXPECT_EQ(use.size, sizes[operand.getOperandNumber()]);
  }
}

TEST_F(WorkTest, HistoryFollowsVisibility) {
  using Kind = HistoryUse::Kind;
  auto attend = cast<AttendOp>(find("sources"));
  // queries q, q2, q2; keys c, slow, slow; values c, wide
  const Kind kinds[] = {Kind::None,   Kind::None, Kind::None,   Kind::Window,
                        Kind::All,    Kind::All,  Kind::Window, Kind::All};
  ASSERT_EQ(attend->getNumOperands(), std::size(kinds));
  for (OpOperand &operand : attend->getOpOperands()) {
    HistoryUse use = attend.getHistoryUse(operand);
    EXPECT_EQ(use.kind, kinds[operand.getOperandNumber()]) << operand.getOperandNumber();
    EXPECT_EQ(use.size, use.kind == Kind::Window ? 128 : 0);
  }
}
