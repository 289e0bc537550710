//===- kv_reference.cpp - plans compute what their graphs mean --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small graphs are planned, lowered and run by the reference executor on real
// pages and rings, in every kind of schedule; the interpreter, which knows no
// caches, says what must come out. Fresh pages are filled with NaN.
//
//===----------------------------------------------------------------------===//

#include "kv_fixture.h"

using namespace attnc;
using namespace attnc::test;
using mlir::attn::Absorb;
using mlir::attn::Cut;
using mlir::attn::PlanOptions;
using mlir::attn::Storage;

namespace {

/// Grouped heads, a sink, a rotation, a residual, a trace.
constexpr const char *kGrouped = R"(
attn.weight @q : 16x8
attn.weight @k : 8x8
attn.weight @v : 8x8
attn.weight @o : 8x16
attn.weight @sink : 4
attn.model @grouped(%x: !attn.stream<8>) -> !attn.stream<8> {
  %q0 = attn.linear %x, @q : (!attn.stream<8>) -> !attn.stream<4x4>
  %q = attn.rope %q0 last half_split <theta = 10000.0, dims = 4> : !attn.stream<4x4>
  %k0 = attn.linear %x, @k : (!attn.stream<8>) -> !attn.stream<2x4>
  %k = attn.rope %k0 last half_split <theta = 10000.0, dims = 4> : !attn.stream<2x4>
  %v = attn.linear %x, @v : (!attn.stream<8>) -> !attn.stream<2x4>
  %a = attn.attend scale 0.5 sink @sink causal (%q, %k : !attn.stream<4x4>, !attn.stream<2x4>)
      values %v : !attn.stream<2x4> -> !attn.stream<4x4>
  %o = attn.linear %a, @o {attn.trace = "out"} : (!attn.stream<4x4>) -> !attn.stream<8>
  %y = attn.map(%x, %o : !attn.stream<8>, !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    attn.yield %s : f32
  }
  attn.return %y : !attn.stream<8>
}
)";

/// Two layers with windows of 5 and 3 over one latent, with a score map.
constexpr const char *kWindows = R"(
attn.weight @w : 4x8
attn.weight @q : 8x8
attn.weight @slope : 2
attn.model @windows(%x: !attn.stream<8>) -> !attn.stream<8> {
  %c = attn.linear %x, @w : (!attn.stream<8>) -> !attn.stream<4>
  %q = attn.linear %x, @q : (!attn.stream<8>) -> !attn.stream<2x4>
  %a = attn.attend scale 0.5 consts [@slope]
      window 5 (%q, %c : !attn.stream<2x4>, !attn.stream<4>)
      values %c : !attn.stream<4> -> !attn.stream<2x4> {
  ^bb0(%s: f32, %qp: f32, %kp: f32, %h: f32, %slope: f32):
    %d = arith.subf %kp, %qp : f32
    %b = arith.mulf %d, %slope : f32
    %r = arith.addf %s, %b : f32
    attn.yield %r : f32
  }
  %b = attn.attend scale 0.5 window 3 (%a, %c : !attn.stream<2x4>, !attn.stream<4>)
      values %c : !attn.stream<4> {layer = 1 : i64} -> !attn.stream<2x4>
  %flat = attn.linear %b, @q : (!attn.stream<2x4>) -> !attn.stream<8>
  attn.return %flat : !attn.stream<8>
}
)";

