//===- nvptx_target.cpp - chips, versions, and what is checked of PTX ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "nvptx_fixture.h"

#include "codegen/NVPTX/EmitPtx.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"

using namespace attnc;
using namespace attnc::nvptx;
using namespace attnc::test;

namespace {

CombineSpec small() {
  CombineSpec spec;
  spec.heads = 2;
  spec.dv = 8;
  return spec;
}

TEST(NvptxTarget, RefusesUnknownChipsAndListsTheKnown) {
  mlir::MLIRContext context;
  for (std::string name : {"sm_100", "sm_120", "sm_90b", "sm_0", "sm_70", "SM_80", ""})
    EXPECT_EQ(compile(context, {named("combine", small())}, name).error,
              "unknown GPU target '" + name +
                  "'; supported are sm_80, sm_86, sm_89, sm_90, sm_90a");
}

TEST(NvptxTarget, AsksForTheLowestVersionThatTheChipNeeds) {
  std::map<std::string, std::string> versions = {
      {"sm_80", "7.0"}, {"sm_86", "7.1"}, {"sm_89", "7.8"}, {"sm_90", "7.8"}, {"sm_90a", "8.0"}};
  ASSERT_EQ(chips().size(), versions.size());
  mlir::MLIRContext context;
  for (const auto &[chip, version] : versions) {
    Compiled made = compile(context, {named("combine", small())}, chip, false);
    ASSERT_EQ(made.error, "");
    const std::string &ptx = made.kernels[0].ptx;
    EXPECT_NE(ptx.find(".version " + version + "\n.target " + chip + "\n"), std::string::npos);
    EXPECT_NE(ptx.find(".maxntid 128"), std::string::npos);
    EXPECT_EQ(made.kernels[0].chip, chip);
  }
}

TEST(NvptxTarget, TheSameSpecGivesTheSameBytes) {
  mlir::MLIRContext context, other;
  std::vector<KernelSpec> specs = {named("combine", small()),
                                   named("attend", grouped(8, 2, 64, Elem::BF16))};
  Compiled first = compile(context, specs, "sm_90a"), second = compile(other, specs, "sm_90a");
  ASSERT_EQ(first.error, "");
  ASSERT_EQ(second.error, "");
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(first.kernels[i].ptx, second.kernels[i].ptx);
    EXPECT_EQ(first.kernels[i].cubin, second.kernels[i].cubin);
  }
}

TEST(CheckPtx, FindsWhatLlvmReportsAsSuccess) {
  Chip chip = *findChip("sm_90a");
  std::string head = ".version 8.0\n.target sm_90a\n.address_size 64\n";
  EXPECT_EQ(checkPtx(head, chip), "");
  EXPECT_EQ(checkPtx(head + ".extern .shared .align 16 .b8 attn_dynamic_shared[];\n", chip), "");
  EXPECT_EQ(checkPtx(head + ".extern .func __nv_expf\n", chip),
            "the PTX calls a function without a body: .extern .func __nv_expf");
  EXPECT_EQ(checkPtx(".version 6.0\n.target sm_100\n", chip),
            "the PTX is for target 'sm_100', expected 'sm_90a'");
  EXPECT_EQ(checkPtx(".version 7.8\n.target sm_90a\n", chip),
            "the PTX has version '7.8', expected '8.0'");
  EXPECT_EQ(checkPtx(".version 8.0\n.target sm_90a, debug\n", chip),
            "the PTX carries debug information ('.target sm_90a, debug')");
  EXPECT_EQ(checkPtx("", chip), "the PTX is for target '', expected 'sm_90a'");
}

/// The error that optimizeKernel has for a kernel in LLVM IR.
std::string kernelError(const std::string &body) {
  Chip chip = *findChip("sm_80");
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(chip, error);
  EXPECT_TRUE(machine) << error;
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(body, diagnostic, context);
  EXPECT_TRUE(module);
  return optimizeKernel(*module, *machine);
}

TEST(OptimizeKernel, KernelsHoldNeitherAssemblyNorBackEndIntrinsics) {
  EXPECT_EQ(kernelError("define void @k() {\n call void asm sideeffect \"bar.sync 0;\", \"\"()\n"
                        " ret void }"),
            "kernel 'k' holds assembly");
  EXPECT_EQ(kernelError("declare void @llvm.nvvm.barrier0()\n"
                        "define void @k() {\n call void @llvm.nvvm.barrier0()\n ret void }"),
            "kernel 'k' calls llvm.nvvm.barrier0; it should call a device function");
  EXPECT_EQ(kernelError("define void @k(ptr %f) {\n call void %f()\n ret void }"),
            "kernel 'k' holds an indirect call");
}

TEST(OptimizeKernel, MemoryAccessesStayOnTheirSideOfABarrier) {
  mlir::MLIRContext context;
  NormSpec norm;
  norm.shape = {1, 256};
  Compiled made = compile(context, {named("norm", norm)}, "sm_80", false);
  ASSERT_EQ(made.error, "");
  const std::string &ir = made.kernels[0].ir;
  size_t store = ir.find("store float"), barrier = ir.find("call void @attn_dev_barrier()");
  ASSERT_NE(barrier, std::string::npos);
  EXPECT_LT(store, barrier);
  EXPECT_NE(ir.find("addrspace(3)", barrier), std::string::npos);
}

TEST(Ptxas, ReadsTheFiguresOfEveryKernel) {
  auto figures = parsePtxasOutput(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_80'\n"
      "ptxas info    : Function properties for first\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 64 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_80'\n"
      "ptxas info    : Used 7 registers\n");
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures["first"].registers, 64);
  EXPECT_EQ(figures["first"].staticShared, 1024);
  EXPECT_EQ(figures["first"].stack, 16);
  EXPECT_EQ(figures["first"].spillStores, 8);
  EXPECT_EQ(figures["first"].spillLoads, 12);
  EXPECT_EQ(figures["second"].registers, 7);
  EXPECT_EQ(figures["second"].spillLoads, 0);
}

TEST(Ptxas, IsLookedForInTheGivenToolkitOnly) {
  EXPECT_EQ(findPtxas("/nonexistent"), "");
  mlir::MLIRContext context;
  NvptxTargetOptions options;
  options.chip = "sm_80";
  options.toolkit = "/nonexistent";
  std::vector<NvptxKernel> kernels;
  ASSERT_EQ(compileNvptx({named("combine", small())}, options, context, kernels), "");
  EXPECT_FALSE(kernels[0].ptx.empty());
  EXPECT_TRUE(kernels[0].cubin.empty());
}

TEST(Ptxas, RefusalsCarryItsWords) {
  if (!havePtxas())
    GTEST_SKIP() << "no ptxas";
  std::vector<uint8_t> cubin;
  std::map<std::string, Resources> resources;
  std::string error = assemble(findPtxas(""), ".version 7.0\n.target sm_80\n.address_size 64\nnonsense\n",
                               *findChip("sm_80"), cubin, resources);
  EXPECT_NE(error.find("refused the code"), std::string::npos) << error;
  EXPECT_NE(error.find("syntax error"), std::string::npos) << error;
}

} // namespace
