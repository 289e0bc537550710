//===- frontend_import.cpp - inputs of every kind become graphs
//------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend/Import.h"

#include "dialect/Attn/IR/Attn.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace attnc;
using namespace mlir;
using namespace mlir::attn;

namespace fs = std::filesystem;

namespace {

/// A folder of inputs that goes with the test.
class Import : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "attnc-import-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const std::string &name, const std::string &text) {
    fs::path path = folder / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  OwningOpRef<ModuleOp> import(const std::string &path,
                               ImportOptions options = {}) {
    info = {};
    return importModel(path, context, options, info);
  }

  /// The graph of a text, printed.
  std::string print(const std::string &text, ImportOptions options = {}) {
    auto module = import(write("input", text), options);
    EXPECT_TRUE(module) << info.error;
    std::string result;
    llvm::raw_string_ostream stream(result);
    if (module)
      module->print(stream);
    return result;
  }

  /// The complaint about a text, with the folder's name left out.
  std::string refusal(const std::string &text, ImportOptions options = {}) {
    return refusalOf(write("input", text), options);
  }

  std::string refusalOf(const std::string &path, ImportOptions options = {}) {
    auto module = import(path, options);
    EXPECT_EQ(bool(module), info.error.empty());
    std::string message = info.error, prefix = folder.string() + "/";
    for (size_t at; (at = message.find(prefix)) != std::string::npos;)
      message.erase(at, prefix.size());
    return message;
  }

  fs::path folder;
  MLIRContext context;
  ImportInfo info;
};

std::string config(const std::string &modelType, const std::string &more = "") {
  return R"({"model_type":")" + modelType +
         R"(","hidden_size":64,"num_attention_heads":4,"num_hidden_layers":2)" +
         (more.empty() ? "" : ",") + more + "}";
}

bool startsWith(const std::string &text, const std::string &prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

ModelOp modelOf(ModuleOp module) { return *module.getOps<ModelOp>().begin(); }

std::string repeat(const std::string &text, int count) {
  std::string result;
  while (count--)
    result += text;
  return result;
}

} // namespace

//===----------------------------------------------------------------------===//
// Configs
//===----------------------------------------------------------------------===//

TEST_F(Import, ConfigOfAFolderIsNamedAfterIt) {
  write("tiny/config.json", config("llama", R"("torch_dtype":"bfloat16")"));
  auto module = import((folder / "tiny").string());
  ASSERT_TRUE(module) << info.error;
  EXPECT_EQ(info.name, "tiny");
  EXPECT_EQ(info.folder, (folder / "tiny").string());
  EXPECT_EQ(info.modelType, "llama");
  EXPECT_EQ(info.torchDtype, "bfloat16");
  EXPECT_EQ(info.layers, 2);
  EXPECT_EQ(info.hidden, 64);
  EXPECT_EQ(info.sourceDigest.size(), 64u);
  EXPECT_EQ(modelOf(*module).getSymName(), "tiny");
}

TEST_F(Import, EveryOpCarriesItsLayer) {
  auto module = import(write("c.json", config("gemma2", R"("head_dim":16)")));
  ASSERT_TRUE(module) << info.error;
  int64_t last = 0;
  for (Operation &op : modelOf(*module).getBlock().without_terminator()) {
    auto layer = op.getAttrOfType<IntegerAttr>(kLayerAttr);
    ASSERT_TRUE(layer);
    EXPECT_GE(layer.getInt(), last);
    last = layer.getInt();
  }
  EXPECT_EQ(last, 1);
}

TEST_F(Import, TracesWhatALayerAdds) {
  auto module = import(write("c.json", config("gemma2", R"("head_dim":16)")));
  ASSERT_TRUE(module) << info.error;
  std::vector<std::string> names;
  for (Operation &op : modelOf(*module).getBlock()) {
    auto name = op.getAttrOfType<StringAttr>(kTraceAttr);
    if (!name)
      continue;
    names.push_back(name.str());
    // Gemma normalises the output; what is added is the norm's result.
    EXPECT_TRUE(isa<RMSNormOp>(op));
    EXPECT_TRUE(isa<MapOp>(*op.getResult(0).getUsers().begin()));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"layer0.attention", "layer1.attention"}));
}

TEST_F(Import, FeedForwardIsAnOptionalExternOnTheResidual) {
  auto module = import(write("c.json", config("llama")));
  ASSERT_TRUE(module) << info.error;
  auto externs = llvm::to_vector(modelOf(*module).getOps<ExternOp>());
  ASSERT_EQ(externs.size(), 2u);
  EXPECT_EQ(externs[1].getCallee(), "model.layers.1.mlp");
  EXPECT_TRUE(externs[1].getOptional());
  EXPECT_TRUE(externs[1].getInputs()[0].getDefiningOp<MapOp>());
}

TEST_F(Import, SoftCapIsTheScoreRegion) {
  std::string text =
      print(config("gemma2", R"("head_dim":16,"attn_logit_softcapping":30)"));
  size_t at = text.find("arith.constant 3.000000e+01");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NE(text.find("math.tanh", at), std::string::npos);
}

