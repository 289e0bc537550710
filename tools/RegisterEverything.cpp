//===- RegisterEverything.cpp - dialects and passes of the tools -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/RegisterEverything.h"

#include "dialect/Attn/IR/Attn.h"
#include "dialect/Kv/IR/Kv.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void attnc::registerDialects(DialectRegistry &registry) {
  registry.insert<attn::AttnDialect, kv::KvDialect>();
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                  gpu::GPUDialect, LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
                  NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
}

void attnc::registerPasses() {
  registerTransformsPasses();
  attn::registerAttncPasses();
  attn::registerPipelines();
}
