//===- LowerKernel.cpp - a kernel's MLIR becomes LLVM IR -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/LowerKernel.h"

#include "codegen/NVPTX/ExpandMath.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/IR/Module.h"

using namespace attnc;
using namespace mlir;

namespace {

/// Keeps the first diagnostic as the text of an error.
struct FirstDiagnostic : ScopedDiagnosticHandler {
  explicit FirstDiagnostic(MLIRContext *context) : ScopedDiagnosticHandler(context) {
    setHandler([this](Diagnostic &diagnostic) {
      if (text.empty())
        text = diagnostic.str();
      return success();
    });
  }
  std::string text;
};

} // namespace

void nvptx::loadKernelDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                      math::MathDialect, NVVM::NVVMDialect, scf::SCFDialect,
                      vector::VectorDialect>();
}

std::string nvptx::lowerKernelToLlvmDialect(ModuleOp module) {
  FirstDiagnostic first(module.getContext());
  PassManager passes(module.getContext());
  passes.addPass(createExpandMathPass());
  passes.addPass(createCSEPass());
  passes.addPass(createConvertSCFToCFPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(module)))
    return "lowering a kernel failed: " + first.text;

  std::string left;
  module.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (!isa<ModuleOp>(op) && dialect != "llvm" && dialect != "nvvm" && left.empty())
      left = op->getName().getStringRef().str();
  });
  return left.empty() ? "" : "'" + left + "' has no lowering for a GPU";
}

std::unique_ptr<llvm::Module> nvptx::translateKernel(ModuleOp module, llvm::LLVMContext &context,
                                                     std::string &error) {
  FirstDiagnostic first(module.getContext());
  std::unique_ptr<llvm::Module> made = translateModuleToLLVMIR(module, context, "kernel");
  if (!made)
    error = "translating a kernel to LLVM IR failed: " + first.text;
  return made;
}
