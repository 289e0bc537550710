//===- LowerKernel.h - a kernel's MLIR becomes LLVM IR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_NVPTX_LOWERKERNEL_H
#define ATTNC_CODEGEN_NVPTX_LOWERKERNEL_H

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace attnc::nvptx {

/// Loads the dialects that kernels are written in, and their translations.
void loadKernelDialects(mlir::MLIRContext &context);

/// Lowers arith, math, scf and cf in `module` to the LLVM dialect. Returns an
/// error, empty on success. Anything that stays unconverted is an error.
std::string lowerKernelToLlvmDialect(mlir::ModuleOp module);

/// Translates a lowered module. Null and `error` on failure.
std::unique_ptr<llvm::Module> translateKernel(mlir::ModuleOp module,
                                              llvm::LLVMContext &context,
                                              std::string &error);

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_LOWERKERNEL_H
