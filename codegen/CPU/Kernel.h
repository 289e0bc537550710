//===- Kernel.h - the function of one kernel --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel is written as `func @NAME.body(pointers and integers)`, its arguments
// in the order of formats/KernelAbi.h. The exported `void NAME(void **args)`
// that unpacks them is added once the body is LLVM IR (Wrapper.h).
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_CPU_KERNEL_H
#define ATTNC_CODEGEN_CPU_KERNEL_H

#include "codegen/CPU/Pieces/Emit.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace attnc::cpu {

/// What the names of body functions end with.
constexpr const char *bodySuffix = ".body";

/// Opens a function and collects its arguments as they are asked for; closes it
/// when it goes out of scope.
class KernelScope {
public:
  KernelScope(mlir::ModuleOp module, llvm::StringRef functionName,
              const CpuTarget &target);
  ~KernelScope();
  KernelScope(const KernelScope &) = delete;
  KernelScope &operator=(const KernelScope &) = delete;

  Mem floats() { return pointer(e.f32Type()); }
  Mem ints() { return pointer(e.i32Type()); }
  Mem bytes() { return pointer(e.b.getI8Type()); }
  Val integer();
  ViewArg view();

  mlir::func::FuncOp function() { return func; }

private:
  Mem pointer(mlir::Type element);

  mlir::OpBuilder builder;
  mlir::func::FuncOp func;

public:
  Emit e;
};

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_KERNEL_H