/// Keys and values up-projected from a normalised latent of `rank` channels of
/// `hidden`, as in MLA.
std::string latent(int64_t rank, int64_t hidden) {
  std::string text = R"(
attn.weight @down : DOWNxHIDDEN
attn.weight @norm : RANK
attn.weight @up : 32xRANK
attn.weight @q : 24xHIDDEN
attn.weight @o : HIDDENx16
attn.model @latent(%x: !attn.stream<HIDDEN>) -> !attn.stream<HIDDEN> {
  %d = attn.linear %x, @down : (!attn.stream<HIDDEN>) -> !attn.stream<DOWN>
  %c0 = attn.slice %d [0, RANK] : !attn.stream<DOWN> -> !attn.stream<RANK>
  %c = attn.rms_norm %c0, @norm eps 1.0e-6 : !attn.stream<RANK>
  %r0 = attn.slice %d [RANK, 2] : !attn.stream<DOWN> -> !attn.stream<2>
  %r = attn.rope %r0 last interleaved <theta = 100.0, dims = 2> : !attn.stream<2>
  %kv = attn.linear %c, @up : (!attn.stream<RANK>) -> !attn.stream<4x8>
  %kn = attn.slice %kv [0, 4] : !attn.stream<4x8> -> !attn.stream<4x4>
  %v = attn.slice %kv [4, 4] : !attn.stream<4x8> -> !attn.stream<4x4>
  %k = attn.concat %kn, %r : (!attn.stream<4x4>, !attn.stream<2>) -> !attn.stream<4x6>
  %q0 = attn.linear %x, @q : (!attn.stream<HIDDEN>) -> !attn.stream<4x6>
  %q = attn.rope %q0 last interleaved <theta = 100.0, dims = 2> : !attn.stream<4x6>
  %a = attn.attend scale 0.4 causal (%q, %k : !attn.stream<4x6>, !attn.stream<4x6>)
      values %v : !attn.stream<4x4> -> !attn.stream<4x4>
  %y = attn.linear %a, @o : (!attn.stream<4x4>) -> !attn.stream<HIDDEN>
  attn.return %y : !attn.stream<HIDDEN>
}
)";
  auto replace = [&](const std::string &name, int64_t number) {
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), std::to_string(number));
  };
  replace("RANK", rank);
  replace("DOWN", rank + 2);
  replace("HIDDEN", hidden);
  return text;
}

/// Full and windowed sources under one softmax; the second layer reads the
/// first one's rows.
constexpr const char *kSources = R"(
attn.weight @k : 4x8
attn.weight @w : 4x8
attn.weight @o : 8x8
attn.model @sources(%x: !attn.stream<8>) -> !attn.stream<8> {
  %q = attn.linear %x, @o : (!attn.stream<8>) -> !attn.stream<2x4>
  %k = attn.linear %x, @k : (!attn.stream<8>) -> !attn.stream<4>
  %w = attn.linear %x, @w : (!attn.stream<8>) -> !attn.stream<4>
  %a = attn.attend scale 0.5
      causal (%q, %k : !attn.stream<2x4>, !attn.stream<4>) values %k : !attn.stream<4>
      window 4 (%q, %w : !attn.stream<2x4>, !attn.stream<4>) values %w : !attn.stream<4>
      -> !attn.stream<2x4>
  %b = attn.attend scale 0.5 causal (%a, %k : !attn.stream<2x4>, !attn.stream<4>)
      values %k : !attn.stream<4> {layer = 1 : i64} -> !attn.stream<2x4>
  %y = attn.linear %b, @o : (!attn.stream<2x4>) -> !attn.stream<8>
  attn.return %y : !attn.stream<8>
}
)";

struct PlanCase {
  const char *name;
  std::string graph;
  PlanOptions options;
};

PlanOptions plan(Absorb absorb, Cut cut, Storage storage = Storage::Exact, int64_t page = 64,
                 int64_t threshold = 0) {
  PlanOptions options;
  options.absorb = absorb;
  options.cut = cut;
  options.storage = storage;
  options.pageEntries = page;
  options.threshold = threshold;
  return options;
}

int64_t hiddenOf(mlir::ModuleOp module) {
  mlir::kv::StepOp step = *module.getOps<mlir::kv::StepOp>().begin();
  return mlir::cast<mlir::attn::StreamType>(step.getFunctionType().getInput(0)).getNumFeatures();
}

