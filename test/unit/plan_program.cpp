//===- plan_program.cpp - launch lists and kernel shapes --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/Plan/BuildProgram.h"
#include "kv_fixture.h"

#include "formats/Manifest.h"

#include <set>

using namespace attnc;
using namespace attnc::test;

namespace {

class PlanTest : public KvTest {
protected:
  /// The program of a step given as text.
  PlannedProgram build(llvm::StringRef text) {
    module = parse(text);
    EXPECT_TRUE(module);
    PlannedProgram planned;
    EXPECT_TRUE(succeeded(buildProgram(*module, planned)));
    EXPECT_EQ(checkProgram(planned.program, "program"), "");
    return planned;
  }

  /// The program of a shipped config.
  PlannedProgram buildConfig(const std::string &config, int64_t layers,
                             mlir::attn::PlanOptions options = {}) {
    ImportOptions import;
    import.layers = {0, layers};
    ImportInfo info;
    auto graph = importModel(std::string(ATTNC_TEST_DATA) + "/../configs/" + config, context,
                             import, info);
    EXPECT_TRUE(graph) << info.error;
    module = lower(*graph, options);
    PlannedProgram planned;
    EXPECT_TRUE(module && succeeded(buildProgram(*module, planned)));
    EXPECT_EQ(checkProgram(planned.program, "program"), "");
    return planned;
  }

  /// The first error of building the step in `text`.
  std::string failure(llvm::StringRef text) {
    module = parse(text);
    EXPECT_TRUE(module);
    std::string message;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      message = diagnostic.str();
      return mlir::success();
    });
    PlannedProgram planned;
    EXPECT_TRUE(failed(buildProgram(*module, planned)));
    return message;
  }

  mlir::OwningOpRef<mlir::ModuleOp> module;
};

std::vector<std::string> ops(const std::vector<Launch> &launches) {
  std::vector<std::string> names;
  for (const Launch &launch : launches)
    names.push_back(launch.op);
  return names;
}

std::set<std::string> kernelNames(const PlannedProgram &planned) {
  std::set<std::string> names;
  for (const KernelSpec &kernel : planned.kernels)
    names.insert(kernel.name);
  return names;
}

TEST_F(PlanTest, KernelsAndBuffersDoNotGrowWithLayers) {
  PlannedProgram few = buildConfig("deepseek-v3.json", 2);
  std::set<std::string> fewNames = kernelNames(few);
  PlannedProgram many = buildConfig("deepseek-v3.json", 61);
  EXPECT_EQ(fewNames, kernelNames(many));
  EXPECT_EQ(few.kernels.size(), fewNames.size());
  EXPECT_EQ(few.program.decode.buffers, many.program.decode.buffers);
  EXPECT_LE(many.program.decode.buffers.size(), 6u);
  EXPECT_EQ(many.program.decode.states.size(), 1u);
  EXPECT_EQ(many.program.caches.size(), 61u);
  // Projections, norms and rotations of parts need no copies.
  for (const std::string &name : fewNames)
    EXPECT_EQ(name.find("map_copy"), std::string::npos) << name;
}

TEST_F(PlanTest, TheSameInputGivesTheSameBytes) {
  Manifest first, second;
  first.program = buildConfig("deepseek-v3.json", 3).program;
  second.program = buildConfig("deepseek-v3.json", 3).program;
  EXPECT_EQ(toJson(first), toJson(second));
}

TEST_F(PlanTest, NamesBeginWithTheOpAndAreIdentifiers) {
  for (const KernelDesc &kernel : buildConfig("deepseek-v3.json", 1).program.kernels) {
    EXPECT_EQ(kernel.name.rfind(kernel.op + "_", 0), 0u) << kernel.name;
    for (char c : kernel.name)
      EXPECT_TRUE(std::isalnum(c) || c == '_') << kernel.name;
  }
}

