//===- ExpandIntrinsics.cpp - device functions become PTX ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/ExpandIntrinsics.h"

#include "codegen/NVPTX/DeviceIntrinsics.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace attnc;
using namespace attnc::nvptx;

namespace {

const char *constraintOf(DevType type) {
  switch (type) {
  case DevType::F32:
  case DevType::F32x4:
    return "f";
  case DevType::Global:
    return "l";
  case DevType::Imm:
    return "n";
  default:
    return "r"; // shared pointers have 32 bits, see EmitPtx.cpp
  }
}

/// "=f,=f,r,n,~{memory}" for the registers of an intrinsic.
std::string constraintsOf(const DeviceIntrinsic &intrinsic) {
  std::string text;
  auto add = [&](const std::string &one) { text += (text.empty() ? "" : ",") + one; };
  for (unsigned i = 0; i < registersOf(intrinsic.result); ++i)
    add(std::string("=") + constraintOf(intrinsic.result));
  for (DevType operand : intrinsic.operands)
    for (unsigned i = 0; i < registersOf(operand); ++i)
      add(constraintOf(operand));
  if (intrinsic.effects != DevEffects::None)
    add("~{memory}");
  return text;
}

llvm::InlineAsm *asmOf(const DeviceIntrinsic &intrinsic, llvm::ArrayRef<llvm::Type *> operands,
                       llvm::Type *result) {
  unsigned count = registersOf(intrinsic.result);
  llvm::Type *type = result;
  if (count > 1) {
    auto *vector = llvm::cast<llvm::FixedVectorType>(result);
    llvm::SmallVector<llvm::Type *> members(count, vector->getElementType());
    type = llvm::StructType::get(result->getContext(), members);
  }
  auto *functionType = llvm::FunctionType::get(type, operands, false);
  // An asm that only reads memory has no spelling of its own in LLVM: one
  // without side effects may be moved over stores.
  return llvm::InlineAsm::get(functionType, intrinsic.ptx, constraintsOf(intrinsic),
                              intrinsic.effects != DevEffects::None);
}

std::string expandCall(llvm::CallInst *call, const DeviceIntrinsic &intrinsic) {
  llvm::IRBuilder<> builder(call);
  llvm::SmallVector<llvm::Value *> registers;
  llvm::SmallVector<llvm::Type *> types;
  for (auto [index, type] : llvm::enumerate(intrinsic.operands)) {
    llvm::Value *operand = call->getArgOperand(index);
    if (type == DevType::Imm && !llvm::isa<llvm::ConstantInt>(operand))
      return std::string("operand ") + std::to_string(index) + " of " + intrinsic.name +
             " has to be a constant";
    unsigned count = registersOf(type);
    for (unsigned i = 0; i < count; ++i) {
      llvm::Value *part = count == 1 ? operand : builder.CreateExtractElement(operand, i);
      registers.push_back(part);
      types.push_back(part->getType());
    }
  }
  llvm::CallInst *made = builder.CreateCall(asmOf(intrinsic, types, call->getType()), registers);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  // The declaration's attribute does not reach the asm: it has to be said again.
  if (intrinsic.convergent)
    made->addFnAttr(llvm::Attribute::Convergent);
  if (intrinsic.effects == DevEffects::None)
    made->setMemoryEffects(llvm::MemoryEffects::none());

  llvm::Value *result = made;
  if (unsigned count = registersOf(intrinsic.result); count > 1) {
    result = llvm::PoisonValue::get(call->getType());
    for (unsigned i = 0; i < count; ++i)
      result = builder.CreateInsertElement(result, builder.CreateExtractValue(made, i), i);
  }
  call->replaceAllUsesWith(result);
  call->eraseFromParent();
  return "";
}

std::string expandFunction(llvm::Function &function, const Chip &chip) {
  const DeviceIntrinsic *intrinsic = findDeviceIntrinsic(function.getName());
  if (!intrinsic)
    return "unresolved function '" + function.getName().str() +
           "': it is no device function of ours";
  if (chip.sm < intrinsic->minSm)
    return std::string(intrinsic->name) + " needs sm_" + std::to_string(intrinsic->minSm) +
           ", the target is " + chip.name;
  for (llvm::User *user : llvm::make_early_inc_range(function.users())) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledOperand() != &function ||
        call->arg_size() != intrinsic->operands.size())
      return std::string(intrinsic->name) + " is used other than by calling it";
    if (std::string error = expandCall(call, *intrinsic); !error.empty())
      return error;
  }
  function.eraseFromParent();
  return "";
}

} // namespace

std::string nvptx::expandDeviceIntrinsics(llvm::Module &module, const Chip &chip) {
  for (llvm::Function &function : llvm::make_early_inc_range(module)) {
    if (!function.isDeclaration() || function.isIntrinsic())
      continue;
    if (std::string error = expandFunction(function, chip); !error.empty())
      return error;
  }
  return "";
}
