//===- Lower.h - from kernels as loops to LLVM IR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_CPU_LOWER_H
#define ATTNC_CODEGEN_CPU_LOWER_H

#include "codegen/CPU/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace attnc::cpu {

/// Loads the dialects that kernels are written in, and the translations.
void loadKernelDialects(mlir::MLIRContext &context);

/// scf/vector/memref/arith/math -> the LLVM dialect, in place. Returns an error
/// text, empty on success.
std::string lowerToLLVMDialect(mlir::ModuleOp module);

/// The LLVM dialect -> LLVM IR for `target`: body functions become internal, and
/// each body of `kernels` gets its exported entry.
Result<std::unique_ptr<llvm::Module>>
translateKernels(mlir::ModuleOp module, const std::vector<std::string> &kernels,
                 const CpuTarget &target, llvm::LLVMContext &context);

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_LOWER_H