class Plans : public KvTest, public ::testing::WithParamInterface<PlanCase> {};

TEST_P(Plans, AgreeWithTheInterpreterInEverySchedule) {
  auto graph = parse(GetParam().graph);
  ASSERT_TRUE(graph);
  auto step = lower(*graph, GetParam().options);
  ASSERT_TRUE(step);
  RandomWeights weights(5);
  Input input = *openInput("random:3:70", hiddenOf(*step));
  // The plan's rounding is part of the values.
  std::vector<double> expected = interpret(*planned, weights, input);
  if (GetParam().options.storage == Storage::Exact) {
    std::vector<double> asGiven = interpret(*graph, weights, input);
    EXPECT_LT(worstDifference(asGiven, {expected.begin(), expected.end()}), 1e-6);
  }
  for (const char *schedule :
       {"prefill", "decode", "chunk:3", "chunk:17", "mixed:1", "mixed:2", "batch:1", "batch:4"}) {
    Result<RunResult> result = run(*step, weights, input, schedule);
    ASSERT_TRUE(result) << schedule << ": " << result.error();
    EXPECT_LT(worstDifference(expected, result->hidden), 1e-5) << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kv, Plans,
    ::testing::Values(
        PlanCase{"grouped", kGrouped, plan(Absorb::Cost, Cut::Cost)},
        PlanCase{"grouped_pages_of_1", kGrouped, plan(Absorb::Cost, Cut::Cost, Storage::Exact, 1)},
        PlanCase{"grouped_bf16", kGrouped, plan(Absorb::Cost, Cut::Cost, Storage::BF16, 16)},
        PlanCase{"hidden_kept", kGrouped, plan(Absorb::Cost, Cut::Bytes)},
        PlanCase{"windows", kWindows, plan(Absorb::Cost, Cut::Cost)},
        PlanCase{"windows_bf16", kWindows, plan(Absorb::Cost, Cut::Flops, Storage::BF16)},
        PlanCase{"absorbed", latent(4, 8), plan(Absorb::Always, Cut::Cost, Storage::Exact, 16)},
        PlanCase{"expanded", latent(4, 8), plan(Absorb::Never, Cut::Flops)},
        PlanCase{"rebuilt", latent(4, 8), plan(Absorb::Never, Cut::Bytes, Storage::Exact, 1)},
        PlanCase{"rebuilt_bf16", latent(4, 8), plan(Absorb::Never, Cut::Bytes, Storage::BF16)},
        PlanCase{"two_forms", latent(16, 48), plan(Absorb::Cost, Cut::Bytes, Storage::Exact, 16, 4)},
        PlanCase{"two_forms_bf16", latent(16, 48), plan(Absorb::Cost, Cut::Cost, Storage::BF16, 1, 2)},
        PlanCase{"sources", kSources, plan(Absorb::Cost, Cut::Cost)},
        PlanCase{"sources_pages_of_1", kSources, plan(Absorb::Cost, Cut::Cost, Storage::BF16, 1)}),
    [](const auto &info) { return info.param.name; });

TEST_F(KvTest, APlanThatRecomputesRebuilds) {
  auto graph = parse(latent(4, 8));
  auto step = lower(*graph, plan(Absorb::Never, Cut::Bytes));
  ASSERT_TRUE(step);
  int rebuilds = 0;
  step->walk([&](mlir::kv::RebuildOp) { ++rebuilds; });
  EXPECT_EQ(rebuilds, 1);
}

TEST_F(KvTest, AWideLatentHasTwoForms) {
  auto graph = parse(latent(16, 48));
  auto step = lower(*graph, plan(Absorb::Cost, Cut::Cost, Storage::Exact, 64, 4));
  ASSERT_TRUE(step);
  mlir::kv::StepOp op = *step->getOps<mlir::kv::StepOp>().begin();
  EXPECT_EQ(int64_t(op.getThreshold()), 4);
  EXPECT_TRUE(op.getDecode().getOps<mlir::kv::RebuildOp>().empty());
  EXPECT_FALSE(op.getPrefill().getOps<mlir::kv::RebuildOp>().empty());
}

TEST_F(KvTest, TracesComeInTokenOrder) {
  auto graph = parse(kGrouped);
  auto step = lower(*graph, {});
  RandomWeights weights(5);
  Input input = *openInput("random:3:9", 8);
  Result<RunResult> all = run(*step, weights, input, "prefill");
  Result<RunResult> each = run(*step, weights, input, "decode");
  ASSERT_TRUE(all && each);
  ASSERT_EQ(all->traces.count("out"), 1u);
  EXPECT_EQ(all->traces["out"].width, 8);
  EXPECT_LT(worstDifference({all->traces["out"].rows.begin(), all->traces["out"].rows.end()},
                            each->traces["out"].rows),
            1e-5);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Random weights but for NaN in one of them.
class BrokenWeights : public RandomWeights {
public:
  BrokenWeights() : RandomWeights(5), broken(4096, NAN) {}
  const float *get(const std::string &name, const std::vector<int64_t> &shape,
                   std::string &error) override {
    if (name == "missing") {
      error = "tensor 'missing' not found";
      return nullptr;
    }
    return name == "o" ? broken.data() : RandomWeights::get(name, shape, error);
  }

private:
  std::vector<float> broken;
};

TEST_F(KvTest, NaNInTheOutputSaysWhere) {
  auto graph = parse(kGrouped);
  auto step = lower(*graph, {});
  BrokenWeights weights;
  Result<RunResult> result = run(*step, weights, *openInput("random:3:4", 8), "prefill");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().find("NaN in the output of sequence 0, position 0, channel 0"),
            std::string::npos)
      << result.error();
}

TEST_F(KvTest, AMissingWeightIsAnError) {
  auto step = parse(R"(
attn.weight @missing : 8x8
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  %y = attn.linear %x, @missing : (!attn.stream<8>) -> !attn.stream<8>
  kv.return %y : !attn.stream<8>
} prefill {
})");
  BrokenWeights weights;
  Result<RunResult> result = run(*step, weights, *openInput("random:3:4", 8), "prefill");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().find("tensor 'missing' not found"), std::string::npos);
}

