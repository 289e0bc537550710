//===- Kernel.cpp - the function of one kernel ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Kernel.h"

using namespace mlir;

namespace attnc::cpu {

KernelScope::KernelScope(ModuleOp module, StringRef functionName, const CpuTarget &target)
    : builder(module.getContext()),
      func(func::FuncOp::create(builder.getUnknownLoc(), functionName,
                                builder.getFunctionType({}, {}))),
      e(builder, builder.getUnknownLoc(), target) {
  module.push_back(func);
  builder.setInsertionPointToStart(func.addEntryBlock());
}

KernelScope::~KernelScope() {
  Block &block = func.getBody().front();
  func.setFunctionType(builder.getFunctionType(block.getArgumentTypes(), {}));
  builder.setInsertionPointToEnd(&block);
  builder.create<func::ReturnOp>(builder.getUnknownLoc());
}

Mem KernelScope::pointer(Type element) {
  Value argument = func.getBody().front().addArgument(Mem::type(element), e.loc);
  return {&e, argument, Val()};
}

Val KernelScope::integer() {
  return e.wrap(func.getBody().front().addArgument(builder.getIndexType(), e.loc));
}

ViewArg KernelScope::view() {
  Mem mem = floats();
  Val tokenStride = integer();
  return {mem, tokenStride, integer()};
}

} // namespace attnc::cpu