TEST_F(PlanTest, SlicesAreViewsAndConcatenationsCopies) {
  PlannedProgram planned = build(R"(
attn.weight @w : 8x8
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  %y = attn.linear %x, @w : (!attn.stream<8>) -> !attn.stream<2x4>
  %a = attn.slice %y [2, 2] : !attn.stream<2x4> -> !attn.stream<2x2>
  %b = attn.slice %x [6, 2] : !attn.stream<8> -> !attn.stream<2>
  %c = attn.concat %a, %b : (!attn.stream<2x2>, !attn.stream<2>) -> !attn.stream<2x4>
  %z = attn.linear %c, @w : (!attn.stream<2x4>) -> !attn.stream<8>
  kv.return %z : !attn.stream<8>
} prefill {
})");
  const std::vector<Launch> &launches = planned.program.decode.launches;
  ASSERT_EQ(ops(launches), (std::vector<std::string>{"project", "map", "map", "project"}));
  EXPECT_EQ(launches[1].in[0].offset, 2);
  EXPECT_EQ(launches[1].in[0].headStride, 4);
  EXPECT_EQ(launches[1].out[0].offset, 0);
  // Without heads: read again for each head of the result.
  EXPECT_EQ(launches[2].in[0].offset, 6);
  EXPECT_EQ(launches[2].in[0].headStride, 0);
  EXPECT_EQ(launches[2].in[0].heads, 2);
  EXPECT_EQ(launches[2].out[0].offset, 2);
  // Both projections read the matrix in one packing.
  EXPECT_EQ(launches[0].weights, launches[3].weights);
  EXPECT_EQ(planned.kernels.size(), 2u);
}

TEST_F(PlanTest, AProjectionOfStridedHeadsPacksThemFirst) {
  PlannedProgram planned = build(R"(
attn.weight @w : 8x8
attn.weight @n : 4x8
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  %y = attn.linear %x, @w : (!attn.stream<8>) -> !attn.stream<2x4>
  %a = attn.slice %y [0, 2] : !attn.stream<2x4> -> !attn.stream<2x2>
  %z = attn.linear %a, @n transpose : (!attn.stream<2x2>) -> !attn.stream<8>
  kv.return %z : !attn.stream<8>
} prefill {
})");
  const std::vector<Launch> &launches = planned.program.decode.launches;
  ASSERT_EQ(ops(launches), (std::vector<std::string>{"project", "map", "project"}));
  EXPECT_EQ(launches[1].kernel, "map_copy_2x2");
  EXPECT_EQ(launches[2].in[0].heads, 1);
  EXPECT_EQ(launches[2].in[0].inner, 4);
}

TEST_F(PlanTest, OperandsAndConstantsOfMapsSpread) {
  PlannedProgram planned = build(R"(
attn.weight @w : 2x8
attn.weight @c8 : 8
attn.weight @c2 : 2
attn.weight @c4 : 4
attn.weight @c1 : 1
kv.step @s (!attn.stream<2x4>) -> (!attn.stream<2x4>) decode {
^bb0(%x: !attn.stream<2x4>):
  %h = attn.linear %x, @w : (!attn.stream<2x4>) -> !attn.stream<2>
  %t = attn.slice %h [1, 1] : !attn.stream<2> -> !attn.stream<1>
  %y = attn.map(%x, %h, %t : !attn.stream<2x4>, !attn.stream<2>, !attn.stream<1>)
      consts [@c8, @c2, @c4, @c1] -> !attn.stream<2x4> {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f: f32, %g: f32):
    attn.yield %a : f32
  }
  kv.return %y : !attn.stream<2x4>
} prefill {
})");
  const Launch &map = planned.program.decode.launches.back();
  EXPECT_EQ(map.in[1].heads, 2);
  EXPECT_EQ(map.in[1].inner, 1);
  EXPECT_EQ(map.in[1].headStride, 1);
  EXPECT_EQ(map.in[2].offset, 1);
  const auto &spec = std::get<MapSpec>(planned.kernels.back().op);
  using Operand = MapSpec::Operand;
  using Const = MapSpec::Const;
  EXPECT_EQ(spec.operands,
            (std::vector<Operand>{Operand::Full, Operand::PerHead, Operand::PerToken}));
  EXPECT_EQ(spec.consts, (std::vector<Const>{Const::PerChannel, Const::PerHead, Const::PerInner,
                                             Const::One}));
}

