//===- Lower.cpp - from kernels as loops to LLVM IR -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Lower.h"
#include "codegen/CPU/Kernel.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace attnc::cpu {
namespace {

/// Transcendental functions on vectors have no instruction, and a library call
/// per lane costs a fifth of a whole attend: polynomials stand in for them.
struct ApproximateMathPass
    : PassWrapper<ApproximateMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApproximateMathPass)
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

/// Adds `void NAME(void **args)`, which loads the arguments of `body` and calls
/// it.
void addEntry(llvm::Module &module, llvm::Function &body, StringRef name) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto *entry = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false),
      llvm::Function::ExternalLinkage, name, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", entry));
  SmallVector<llvm::Value *> values;
  for (llvm::Argument &argument : body.args()) {
    llvm::Value *slot =
        b.CreateConstInBoundsGEP1_64(b.getPtrTy(), entry->getArg(0), argument.getArgNo());
    llvm::Value *where = b.CreateLoad(b.getPtrTy(), slot);
    values.push_back(b.CreateLoad(argument.getType(), where));
  }
  b.CreateCall(&body, values);
  b.CreateRetVoid();
}

void setAttributes(llvm::Module &module, const CpuTarget &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width", std::to_string(32 * target.lanes));
  }
}

} // namespace

void loadKernelDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<func::FuncDialect, scf::SCFDialect, vector::VectorDialect,
                      memref::MemRefDialect, math::MathDialect, arith::ArithDialect,
                      LLVM::LLVMDialect>();
}

std::string lowerToLLVMDialect(ModuleOp module) {
  // Verified once before and once after: between passes it takes as long as the
  // passes themselves.
  if (failed(verify(module)))
    return "the CPU kernels are not valid IR";
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  pm.addPass(std::make_unique<ApproximateMathPass>());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createConvertSCFToCFPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(functions));
  pm.addPass(createReconcileUnrealizedCastsPass());
  if (failed(pm.run(module)) || failed(verify(module)))
    return "the lowering of the CPU kernels failed";

  // The passes report success on half-converted functions.
  std::string leftover;
  module.walk([&](Operation *op) {
    bool done = isa<ModuleOp>(op) || isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect());
    if (!done && leftover.empty())
      leftover = op->getName().getStringRef().str();
  });
  return leftover.empty() ? "" : "the lowering of the CPU kernels left an op '" + leftover + "'";
}

Result<std::unique_ptr<llvm::Module>>
translateKernels(ModuleOp module, const std::vector<std::string> &kernels,
                 const CpuTarget &target, llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> result = translateModuleToLLVMIR(module, context);
  if (!result)
    return Error{"the translation of the CPU kernels to LLVM IR failed"};
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  result->setTargetTriple(target.triple);
  result->setDataLayout(machine->createDataLayout());
  result->setPICLevel(llvm::PICLevel::BigPIC);
  for (llvm::Function &function : *result)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  for (const std::string &name : kernels) {
    llvm::Function *body = result->getFunction(name + bodySuffix);
    if (!body)
      return Error{"kernel '" + name + "' has no body"};
    addEntry(*result, *body, name);
  }
  setAttributes(*result, target);
  return std::move(result);
}

} // namespace attnc::cpu
