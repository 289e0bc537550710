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
    attn.model @m(%x: !attn.stream<32>, %q: !attn.stream<128x576>, %q2: !attn.stream<128x64>,
                  %c: !attn.stream<576>, %slow: !attn.stream<64, every 4>, %wide: !attn.stream<576, every 4>) -> !attn.stream<32> {
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
}

TEST_F(WorkTest, AttentionCountsVisibleEntries) {
  EXPECT_EQ(work("causal", 1000).attend, 1000 * 2.0 * 128 * (576 + 576));
  // A window of 128, and 250 complete elements of two parts.
  double window = 128 * 2.0 * 128 * (576 + 576), slow = 250 * 2.0 * 128 * (64 + 64 + 576);
  EXPECT_EQ(work("sources", 1003).attend, window + slow);
  EXPECT_EQ(work("sources", 3).attend, 3 * 2.0 * 128 * (576 + 576));
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