TEST_F(Import, BothSpellingsOfOneModelAreOneGraph) {
  std::string hugging = print(config(
      "deepseek_v3",
      R"("max_position_embeddings":163840,"q_lora_rank":32,"rope_scaling":{
      "type":"yarn","factor":40,"beta_fast":32,"beta_slow":1,"mscale":1.0,
      "mscale_all_dim":1.0,"original_max_position_embeddings":4096})"));
  std::string inference = print(
      R"({"dim":64,"n_layers":2,"n_heads":4,"q_lora_rank":32,"mscale":1.0})");
  EXPECT_EQ(hugging, inference);
}

TEST_F(Import, WindowsAndSinks) {
  std::string text = print(config("gpt_oss", R"("num_key_value_heads":2)"));
  EXPECT_NE(text.find("sink @model.layers.0.self_attn.sinks\n        window "
                      "128 ("),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("sink @model.layers.1.self_attn.sinks\n        causal ("),
            std::string::npos);
}

TEST_F(Import, ConfigErrorsCarryThePointer) {
  EXPECT_EQ(refusal(config("llama", R"("head_dim":0)")),
            "input at /head_dim: found 0; expected an integer from 1 to "
            "1048576");
  EXPECT_TRUE(startsWith(refusal("{\"a\":1,}"), "input:1:8: syntax error"));
  EXPECT_TRUE(startsWith(refusal(R"({"attnc_variant":1})"),
                         "input at /attnc_variant: found a variant file"));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST_F(Import, MissingFile) {
  EXPECT_EQ(refusalOf((folder / "none.json").string()),
            "none.json: No such file or directory; expected a readable file");
  fs::create_directories(folder / "empty");
  EXPECT_EQ(refusalOf((folder / "empty").string()),
            "empty: found a folder without config.json; expected a config, "
            "MLIR text or a folder with config.json");
}

TEST_F(Import, ContentThatIsNoInput) {
  EXPECT_EQ(refusal(""), "input:1:1: found an empty file; expected a JSON "
                         "object");
  EXPECT_EQ(refusal("version https://git-lfs.github.com/spec/v1\n"),
            "input: found a git-lfs pointer; expected a config.json or MLIR "
            "text");
  EXPECT_EQ(refusal("<html>"), "input: found markup, perhaps a web page; "
                               "expected a config.json or MLIR text");
  EXPECT_EQ(refusal("ML\xEFR\x01"),
            "input: found MLIR bytecode; expected a config.json or MLIR text");
  EXPECT_EQ(refusal(std::string("\x10\x01\x02\x03\0\0\0\0{}", 10)),
            "input: found binary data; expected a config.json or MLIR text");
  EXPECT_EQ(refusal(std::string("\xFF\xFE{\0}\0", 6)),
            "input:1:1: found UTF-16 or UTF-32 text; expected UTF-8");
}

TEST_F(Import, HugeConfig) {
  std::string text = "{\"a\":\"" + repeat("0123456789abcdef", 300000) + "\"}";
  EXPECT_EQ(refusal(text), "input: found 4800008 bytes; expected a config of "
                           "at most 4194304");
}

TEST_F(Import, ByteOrderMarkIsSkipped) {
  EXPECT_TRUE(import(write("input", "\xEF\xBB\xBF" + config("llama"))))
      << info.error;
}

//===----------------------------------------------------------------------===//
// MLIR text
//===----------------------------------------------------------------------===//

static const char *const identity = R"(
  attn.weight @w : 64x64
  attn.model @identity(%x: !attn.stream<64>) -> !attn.stream<64> {
    %y = attn.linear %x, @w {layer = 2 : i64}
       : (!attn.stream<64>) -> !attn.stream<64>
    attn.return %y : !attn.stream<64>
  })";

TEST_F(Import, MlirText) {
  auto module = import(write("input", identity));
  ASSERT_TRUE(module) << info.error;
  EXPECT_EQ(info.name, "identity");
  EXPECT_EQ(info.modelType, "mlir");
  EXPECT_EQ(info.layers, 3);
  EXPECT_EQ(info.hidden, 64);
}

TEST_F(Import, PrintedGraphsReadBack) {
  std::string text = print(config("deepseek_v3"));
  EXPECT_EQ(print(text), text);
}

TEST_F(Import, MlirErrorsCarryThePlace) {
  EXPECT_TRUE(startsWith(refusal("attn.weight @w : 64x64\nattn.weight @w : 0"),
                         "input:2:"));
  EXPECT_TRUE(startsWith(refusal("hello"), "input:1:1: "));
  EXPECT_EQ(refusal("attn.weight @w : 64"),
            "input: found 0 attn.model ops; expected one");
  std::string two = std::string(identity) + R"(
  attn.model @other(%x: !attn.stream<64>) -> !attn.stream<64> {
    attn.return %x : !attn.stream<64>
  })";
  EXPECT_EQ(refusal(two), "input: found 2 attn.model ops; expected one");
}

