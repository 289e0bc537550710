//===- passes_layer_kinds.cpp - who owns rows and picks, who reads them ----===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/CachePlanning.h"
#include "passes/Pipelines.h"
#include "passes/Work.h"

#include "dialect/Attn/IR/Attn.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// A layer of each kind, over streams that come from outside.
const char *const kLayers = R"(
attn.model @m(%q: !attn.stream<8>, %k: !attn.stream<8>, %w: !attn.stream<8>,
              %c: !attn.stream<8, every 2>, %iq: !attn.stream<4>,
              %ik: !attn.stream<4, every 2>, %ik3: !attn.stream<4, every 2>) -> !attn.stream<8> {
  %o0 = attn.attend scale 1.0 window 4 (%q, %w : !attn.stream<8>, !attn.stream<8>)
    values %w : !attn.stream<8> {layer = 0 : i64} -> !attn.stream<8>
  %o1 = attn.attend scale 1.0 causal (%o0, %k : !attn.stream<8>, !attn.stream<8>)
    values %k : !attn.stream<8> {layer = 1 : i64} -> !attn.stream<8>
  %o2 = attn.attend scale 1.0
    window 4 (%o1, %w : !attn.stream<8>, !attn.stream<8>) values %w : !attn.stream<8>
    causal (%o1, %c : !attn.stream<8>, !attn.stream<8, every 2>)
        values %c : !attn.stream<8, every 2>
    {layer = 2 : i64} -> !attn.stream<8>
  %s3 = attn.score relu scale 1.0 (%iq, %ik3 : !attn.stream<4>, !attn.stream<4, every 2>)
    {layer = 3 : i64} -> !attn.scores<every 2>
  %t3 = attn.top_k %s3 {layer = 3 : i64} : !attn.scores<every 2> -> !attn.selection<3, every 2>
  %e3 = attn.expand %t3 {layer = 3 : i64} : !attn.selection<3, every 2>
      -> !attn.selection<3, block 2>
  %o3 = attn.attend scale 1.0
    select %e3 : !attn.selection<3, block 2> (%o2, %k : !attn.stream<8>, !attn.stream<8>)
    values %k : !attn.stream<8> {layer = 3 : i64} -> !attn.stream<8>
  %s4 = attn.score relu scale 1.0 (%iq, %ik : !attn.stream<4>, !attn.stream<4, every 2>)
    {layer = 4 : i64} -> !attn.scores<every 2>
  %t4 = attn.top_k %s4 {layer = 4 : i64} : !attn.scores<every 2> -> !attn.selection<3, every 2>
  %o4 = attn.attend scale 1.0
    select %t4 : !attn.selection<3, every 2> (%o3, %c : !attn.stream<8>, !attn.stream<8, every 2>)
    values %c : !attn.stream<8, every 2> {layer = 4 : i64} -> !attn.stream<8>
  %s5 = attn.score none scale 1.0 (%iq, %ik : !attn.stream<4>, !attn.stream<4, every 2>)
    {layer = 5 : i64} -> !attn.scores<every 2>
  %t5 = attn.block_top_k %s5 block 2 max {layer = 5 : i64} : !attn.scores<every 2>
    -> !attn.selection<2, every 2, block 2>
  %o5 = attn.attend scale 1.0
    select %t5 : !attn.selection<2, every 2, block 2>
        (%o4, %c : !attn.stream<8>, !attn.stream<8, every 2>)
    values %c : !attn.stream<8, every 2> {layer = 5 : i64} -> !attn.stream<8>
  %o6 = attn.attend scale 1.0
    select %t5 : !attn.selection<2, every 2, block 2>
        (%o5, %c : !attn.stream<8>, !attn.stream<8, every 2>)
    values %c : !attn.stream<8, every 2> {layer = 6 : i64} -> !attn.stream<8>
  %o7 = attn.attend scale 1.0
    causal (%o6, %k : !attn.stream<8>, !attn.stream<8>) values %k : !attn.stream<8>
    select %t4 : !attn.selection<3, every 2> (%o6, %c : !attn.stream<8>, !attn.stream<8, every 2>)
    values %c : !attn.stream<8, every 2> {layer = 7 : i64} -> !attn.stream<8>
  attn.return %o7 : !attn.stream<8>
}
)";

