//===- cpu_compile.cpp - targets, stages and refusals of the CPU compiler ---===//
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/CpuKernels.h"

#include "codegen/CPU/Lower.h"
#include "codegen/CPU/Object.h"
#include "codegen/CPU/TileChoice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/IR/IRBuilder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace attnc;
using namespace attnc::cpu;

namespace {

std::string refusal(const std::string &request) {
  Result<CpuTarget> target = resolveCpuTarget(request);
  return target ? "" : target.error();
}

TEST(CpuTargets, Host) {
  Result<CpuTarget> target = resolveCpuTarget("cpu");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->name.rfind("cpu:", 0), 0u);
}

TEST(CpuTargets, LanesFollowTheFeatures) {
  EXPECT_EQ(resolveCpuTarget("cpu:x86-64")->lanes, 4);
  EXPECT_EQ(resolveCpuTarget("cpu:haswell")->lanes, 8);
  EXPECT_EQ(resolveCpuTarget("cpu:x86-64-v3")->lanes, 8);
  EXPECT_EQ(resolveCpuTarget("cpu:skylake-avx512")->lanes, 16);
  EXPECT_EQ(resolveCpuTarget("cpu:znver4")->lanes, 16);
}

TEST(CpuTargets, RequiredFeatures) {
  std::vector<std::string> needs = resolveCpuTarget("cpu:haswell")->required;
  EXPECT_NE(std::find(needs.begin(), needs.end(), "avx2"), needs.end());
  EXPECT_EQ(std::find(needs.begin(), needs.end(), "avx512f"), needs.end());
}

TEST(CpuTargets, UnknownNamesAreRefusedWithSuggestions) {
  std::string error = refusal("cpu:haswel");
  std::string begin = "unknown CPU 'haswel' in target 'cpu:haswel'; similar names are haswell";
  EXPECT_EQ(error.substr(0, begin.size()), begin);
  EXPECT_NE(refusal("cpu:"), "");
  EXPECT_EQ(refusal("sm_80"), "target 'sm_80' is not a CPU; expected cpu or cpu:NAME");
}

TEST(CpuTargets, NamesWithout64BitModeAreRefused) {
  EXPECT_EQ(refusal("cpu:i386"), "CPU 'i386' in target 'cpu:i386' has no 64-bit mode; expected "
                                 "a 64-bit one, for example x86-64-v3");
}

AttendSpec attendSpec(Elem elem = Elem::BF16) {
  AttendSpec spec;
  spec.heads = 16;
  RowSpec rows{1, 64, false, {elem, 0, Scale::None}, {0, 128, 0, 0}};
  spec.keys = {rows};
  spec.valueKey = 0;
  return spec;
}

CpuCompileOptions options(const std::string &target = "cpu") {
  CpuCompileOptions options;
  options.target = *resolveCpuTarget(target);
  return options;
}

class CpuCompile : public testing::Test {
protected:
  std::string compile(const std::vector<KernelSpec> &specs, const CpuCompileOptions &options) {
    kernels.clear();
    return compileCpu(context, specs, options, kernels, library);
  }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::vector<KernelDesc> kernels;
  std::vector<uint8_t> library;
};

TEST_F(CpuCompile, SameBytesWhateverTheThreads) {
  ProjectSpec project;
  project.in = project.out = 40;
  std::vector<KernelSpec> specs = {{"attend_a", attendSpec()}, {"project_a", project},
                                   {"combine_a", CombineSpec{16, 64, false}}};
  CpuCompileOptions one = options(), two = options();
  one.threads = 1;
  two.threads = 2;
  ASSERT_EQ(compile(specs, one), "");
  std::vector<uint8_t> first = library;
  ASSERT_EQ(compile(specs, two), "");
  EXPECT_TRUE(first == library);
}

TEST_F(CpuCompile, KernelsGetTheirParameters) {
  ASSERT_EQ(compile({{"attend_a", attendSpec()}}, options()), "");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].op, "attend");
  EXPECT_EQ(kernels[0].params.at("q_heads"), 16);
  EXPECT_EQ(kernels[0].params.at("kv_heads"), 1);
  EXPECT_EQ(kernels[0].params.at("dk"), 64);
  EXPECT_EQ(kernels[0].params.at("dv"), 64);
  EXPECT_EQ(kernels[0].params.at("max_rows") % 16, 0);
}

TEST_F(CpuCompile, StagesAreShown) {
  CpuCompileOptions all = options();
  std::map<CpuStage, std::string> shown;
  all.wants = [](CpuStage) { return true; };
  all.show = [&](CpuStage stage, const std::string &kernel, const std::string &text) {
    EXPECT_EQ(kernel, "attend_a");
    shown[stage] = text;
  };
  ASSERT_EQ(compile({{"attend_a", attendSpec()}}, all), "");
  EXPECT_NE(shown[CpuStage::Kernels].find("func.func @attend_a.body"), std::string::npos);
  EXPECT_NE(shown[CpuStage::LLVM].find("define void @attend_a(ptr"), std::string::npos);
  EXPECT_NE(shown[CpuStage::Assembly].find("attend_a:"), std::string::npos);

  all.stopAfterKernels = true;
  shown.clear();
  library.clear();
  ASSERT_EQ(compile({{"attend_a", attendSpec()}}, all), "");
  EXPECT_EQ(shown.size(), 1u);
  EXPECT_TRUE(library.empty());
}

