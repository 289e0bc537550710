//===- frontend_graphs.cpp - what the graphs of shipped configs share -----===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/Attn.h"
#include "frontend/Import.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/SetVector.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace attnc;
using namespace mlir;
using namespace mlir::attn;

namespace fs = std::filesystem;

namespace {

class Graphs : public ::testing::Test {
protected:
  /// The model of a shipped config.
  ModelOp import(const std::string &file, ImportOptions options = {}) {
    info = {};
    module = importModel(configs() + file, context, options, info);
    EXPECT_TRUE(module) << info.error;
    return module ? *module->getOps<ModelOp>().begin() : ModelOp();
  }

  std::string refusal(const std::string &file, int64_t begin, int64_t end) {
    ImportOptions options;
    options.layers = {begin, end};
    info = {};
    EXPECT_FALSE(importModel(configs() + file, context, options, info));
    return info.error;
  }

  static std::string configs() {
    return std::string(ATTNC_TEST_DATA) + "/../configs/";
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  ImportInfo info;
};

template <typename Op>
int64_t count(ModelOp model) {
  return llvm::range_size(model.getBlock().getOps<Op>());
}

/// The streams that attends read as keys and whose elements are not tokens of
/// a window.
llvm::SetVector<Value> entriesOf(ModelOp model) {
  llvm::SetVector<Value> entries;
  for (AttendOp attend : model.getBlock().getOps<AttendOp>())
    for (const AttendOp::Source &source : attend.getSources())
      if (!source.window)
        entries.insert(source.keys.begin(), source.keys.end());
  return entries;
}

llvm::SetVector<Value> indexKeysOf(ModelOp model) {
  llvm::SetVector<Value> keys;
  for (ScoreOp score : model.getBlock().getOps<ScoreOp>())
    keys.insert(score.getKey());
  return keys;
}

} // namespace

TEST_F(Graphs, EveryShippedConfigBecomesAGraph) {
  int files = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(configs())) {
    if (entry.path().extension() != ".json")
      continue;
    ++files;
    for (bool rounded : {false, true}) {
      ImportOptions options;
      options.trainedRoundings = rounded;
      EXPECT_TRUE(import(entry.path().filename().string(), options));
    }
  }
  EXPECT_GE(files, 16);
}

TEST_F(Graphs, SharedEntriesAreOneValue) {
  ModelOp model = import("deepseek-v4.1-flash.json");
  EXPECT_EQ(entriesOf(model).size(), 4u);
  EXPECT_EQ(indexKeysOf(model).size(), 4u);
  EXPECT_EQ(count<TopKOp>(model), 8);
  EXPECT_EQ(count<CompressOp>(model), 3);
  ASSERT_EQ(count<BlockTopKOp>(model), 1);
  Value pool = *model.getBlock().getOps<BlockTopKOp>().begin();
  EXPECT_EQ(llvm::range_size(pool.getUses()), 4);
  // A layer that reuses the picks of another has the same operand.
  llvm::SetVector<Value> selections;
  int64_t selected = 0;
  for (AttendOp attend : model.getBlock().getOps<AttendOp>()) {
    selections.insert(attend.getSelections().begin(),
                      attend.getSelections().end());
    selected += attend.getSelections().size();
  }
  EXPECT_EQ(selected, 38);
  EXPECT_EQ(selections.size(), 8u);
}

TEST_F(Graphs, OwnEntries) {
  ModelOp flash = import("deepseek-v4-flash.json");
  EXPECT_EQ(entriesOf(flash).size(), 41u);
  EXPECT_EQ(indexKeysOf(flash).size(), 21u);
  EXPECT_EQ(count<TopKOp>(flash), 21);
  ModelOp pro = import("deepseek-v4-pro.json");
  EXPECT_EQ(entriesOf(pro).size(), 61u);
  EXPECT_EQ(indexKeysOf(pro).size(), 30u);
}

TEST_F(Graphs, RatesOfEntries) {
  ModelOp model = import("deepseek-v4-flash.json");
  llvm::SetVector<int64_t> rates;
  for (Value entries : entriesOf(model))
    rates.insert(cast<StreamType>(entries.getType()).getEvery());
  EXPECT_EQ(rates.takeVector(), (SmallVector<int64_t, 0>{4, 128}));
}

TEST_F(Graphs, SelectionsArePublishedWhereTheyAreMade) {
  for (const char *file : {"deepseek-v3.2.json", "deepseek-v4.1-flash.json"})
    for (TopKOp topK : import(file).getBlock().getOps<TopKOp>()) {
      auto name = topK->getAttrOfType<StringAttr>(kTraceAttr);
      ASSERT_TRUE(name);
      EXPECT_EQ(name.getValue(),
                "layer" + std::to_string(getLayer(topK)) + ".selection");
    }
}

TEST_F(Graphs, BothSpellingsAreOneGraph) {
  for (const char *name :
       {"deepseek-v3.2", "deepseek-v4-flash", "deepseek-v4.1-flash"}) {
    std::string texts[2];
    for (int i = 0; i < 2; ++i) {
      ModelOp model =
          import(std::string(name) + (i ? ".inference.json" : ".json"));
      ASSERT_TRUE(model);
      model.setSymName("m");
      llvm::raw_string_ostream stream(texts[i]);
      module->print(stream);
    }
    EXPECT_EQ(texts[0], texts[1]) << name;
  }
}

TEST_F(Graphs, RoundingsOnlyOnRequest) {
  struct {
    const char *file;
    int64_t roundings;
  } files[] = {
      // Latent, shared key, index query, index key.
      {"deepseek-v3.2.json", 61 * 4},
      // Two parts of 43 windows and 41 entries, 21 times an index's two.
      {"deepseek-v4-flash.json", 2 * 43 + 2 * 41 + 2 * 21},
      // Windows, entries, index queries, index keys.
      {"deepseek-v4.1-flash.json", 40 + 4 + 8 + 4},
      {"deepseek-v3.json", 0}};
  for (const auto &file : files) {
    EXPECT_EQ(count<RoundOp>(import(file.file)), 0);
    ImportOptions options;
    options.trainedRoundings = true;
    EXPECT_EQ(count<RoundOp>(import(file.file, options)), file.roundings)
        << file.file;
  }
}

TEST_F(Graphs, PartsThatAreRoundedApartAreScoredApart) {
  ImportOptions options;
  options.trainedRoundings = true;
  ModelOp model = import("deepseek-v4-flash.json", options);
  AttendOp attend = *model.getBlock().getOps<AttendOp>().begin();
  AttendOp::Source window = attend.getSources().front();
  ASSERT_EQ(window.keys.size(), 2u);
  auto format = [&](int part) {
    return window.keys[part].getDefiningOp<RoundOp>().getFormat().getFormat();
  };
  EXPECT_EQ(format(0).str(), "e4m3 block 64 scale e8m0");
  EXPECT_EQ(format(1).str(), "bf16");
  EXPECT_TRUE(window.value.getDefiningOp<ConcatOp>());
}

TEST_F(Graphs, LayersThatReadEarlierOnesGoWithThem) {
  ImportOptions options;
  options.layers = {2, 9};
  EXPECT_TRUE(import("deepseek-v4.1-flash.json", options));
  EXPECT_NE(refusal("deepseek-v4.1-flash.json", 9, 12)
                .find("layer 9 reads more than its input from outside layers "
                      "9:12"),
            std::string::npos);
}