/// An attend over one cache, with `map` as score map and `scale`.
std::string attend(const std::string &scale, const std::string &map) {
  return R"(
kv.cache @a paged row [#kv.segment<"k", 8, #attn.format<bf16>>]
kv.step @s (!attn.stream<2x4>) -> (!attn.stream<2x4>) decode {
^bb0(%x: !attn.stream<2x4>):
  kv.append %x to @a : !attn.stream<2x4>
  %r = kv.read @a[0] : !kv.rows<2x4>
  %s0 = kv.attend_init : !kv.state<2x4>
  %s1 = kv.attend_partial %s0 scale 0.5 window 0 (%x : !attn.stream<2x4>)
      keys (%r : !kv.rows<2x4>) value %r : !kv.rows<2x4> -> !kv.state<2x4>
  %s2 = kv.attend_partial %s1 scale )" +
         scale + R"( window 0 (%x : !attn.stream<2x4>)
      keys (%r : !kv.rows<2x4>) value %r : !kv.rows<2x4> -> !kv.state<2x4> )" +
         map + R"(
  %o = kv.attend_finish %s2 {attn.trace = "o"} : !kv.state<2x4> -> !attn.stream<2x4>
  kv.return %o : !attn.stream<2x4>
} prefill {
})";
}

TEST_F(PlanTest, EqualShapesAreOneKernel) {
  PlannedProgram planned = build(attend("0.5", ""));
  const std::vector<Launch> &launches = planned.program.decode.launches;
  ASSERT_EQ(ops(launches),
            (std::vector<std::string>{"append", "attend", "attend", "combine", "trace"}));
  EXPECT_EQ(launches[1].kernel, launches[2].kernel);
  EXPECT_EQ(launches[1].state, launches[2].state);
  const auto &spec = std::get<AttendSpec>(planned.kernels[1].op);
  EXPECT_EQ(spec.heads, 2);
  EXPECT_EQ(spec.kvHeads, 2);
  EXPECT_EQ(spec.valueKey, 0);
  EXPECT_EQ(planned.program.kernels[1].params,
            (std::map<std::string, int64_t>{
                {"q_heads", 2}, {"kv_heads", 2}, {"dk", 4}, {"dv", 4}}));
}

TEST_F(PlanTest, WhatANameDoesNotSayTellsKernelsApart) {
  const std::vector<Launch> launches = build(attend("0.25", "")).program.decode.launches;
  EXPECT_EQ(launches[2].kernel, launches[1].kernel + "_n2");
  std::string map = "{\n^bb0(%s: f32, %q: f32, %k: f32, %h: f32):\n"
                    "%t = math.tanh %s : f32\nattn.yield %t : f32\n}";
  const std::vector<Launch> mapped = build(attend("0.5", map)).program.decode.launches;
  EXPECT_EQ(mapped[2].kernel, mapped[1].kernel + "_map_tanh");
}