/// Multiply-adds in registers: no accumulator of an inner loop may be spilled.
TEST_F(CpuCompile, InnerLoopsKeepTheirSumsInRegisters) {
  AttendSpec spec = attendSpec();
  spec.heads = 128;
  CpuCompileOptions opts = options("cpu:skylake-avx512");
  std::string text;
  opts.wants = [](CpuStage stage) { return stage == CpuStage::Assembly; };
  opts.show = [&](CpuStage, const std::string &, const std::string &shown) { text = shown; };
  ASSERT_EQ(compile({{"attend_a", spec}}, opts), "");
  // Lines from each label to the jump that goes back to it.
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  int64_t loops = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].rfind(".L", 0) != 0)
      continue;
    std::string label = lines[i].substr(0, lines[i].find(':'));
    int64_t sums = 0, stack = 0;
    for (size_t j = i + 1; j < lines.size() && lines[j].rfind(".L", 0) != 0; ++j) {
      sums += lines[j].find("vfmadd") != std::string::npos;
      bool vector = lines[j].find("zmm") != std::string::npos;
      stack += vector && lines[j].find("rsp)") != std::string::npos;
      bool back = lines[j].find("\tj") == 0 && lines[j].find(label) != std::string::npos;
      if (back && sums == 24) {
        ++loops;
        EXPECT_EQ(stack, 0) << label;
      }
    }
  }
  EXPECT_EQ(loops, 1) << "the score loop has 24 sums";
}

TEST_F(CpuCompile, FormatsWithoutCodeAreRefused) {
  AttendSpec spec = attendSpec();
  spec.keys[0].format = {Elem::E4M3, 64, Scale::E8M0};
  EXPECT_EQ(compile({{"attend_a", spec}}, options()),
            "kernel 'attend_a': CPU code has no rows of format 'e4m3 block 64 scale e8m0'; "
            "expected f32, bf16 or f16");
  EXPECT_EQ(compile({{"attend_a", attendSpec(Elem::F16)}}, options("cpu:x86-64")),
            "kernel 'attend_a': rows of format 'f16' need a CPU with f16c, which cpu:x86-64 lacks");
}

TEST_F(CpuCompile, UnknownSymbolsAreRefused) {
  loadKernelDialects(context);
  mlir::OpBuilder b(&context);
  auto module = mlir::ModuleOp::create(b.getUnknownLoc());
  auto type = b.getFunctionType({}, {});
  auto callee = mlir::func::FuncOp::create(b.getUnknownLoc(), "nowhere", type);
  callee.setPrivate();
  module.push_back(callee);
  auto body = mlir::func::FuncOp::create(b.getUnknownLoc(), "k.body", type);
  module.push_back(body);
  b.setInsertionPointToStart(body.addEntryBlock());
  b.create<mlir::func::CallOp>(b.getUnknownLoc(), callee);
  b.create<mlir::func::ReturnOp>(b.getUnknownLoc());
  ASSERT_EQ(lowerToLLVMDialect(module), "");
  CpuTarget target = *resolveCpuTarget("cpu");
  llvm::LLVMContext llvmContext;
  auto translated = translateKernels(module, {"k"}, target, llvmContext);
  ASSERT_TRUE(translated);
  ASSERT_EQ(optimize(**translated, target), "");
  Result<std::vector<uint8_t>> object = emitObject(**translated, target);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error(),
            "the CPU kernels call 'nowhere', which no library of the runtime provides");
  module->erase();
}

TEST_F(CpuCompile, VectorsWiderThanTheTargetAreRefused) {
  llvm::LLVMContext llvmContext;
  llvm::Module module("wide", llvmContext);
  llvm::IRBuilder<> b(llvmContext);
  auto *type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "wide", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(llvmContext, "", function));
  b.CreateLoad(llvm::FixedVectorType::get(b.getFloatTy(), 16), function->getArg(0));
  b.CreateRetVoid();
  EXPECT_EQ(optimize(module, *resolveCpuTarget("cpu:haswell")),
            "function 'wide' has a vector of 512 bits; target cpu:haswell has 256");
}

TEST(CpuTiles, BlocksDivideTheTile) {
  for (const char *name : {"cpu:x86-64", "cpu:haswell", "cpu:skylake-avx512"}) {
    CpuTarget target = *resolveCpuTarget(name);
    for (int64_t heads : {1, 2, 3, 4, 5, 8, 12, 16, 24, 40, 64, 128, 200}) {
      AttendSpec spec = attendSpec();
      spec.heads = heads;
      AttendChoice choice = chooseAttend(spec, target);
      ASSERT_FALSE(choice.forms.empty());
      EXPECT_EQ(choice.maxRows % heads, 0);
      int64_t before = 0;
      for (const AttendForm &form : choice.forms) {
        EXPECT_EQ(form.tile % form.keys, 0) << name << " " << heads;
        EXPECT_GT(form.rowsPerPass(), before);
        before = form.rowsPerPass();
        EXPECT_EQ(form.lanes, target.lanes);
      }
    }
  }
}

} // namespace