TEST_F(Import, DeepNesting) {
  EXPECT_EQ(refusal("module {\n" + repeat("module {", 100000)),
            "input:2:512: found nesting deeper than 64 levels; expected a "
            "shallow graph");
  EXPECT_EQ(refusal("!t = " + repeat("tuple<", 50000)),
            "input:1:395: found nesting deeper than 64 levels; expected a "
            "shallow graph");
  // Brackets in strings, comments and arrows are none.
  EXPECT_EQ(refusal(std::string(identity) + "\n// " + repeat("<", 100) +
                    "\n\"" + repeat("(", 100))
                .find("nesting"),
            std::string::npos);
}

TEST_F(Import, DeepAliases) {
  std::string text = "!t0 = i32\n";
  for (int i = 1; i < 100; ++i)
    text += "!t" + std::to_string(i) + " = tuple<!t" + std::to_string(i - 1) +
            ">\n";
  EXPECT_NE(refusal(text).find("found nesting deeper than 64 levels"),
            std::string::npos);
}

TEST_F(Import, AShallowAliasIsFine) {
  EXPECT_EQ(refusal("!s = !attn.stream<64>\n" + std::string(identity)), "");
}

TEST_F(Import, AttributesWhoseParsersCrash) {
  EXPECT_EQ(refusal("module attributes {a = sparse<[[0]], 1> : tensor<1xi1>}"),
            "input:1:24: found a 'sparse' attribute; expected a graph without "
            "them");
  EXPECT_EQ(refusal("\"x\"() {a = dense_resource <b> : tensor<1xi1>}"),
            "input:1:12: found a 'dense_resource' attribute; expected a graph "
            "without them");
  EXPECT_EQ(refusal("#m = affine_map<(d0) -> (" + repeat("-", 100000) + "d0)>"),
            "input:1:6: found a 'affine_map' attribute; expected a graph "
            "without them");
  EXPECT_EQ(refusal("{-# dialect_resources: {} #-}"),
            "input:1:1: found resources; expected a graph without them");
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

static ImportOptions layers(int64_t begin, int64_t end) {
  ImportOptions options;
  options.layers = {begin, end};
  return options;
}

TEST_F(Import, SomeLayers) {
  auto module = import(write("c.json", config("llama")), layers(1, 2));
  ASSERT_TRUE(module) << info.error;
  EXPECT_EQ(info.layers, 2);
  ModelOp model = modelOf(*module);
  EXPECT_EQ(model.getBlock().getNumArguments(), 1u);
  for (Operation &op : model.getBlock().without_terminator())
    EXPECT_EQ(getLayer(&op), 1);
  for (WeightOp weight : module->getOps<WeightOp>())
    EXPECT_TRUE(weight.getSymName().starts_with("model.layers.1."));
  EXPECT_EQ(llvm::range_size(module->getOps<WeightOp>()), 5);
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(Import, LayersOfTextAndConfigAgree) {
  std::string all = print(config("deepseek_v3"));
  EXPECT_EQ(print(all, layers(0, 1)),
            print(config("deepseek_v3"), layers(0, 1)));
}

TEST_F(Import, BadLayers) {
  for (auto [begin, end] : {std::pair<int, int>{1, 1}, {2, 1}, {0, 3}, {-1, 1}})
    EXPECT_EQ(refusal(config("llama"), layers(begin, end)),
              "input: found layers " + std::to_string(begin) + ":" +
                  std::to_string(end) +
                  " of a model of 2; expected A:B with 0 <= A < B <= 2");
}

TEST_F(Import, LayersThatReadASourceOutside) {
  const char *shared = R"(
  attn.weight @w : 64x64
  attn.model @m(%x: !attn.stream<64>) -> !attn.stream<64> {
    %k = attn.linear %x, @w {layer = 0 : i64} : (!attn.stream<64>) -> !attn.stream<64>
    %h = attn.linear %x, @w {layer = 0 : i64} : (!attn.stream<64>) -> !attn.stream<64>
    %o = attn.attend scale 1.0
        causal (%h, %k : !attn.stream<64>, !attn.stream<64>)
        values %k : !attn.stream<64>
        {layer = 1 : i64} -> !attn.stream<64>
    attn.return %o : !attn.stream<64>
  })";
  EXPECT_EQ(refusal(shared, layers(1, 2)),
            "input: layer 1 reads more than its input from outside layers 1:2; "
            "expected layers that need nothing else");
}

//===----------------------------------------------------------------------===//
// Damaged text
//===----------------------------------------------------------------------===//

TEST_F(Import, EveryCutOfAConfigEndsInOneMessage) {
  std::string text = config("gpt_oss", R"("num_key_value_heads":2,
    "rope_scaling":{"type":"linear","factor":2.0},"about":"\u00e9\n")");
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(refusal(text.substr(0, length)), "") << length;
}

TEST_F(Import, CutsOfAGraphEndInOneMessage) {
  std::string text = print(config("gemma2", R"("head_dim":16)"), layers(0, 1));
  // The last bytes are a newline and the module's end.
  for (size_t length = 0; length + 2 < text.size(); length += 7)
    EXPECT_NE(refusal(text.substr(0, length)), "") << length;
}