TEST_F(PlanTest, RebuiltRowsAreDenseTiles) {
  PlannedProgram planned = build(R"(
attn.weight @up : 16x4
kv.cache @a paged row [#kv.segment<"c", 4, #attn.format<bf16>>, #kv.segment<"r", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4>) -> (!attn.stream<4>) decode {
^bb0(%x: !attn.stream<4>):
  kv.append %x, %x to @a : !attn.stream<4>, !attn.stream<4>
  %c = kv.read @a[0] : !kv.rows<4>
  %r = kv.read @a[1] : !kv.rows<4>
  %k:2 = kv.rebuild (%c : !kv.rows<4>) -> (!kv.rows<2x4>, !kv.rows<2x4>) {
  ^bb0(%e: !attn.stream<4>):
    %y = attn.linear %e, @up : (!attn.stream<4>) -> !attn.stream<2x8>
    %n = attn.slice %y [0, 4] : !attn.stream<2x8> -> !attn.stream<2x4>
    %v = attn.slice %y [4, 4] : !attn.stream<2x8> -> !attn.stream<2x4>
    kv.yield %n, %v : !attn.stream<2x4>, !attn.stream<2x4>
  }
  %q = attn.concat %x, %x : (!attn.stream<4>, !attn.stream<4>) -> !attn.stream<8>
  %q0 = attn.linear %x, @up rows [0, 8] : (!attn.stream<4>) -> !attn.stream<2x4>
  %s0 = kv.attend_init : !kv.state<2x4>
  %s1 = kv.attend_partial %s0 scale 0.5 window 6 (%q0, %q0 : !attn.stream<2x4>, !attn.stream<2x4>)
      keys (%k#0, %r : !kv.rows<2x4>, !kv.rows<4>) value %k#1 : !kv.rows<2x4> -> !kv.state<2x4>
  %o = kv.attend_finish %s1 : !kv.state<2x4> -> !attn.stream<2x4>
  %y = attn.linear %o, @up rows [0, 8] transpose : (!attn.stream<2x4>) -> !attn.stream<4>
  kv.return %y : !attn.stream<4>
} prefill {
})");
  const Launch *rebuild = nullptr;
  for (const Launch &launch : planned.program.decode.launches)
    if (launch.op == "rebuild")
      rebuild = &launch;
  ASSERT_TRUE(rebuild);
  EXPECT_EQ(rebuild->reads.size(), 2u);
  ASSERT_EQ(ops(rebuild->body), (std::vector<std::string>{"project", "attend"}));
  const Launch &attend = rebuild->body.back();
  EXPECT_TRUE(attend.keys[0].view.tile && attend.value.view.tile && !attend.in[0].tile);
  EXPECT_EQ(attend.value.view.offset, 4);
  EXPECT_EQ(attend.visibility.window, 6);
  EXPECT_EQ(planned.program.decode.rebuildBuffers, (std::vector<int64_t>{4, 4, 16}));
}

TEST_F(PlanTest, TargetsSetThePanelsOfTheirWeights) {
  PlannedProgram planned = buildConfig("deepseek-v3.json", 1);
  for (KernelDesc &kernel : planned.program.kernels)
    if (kernel.op == "project")
      kernel.params["panel"] = 16;
  setPanels(planned.program);
  for (const WeightUse &use : planned.program.weights)
    if (use.pack == WeightUse::Pack::Panels)
      EXPECT_EQ(use.panel, 16) << use.tensor;
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST_F(PlanTest, WhatHasNoKernelIsRefused) {
  auto step = [](const std::string &body) {
    return "attn.weight @w : 16x8\nattn.weight @b : 16\n"
           "kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {\n"
           "^bb0(%x: !attn.stream<8>):\n" +
           body + "  kv.return %x : !attn.stream<8>\n} prefill {\n}\n";
  };
  EXPECT_NE(failure(step("%y = attn.linear %x, @w bias @b rows [0, 8] : (!attn.stream<8>) -> "
                         "!attn.stream<8>\n"))
                .find("adds a bias to some rows of each group"),
            std::string::npos);
  EXPECT_NE(failure(step("%y = attn.extern @f (%x, %x) : (!attn.stream<8>, !attn.stream<8>) -> "
                         "!attn.stream<8>\n"))
                .find("has 2 inputs; expected one"),
            std::string::npos);
  EXPECT_NE(failure(step("%y = attn.attend scale 0.5 causal (%x, %x : !attn.stream<8>, "
                         "!attn.stream<8>) values %x : !attn.stream<8> -> !attn.stream<8>\n"))
                .find("has no kernel"),
            std::string::npos);
  EXPECT_NE(failure(step("") + "kv.cache @c state 1 row [#kv.segment<\"a\", 8, "
                               "#attn.format<f32>>]\n")
                .find("has no kernels; expected a paged cache or a ring"),
            std::string::npos);
  EXPECT_NE(failure("module {}").find("found 0 kv.step ops; expected one"), std::string::npos);
  EXPECT_NE(failure("kv.step @s (!attn.stream<8>) -> (!attn.stream<4>) decode {\n"
                    "^bb0(%x: !attn.stream<8>):\n"
                    "%y = attn.slice %x [0, 4] : !attn.stream<8> -> !attn.stream<4>\n"
                    "kv.return %y : !attn.stream<4>\n} prefill {\n}\n")
                .find("expected one stream of hidden states in and one like it out"),
            std::string::npos);
}

} // namespace