TEST_F(KvTest, OpsOfAnotherLevelAreAnError) {
  auto step = parse(R"(
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  %y = attn.attend scale 0.5 causal (%x, %x : !attn.stream<8>, !attn.stream<8>)
      values %x : !attn.stream<8> -> !attn.stream<8>
  kv.return %y : !attn.stream<8>
} prefill {
})");
  RandomWeights weights(1);
  Result<RunResult> result = run(*step, weights, *openInput("random:3:4", 8), "prefill");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().find("has no meaning inside a step"), std::string::npos);
}

TEST_F(KvTest, StepsOfAnotherShapeAreRefused) {
  RandomWeights weights(1);
  auto none = parse("module {}");
  EXPECT_EQ(mlir::kv::ReferenceExecutor::create(*none, weights).error(),
            "found 0 kv.step ops in the module; expected one");
  auto two = parse(R"(
kv.step @s (!attn.stream<8>, !attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>, %y: !attn.stream<8>):
  kv.return %y : !attn.stream<8>
} prefill {
})");
  EXPECT_EQ(mlir::kv::ReferenceExecutor::create(*two, weights).error(),
            "found a step @s of other than one stream to one like it; expected hidden states in "
            "and out");
}

TEST_F(KvTest, ABatchBringsAllCaches) {
  auto graph = parse(kGrouped);
  auto step = lower(*graph, {});
  RandomWeights weights(1);
  auto executor = mlir::kv::ReferenceExecutor::create(*step, weights);
  ASSERT_TRUE(executor);
  EXPECT_EQ((*executor)->step({}), "the batch brings 0 caches; expected 1");
}

} // namespace
