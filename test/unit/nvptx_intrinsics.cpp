//===- nvptx_intrinsics.cpp - the rules of the table of device functions --------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the optimiser is told about a device function decides whether kernels
// are right: a barrier that "touches no memory" is deleted, one that is nosync
// and nocallback lets stores pass. These tests keep the table honest.
//
//===----------------------------------------------------------------------===//

#include "codegen/NVPTX/DeviceIntrinsics.h"
#include "codegen/NVPTX/ExpandIntrinsics.h"
#include "codegen/NVPTX/LowerKernel.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

#include <set>

using namespace attnc;
using namespace attnc::nvptx;

namespace {

const Chip kChip = *findChip("sm_80");

/// A module that declares every device function, as kernels do.
struct Declared {
  Declared() {
    loadKernelDialects(mlirContext);
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&mlirContext));
    for (const DeviceIntrinsic &intrinsic : deviceIntrinsics())
      declareDeviceIntrinsic(*module, intrinsic);
    llvm = translateKernel(*module, context, error);
  }
  mlir::MLIRContext mlirContext;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvm;
  std::string error;
};

std::unique_ptr<llvm::Module> parse(llvm::LLVMContext &context, const std::string &text) {
  llvm::SMDiagnostic diagnostic;
  return llvm::parseAssemblyString(text, diagnostic, context);
}

std::string expansionError(const std::string &text) {
  llvm::LLVMContext context;
  auto module = parse(context, text);
  return module ? expandDeviceIntrinsics(*module, kChip) : "does not parse";
}

TEST(DeviceIntrinsics, NamesAreUniqueAndMeaningsAreTold) {
  std::set<std::string> seen;
  for (const DeviceIntrinsic &intrinsic : deviceIntrinsics()) {
    EXPECT_TRUE(llvm::StringRef(intrinsic.name).starts_with("attn_dev_")) << intrinsic.name;
    EXPECT_TRUE(seen.insert(intrinsic.name).second) << intrinsic.name;
    EXPECT_GT(llvm::StringRef(intrinsic.meaning).size(), 10u) << intrinsic.name;
    EXPECT_EQ(findDeviceIntrinsic(intrinsic.name), &intrinsic);
  }
  EXPECT_EQ(findDeviceIntrinsic("attn_dev_nothing"), nullptr);
}

TEST(DeviceIntrinsics, WhatOrdersMemoryMayDoAnything) {
  for (const char *name : {"attn_dev_barrier", "attn_dev_cp_async_16", "attn_dev_cp_async_commit",
                           "attn_dev_cp_async_wait"})
    EXPECT_EQ(findDeviceIntrinsic(name)->effects, DevEffects::Unknown) << name;
}

TEST(DeviceIntrinsics, WhatLanesDoTogetherIsConvergent) {
  for (const DeviceIntrinsic &intrinsic : deviceIntrinsics()) {
    llvm::StringRef ptx = intrinsic.ptx;
    bool together = ptx.contains(".sync") || ptx.contains("bar.") || ptx.contains(".aligned");
    EXPECT_EQ(intrinsic.convergent, together) << intrinsic.name;
  }
}

TEST(DeviceIntrinsics, DeclarationsPromiseWhatTheTableSaysAndNoMore) {
  Declared declared;
  ASSERT_TRUE(declared.llvm) << declared.error;
  for (const DeviceIntrinsic &intrinsic : deviceIntrinsics()) {
    const llvm::Function *function = declared.llvm->getFunction(intrinsic.name);
    ASSERT_TRUE(function) << intrinsic.name;
    EXPECT_EQ(function->isConvergent(), intrinsic.convergent) << intrinsic.name;
    EXPECT_FALSE(function->hasFnAttribute(llvm::Attribute::NoSync)) << intrinsic.name;
    EXPECT_FALSE(function->hasFnAttribute(llvm::Attribute::NoCallback)) << intrinsic.name;
    llvm::MemoryEffects effects = function->getMemoryEffects();
    switch (intrinsic.effects) {
    case DevEffects::None:
      EXPECT_TRUE(effects.doesNotAccessMemory()) << intrinsic.name;
      break;
    case DevEffects::Read:
      // The lanes' addresses are one another's: not only the arguments' memory.
      EXPECT_TRUE(effects.onlyReadsMemory()) << intrinsic.name;
      EXPECT_FALSE(effects.onlyAccessesArgPointees()) << intrinsic.name;
      break;
    case DevEffects::Unknown:
      EXPECT_EQ(effects, llvm::MemoryEffects::unknown()) << intrinsic.name;
      break;
    }
  }
}

TEST(DeviceIntrinsics, ExpansionsKeepConvergenceAndEffects) {
  llvm::LLVMContext context;
  auto module = parse(context, R"(
    declare void @attn_dev_barrier()
    declare float @attn_dev_ex2(float)
    define float @kernel(float %x) {
      call void @attn_dev_barrier()
      %y = call float @attn_dev_ex2(float %x)
      ret float %y
    })");
  ASSERT_TRUE(module);
  ASSERT_EQ(expandDeviceIntrinsics(*module, kChip), "");
  std::vector<llvm::CallInst *> calls;
  for (llvm::Instruction &inst : llvm::instructions(module->getFunction("kernel")))
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&inst))
      calls.push_back(call);
  ASSERT_EQ(calls.size(), 2u);
  auto sideEffects = [](llvm::CallInst *call) {
    return llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->hasSideEffects();
  };
  EXPECT_TRUE(calls[0]->isInlineAsm() && calls[0]->isConvergent() && sideEffects(calls[0]));
  EXPECT_TRUE(calls[1]->isInlineAsm() && !calls[1]->isConvergent() && !sideEffects(calls[1]));
  EXPECT_TRUE(calls[1]->doesNotAccessMemory());
  EXPECT_FALSE(module->getFunction("attn_dev_barrier"));
}

TEST(ExpandIntrinsics, RefusesFunctionsThatNobodyDefines) {
  EXPECT_EQ(expansionError("declare float @expf(float)\n"
                           "define float @k(float %x) {\n %y = call float @expf(float %x)\n"
                           " ret float %y }"),
            "unresolved function 'expf': it is no device function of ours");
}

TEST(ExpandIntrinsics, RefusesAnImmediateThatIsNoConstant) {
  EXPECT_EQ(expansionError("declare void @attn_dev_cp_async_wait(i32)\n"
                           "define void @k(i32 %n) {\n call void @attn_dev_cp_async_wait(i32 %n)\n"
                           " ret void }"),
            "operand 0 of attn_dev_cp_async_wait has to be a constant");
}

TEST(ExpandIntrinsics, RefusesTheAddressOfADeviceFunction) {
  EXPECT_EQ(expansionError("declare void @attn_dev_barrier()\n"
                           "define ptr @k() {\n ret ptr @attn_dev_barrier }"),
            "attn_dev_barrier is used other than by calling it");
}

TEST(ExpandIntrinsics, RefusesChipsThatAreTooOld) {
  llvm::LLVMContext context;
  auto module = parse(context, "declare void @attn_dev_barrier()");
  EXPECT_EQ(expandDeviceIntrinsics(*module, {"sm_75", 75, 64, 65536}),
            "attn_dev_barrier needs sm_80, the target is sm_75");
}

} // namespace
