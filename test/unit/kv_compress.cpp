//===- kv_compress.cpp - pooling by states computes what graphs mean ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Streams with one element every m tokens: compressed with carried states, kept
// in pages of their own, attended to, selected from. The reference executor runs
// the plans in every kind of schedule; the interpreter says what must come out.
//
//===----------------------------------------------------------------------===//

#include "kv_fixture.h"

using namespace attnc;
using namespace attnc::test;
using mlir::attn::PlanOptions;

namespace {

constexpr const char *kHead = R"(
attn.weight @q : 16x8
attn.weight @c : 8x8
attn.weight @g : 8x8
attn.weight @w : 4x8
attn.weight @ape : 3x8
attn.weight @o : 8x16
attn.model @pooled(%x: !attn.stream<8>) -> !attn.stream<8> {
  %q = attn.linear %x, @q : (!attn.stream<8>) -> !attn.stream<4x4>
  %w = attn.linear %x, @w : (!attn.stream<8>) -> !attn.stream<4>
  %c = attn.linear %x, @c : (!attn.stream<8>) -> !attn.stream<8>
  %cb = attn.slice %c [0, 4] : !attn.stream<8> -> !attn.stream<4>
  %ca = attn.slice %c [4, 4] : !attn.stream<8> -> !attn.stream<4>
  %g = attn.linear %x, @g : (!attn.stream<8>) -> !attn.stream<8>
  %gb = attn.slice %g [0, 4] : !attn.stream<8> -> !attn.stream<4>
  %ga = attn.slice %g [4, 4] : !attn.stream<8> -> !attn.stream<4>
)";

constexpr const char *kTail = R"(
  %y = attn.linear %a, @o : (!attn.stream<4x4>) -> !attn.stream<8>
  attn.return %y : !attn.stream<8>
}
)";

/// Overlapping blocks of 3 and a bias; pooled elements are rotated by their
/// positions, attended to beside a window.
constexpr const char *kOverlap = R"(
  %k0 = attn.compress every 3 bias @ape
      (%cb, %gb at -1 : !attn.stream<4>, !attn.stream<4>),
      (%ca, %ga at 0 : !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4, every 3>
  %k = attn.rope %k0 last interleaved <theta = 100.0, dims = 2> : !attn.stream<4, every 3>
  %a = attn.attend scale 0.5
      causal (%q, %k : !attn.stream<4x4>, !attn.stream<4, every 3>) values %k : !attn.stream<4, every 3>
      window 5 (%q, %w : !attn.stream<4x4>, !attn.stream<4>) values %w : !attn.stream<4>
      -> !attn.stream<4x4>
)";

/// A mean of 4 pooled again by 2, far back: rates 4 and 8.
constexpr const char *kTwice = R"(
  %m = attn.compress every 4 (%ca at 0 : !attn.stream<4>) -> !attn.stream<4, every 4>
  %k = attn.compress every 2 (%m at -3 : !attn.stream<4, every 4>),
      (%m, %m at 0 : !attn.stream<4, every 4>, !attn.stream<4, every 4>) -> !attn.stream<4, every 8>
  %a = attn.attend scale 0.5
      causal (%q, %k : !attn.stream<4x4>, !attn.stream<4, every 8>) values %k : !attn.stream<4, every 8>
      causal (%q, %w : !attn.stream<4x4>, !attn.stream<4>) values %w : !attn.stream<4>
      -> !attn.stream<4x4>
)";

/// Pooled elements are selected; the tokens that one of them stands for, too.
constexpr const char *kSelected = R"(
  %k = attn.compress every 3 (%ca, %ga at 0 : !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4, every 3>
  %s = attn.score relu scale 0.5 (%q, %k : !attn.stream<4x4>, !attn.stream<4, every 3>)
      weights %w : !attn.stream<4> -> !attn.scores<every 3>
  %sel = attn.top_k %s : !attn.scores<every 3> -> !attn.selection<4, every 3>
  %each = attn.expand %sel : !attn.selection<4, every 3> -> !attn.selection<4, block 3>
  %a = attn.attend scale 0.5
      select %sel : !attn.selection<4, every 3> (%q, %k : !attn.stream<4x4>, !attn.stream<4, every 3>) values %k : !attn.stream<4, every 3>
      select %each : !attn.selection<4, block 3> (%q, %w : !attn.stream<4x4>, !attn.stream<4>) values %w : !attn.stream<4>
      window 2 (%q, %cb : !attn.stream<4x4>, !attn.stream<4>) values %cb : !attn.stream<4>
      -> !attn.stream<4x4>
)";

struct CompressCase {
  const char *name, *graph;
};

class Compressions : public KvTest, public ::testing::WithParamInterface<CompressCase> {};

TEST_P(Compressions, AgreeWithTheInterpreterInEverySchedule) {
  auto graph = parse(std::string(kHead) + GetParam().graph + kTail);
  ASSERT_TRUE(graph);
  PlanOptions options;
  options.storage = mlir::attn::Storage::Exact;
  options.pageEntries = 4;
  auto step = lower(*graph, options);
  ASSERT_TRUE(step);
  RandomWeights weights(5);
  Input input = *openInput("random:3:50", 8);
  std::vector<double> expected = interpret(*graph, weights, input);
  for (const char *schedule :
       {"prefill", "decode", "chunk:2", "chunk:7", "mixed:1", "mixed:2", "batch:1"}) {
    Result<RunResult> result = run(*step, weights, input, schedule);
    ASSERT_TRUE(result) << schedule << ": " << result.error();
    EXPECT_LT(worstDifference(expected, result->hidden), 1e-5) << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(Kv, Compressions,
                         ::testing::Values(CompressCase{"overlap", kOverlap},
                                           CompressCase{"twice", kTwice},
                                           CompressCase{"selected", kSelected}),
                         [](const auto &info) { return info.param.name; });

} // namespace
