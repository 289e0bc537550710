//===- attn_mutations.cpp - damaged text ends in a message -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Small damages to valid text (words lost, doubled, swapped, replaced, the end
// cut off): whatever comes out is either refused with a message, or it prints,
// parses again, and can be simplified and evaluated.
//
//===----------------------------------------------------------------------===//

#include "test/unit/interpreter_fixture.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <fstream>
#include <sstream>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The examples of the language page: each is a whole file.
std::vector<std::string> readSeeds() {
  std::ifstream file(ATTNC_TEST_DATA "/../docs/language.md");
  std::stringstream page;
  page << file.rdbuf();
  std::vector<std::string> seeds;
  std::string text = page.str(), open = "```mlir\n";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    size_t begin = at + open.size(), end = text.find("```", begin);
    seeds.push_back(text.substr(begin, end - begin));
    at = end + 3;
  }
  return seeds;
}

const char *const kWords[] = {
    "0", "-1", "3", "9223372036854775807", "-9223372036854775808", "1.0e+999", "nan", "\"a\"",
    "<", "{", "}", "(", ")", "[", "]", ",", ":", "->", "f32", "i1", "i128", "unit", "@norm", "%x",
    "!attn.stream<4>", "!attn.stream<2x2>", "!attn.selection<4>", "#attn.format<bf16>",
    "array<i64: 1, 2>", "[0, 4]", "every", "groups", "rows", "transpose", "causal", "window 2",
    "layer = 3 : i64", "attn.trace", "attn.return", "attn.yield", "^bb0", "{attn.trace = 1}"};

/// Where the words of `text` are.
std::vector<std::pair<size_t, size_t>> findWords(const std::string &text) {
  auto inWord = [&](size_t i) { return isalnum(text[i]) || text[i] == '_' || text[i] == '.'; };
  std::vector<std::pair<size_t, size_t>> words;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i++;
    if (isspace(text[begin]))
      continue;
    while (i < text.size() && (inWord(begin) || strchr("%@!#^", text[begin])) && inWord(i))
      ++i;
    words.push_back({begin, i - begin});
  }
  return words;
}

void damage(std::string &text, std::mt19937 &engine) {
  auto words = findWords(text);
  if (words.empty())
    return;
  auto [at, size] = words[engine() % words.size()];
  auto [otherAt, otherSize] = words[engine() % words.size()];
  std::string other = text.substr(otherAt, otherSize), word = kWords[engine() % std::size(kWords)];
  switch (engine() % 6) {
  case 0:
    text.erase(at, size);
    break;
  case 1:
    text.replace(at, size, word);
    break;
  case 2:
    text.replace(at, size, other);
    break;
  case 3:
    text.insert(at, " " + word + " ");
    break;
  case 4:
    text.insert(at, other + " ");
    break;
  case 5:
    text.resize(at);
    break;
  }
}

/// True if the model is small enough to be run here.
bool isSmall(ModuleOp module) {
  int64_t size = 0;
  auto count = [&](Type type) {
    if (auto stream = dyn_cast<StreamType>(type))
      size += stream.getNumFeatures();
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getOperandTypes(), count);
    llvm::for_each(op->getResultTypes(), count);
    if (auto weight = dyn_cast<WeightOp>(op))
      for (int64_t extent : weight.getShape())
        size += extent;
  });
  return size < 20000;
}

/// Any weight, of any shape.
class AnyWeights : public attnc::WeightSource {
  std::vector<float> data;

public:
  const float *get(const std::string &, const std::vector<int64_t> &shape,
                   std::string &) override {
    size_t entries = 1;
    for (int64_t extent : shape)
      entries *= extent;
    if (data.size() < entries)
      data.assign(std::max<size_t>(entries, 1 << 22), 0.5f);
    return data.data();
  }
};

} // namespace

TEST(Mutations, EndInAMessageOrWork) {
  std::vector<std::string> seeds = readSeeds();
  ASSERT_GT(seeds.size(), 10u);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<AttnDialect, arith::ArithDialect, math::MathDialect>();
  std::mt19937 engine(1);
  int refused = 0, accepted = 0;
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.str();
    return success();
  });
  AnyWeights weights;
  for (int i = 0; i < 20000; ++i) {
    std::string text = seeds[engine() % seeds.size()];
    for (unsigned n = 1 + engine() % 3; n > 0; --n)
      damage(text, engine);
    errors.clear();
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module) {
      ++refused;
      ASSERT_FALSE(errors.empty()) << text;
      continue;
    }
    ++accepted;
    std::string printed;
    llvm::raw_string_ostream os(printed);
    module->print(os);
    ASSERT_TRUE(parseSourceString<ModuleOp>(os.str(), &context)) << text << errors;
    PassManager passes(&context);
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    ASSERT_TRUE(succeeded(passes.run(*module))) << text << errors;
    if (!isSmall(*module))
      continue;
    for (auto model : module->getOps<ModelOp>()) {
      SmallVector<StreamValue> inputs, outputs;
      for (Type type : model.getArgumentTypes()) {
        auto stream = cast<StreamType>(type);
        int64_t numbers = 5 / stream.getEvery() * stream.getNumFeatures();
        inputs.push_back({stream.getNumFeatures(), std::vector<double>(numbers, 0.25)});
      }
      (void)interpret(model, inputs, weights, outputs);
    }
  }
  // Most damage is seen, some is none.
  EXPECT_GT(refused, 10000);
  EXPECT_GT(accepted, 100);
}
