//===- attn_builders.cpp - ops built from C++ get the types that fit -------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/Attn.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

std::string text(Type type) {
  std::string out;
  llvm::raw_string_ostream(out) << type;
  return out;
}

class BuilderTest : public ::testing::Test {
protected:
  BuilderTest() : builder(&context), loc(builder.getUnknownLoc()) {
    context.loadDialect<AttnDialect>();
    module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    auto stream = [&](ArrayRef<int64_t> shape, int64_t every) {
      return StreamType::get(&context, shape, every);
    };
    Type inputs[] = {stream({16, 8}, 1), stream({8}, 1), stream({1}, 1), stream({16}, 1)};
    auto model = builder.create<ModelOp>(loc, "m", builder.getFunctionType(inputs, {}), StringAttr(),
                                         ArrayAttr(), ArrayAttr());
    Block &block = model.getBody().emplaceBlock();
    block.addArguments(inputs, SmallVector<Location>(4, loc));
    query = block.getArgument(0), value = block.getArgument(1), gate = block.getArgument(2);
    weights = block.getArgument(3);
    builder.setInsertionPointToEnd(&block);
  }

  bool verifies() {
    builder.create<ReturnOp>(loc, ValueRange());
    return succeeded(verify(*module));
  }

  MLIRContext context;
  OpBuilder builder;
  Location loc;
  OwningOpRef<ModuleOp> module;
  Value query, value, gate, weights;
};

} // namespace

TEST_F(BuilderTest, CompressAndSelect) {
  Value pooled = builder.create<CompressOp>(
      loc, ArrayRef<CompressPart>{{value, Value(), -1}, {value, gate, 0}}, 4);
  EXPECT_EQ(text(pooled.getType()), "!attn.stream<8, every 4>");
  Value slower = builder.create<CompressOp>(loc, CompressPart{pooled, Value(), 0}, 3);
  EXPECT_EQ(text(slower.getType()), "!attn.stream<8, every 12>");
  Value scores = builder.create<ScoreOp>(loc, Activation::Relu, 0.5, query, pooled, weights);
  EXPECT_EQ(text(scores.getType()), "!attn.scores<every 4>");
  Value pool = builder.create<BlockTopKOp>(loc, scores, 7, 8, Reduction::Max, 0, 1);
  EXPECT_EQ(text(pool.getType()), "!attn.selection<7, every 4, block 8>");
  Value inner =
      builder.create<ScoreOp>(loc, Activation::None, 0.5, query, pooled, Value(), pool, 4);
  EXPECT_EQ(text(inner.getType()), "!attn.scores<every 4, groups 4>");
  Value picks = builder.create<TopKOp>(loc, inner, 5);
  EXPECT_EQ(text(picks.getType()), "!attn.selection<5, every 4, groups 4>");
  Value tokens = builder.create<ExpandOp>(loc, picks);
  EXPECT_EQ(text(tokens.getType()), "!attn.selection<5, groups 4, block 4>");
  EXPECT_TRUE(verifies());
}