/// A score whose keys are made again from the latent that an attend reads.
const char *const kRebuiltKeys = R"(
attn.weight @iw : 4x8
attn.model @m(%q: !attn.stream<8>, %c: !attn.stream<8, every 2>, %iq: !attn.stream<4>)
    -> !attn.stream<8> {
  %ik = attn.linear %c, @iw : (!attn.stream<8, every 2>) -> !attn.stream<4, every 2>
  %s = attn.score relu scale 1.0 (%iq, %ik : !attn.stream<4>, !attn.stream<4, every 2>)
      -> !attn.scores<every 2>
  %t = attn.top_k %s : !attn.scores<every 2> -> !attn.selection<3, every 2>
  %o = attn.attend scale 1.0 select %t : !attn.selection<3, every 2>
      (%q, %c : !attn.stream<8>, !attn.stream<8, every 2>)
    values %c : !attn.stream<8, every 2> -> !attn.stream<8>
  attn.return %o : !attn.stream<8>
}
)";

class LayerKinds : public ::testing::Test {
protected:
  OwningOpRef<ModuleOp> plan(const char *text, const PlanOptions &options) {
    context.loadDialect<AttnDialect>();
    auto module = parseSourceString<ModuleOp>(text, &context);
    PassReport report;
    if (module && failed(planModule(*module, options, report)))
      return {};
    return module;
  }

  static PlanOptions bf16() {
    PlanOptions options;
    options.storage = Storage::BF16, options.verifyEach = true;
    return options;
  }

  MLIRContext context;
};

} // namespace

TEST_F(LayerKinds, FollowFromDefinitionsAndUses) {
  auto module = plan(kLayers, bf16());
  ASSERT_TRUE(module);
  const LayerKind expected[] = {
      {0, "window", 0, -1},   {1, "full", 1, -1},    {2, "compressed", 2, -1},
      {3, "selected", 1, 3},  {4, "full-index", 2, 4}, {5, "reindex", 2, 5},
      {6, "reuse", 2, 5},     {7, "mixed", 1, 4},
  };
  std::vector<LayerKind> found = layerKindsOf(*module);
  ASSERT_EQ(found.size(), std::size(expected));
  for (auto [kind, wanted] : llvm::zip_equal(found, expected)) {
    EXPECT_EQ(kind.layer, wanted.layer);
    EXPECT_EQ(kind.kind, wanted.kind) << "layer " << wanted.layer;
    EXPECT_EQ(kind.kvSource, wanted.kvSource) << "layer " << wanted.layer;
    EXPECT_EQ(kind.indexSource, wanted.indexSource) << "layer " << wanted.layer;
  }
}

// What later layers read too is one cache with a list of readers.
TEST_F(LayerKinds, SharedRowsAreStoredOnce) {
  auto module = plan(kLayers, bf16());
  ASSERT_TRUE(module);
  auto caches = planOf(*module);
  ASSERT_TRUE(succeeded(caches));
  std::map<std::string, std::vector<int64_t>> readers;
  for (const ::attnc::CacheDesc &cache : *caches)
    readers[cache.name] = cache.readers;
  const std::map<std::string, std::vector<int64_t>> expected = {
      {"layers.0.window", {0, 2}}, {"layers.1.main", {1, 3, 7}},
      {"layers.2.main", {2, 4, 5, 6, 7}}, {"layers.3.index", {3}},
      {"layers.4.index", {4, 5}}};
  EXPECT_EQ(readers, expected);
}

// 64 FLOP per entry and 50 entries at 100 tokens; 2 tokens of a chunk share them.
TEST_F(LayerKinds, KeysOfScoresAreRebuilt) {
  PlanOptions options = bf16();
  options.cut = Cut::Bytes;
  auto module = plan(kRebuiltKeys, options);
  ASSERT_TRUE(module);
  FailureOr<PlanWork> work = workOf(*module, 100, 2);
  ASSERT_TRUE(succeeded(work));
  EXPECT_EQ(work->decode.rebuild, 3200);
  EXPECT_EQ(work->prefill.rebuild, 1600);
  EXPECT_EQ(work->decode.score, 50 * 2 * 4);
}
