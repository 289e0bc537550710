//===- Kernel.h - writing one kernel as IR ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel is an llvm.func with nvvm.kernel whose body is arith, math, scf, loads
// and stores of the LLVM dialect, and calls of device functions. Arguments are
// pointers to global memory and 64-bit integers, in the order in which they are
// asked for here.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_NVPTX_KERNEL_H
#define ATTNC_CODEGEN_NVPTX_KERNEL_H

#include "codegen/NVPTX/Val.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace attnc::nvptx {

/// The argument triple of a view of a per-token f32 buffer (KernelAbi.h).
struct ViewArg {
  Val base, tokenStride, headStride;

  /// The address of element `i` (i32) of head `h` (i32) of token `t` (i64).
  Val at(Val t, Val h, Val i) const;
};

class Kernel {
public:
  /// Opens a kernel of blocks of `threads` threads in a module of its own.
  Kernel(mlir::MLIRContext *context, const std::string &name, int64_t threads);

  /// Closes the kernel and gives its module away.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

  // Arguments.
  Val pointer();
  Val integer();
  ViewArg view();

  // Constants and conversions.
  Val i32(int64_t value) { return constant(i32Type(), value); }
  Val i64(int64_t value) { return constant(i64Type(), value); }
  Val f32(double value);
  Val constant(mlir::Type type, int64_t value);
  Val wrap(mlir::Value value) { return Val(*this, value); }
  Val extend(Val a);   ///< i32, not negative, to i64
  Val truncate(Val a); ///< i64 to i32
  Val toF32(Val a);    ///< i32, signed, or f16
  Val bitcast(Val a, mlir::Type type);

  // Vectors.
  Val lane(Val vector, int64_t i);
  Val lanes(llvm::ArrayRef<Val> scalars);
  Val lanes(Val vector, llvm::ArrayRef<int64_t> which); ///< a shorter vector

  mlir::Type i8Type() { return b.getI8Type(); }
  mlir::Type i16Type() { return b.getIntegerType(16); }
  mlir::Type i32Type() { return b.getI32Type(); }
  mlir::Type i64Type() { return b.getI64Type(); }
  mlir::Type f32Type() { return b.getF32Type(); }

  // Arithmetic without an operator.
  Val select(Val condition, Val a, Val b);
  Val min(Val a, Val b); ///< integers, signed
  Val max(Val a, Val b);
  Val maxNaN(Val a, Val b); ///< of f32; NaN if either is
  Val fma(Val a, Val b, Val c);
  Val sqrt(Val a);

  // Memory. Offsets count bytes; an i32 offset is not negative.
  Val offset(Val pointer, Val bytes);
  Val load(Val pointer, mlir::Type type, int64_t alignment);
  void store(Val value, Val pointer, int64_t alignment);
  Val loadF32(Val pointer, Val index); ///< element `index` of an f32 array
  Val loadI32(Val pointer, Val index);
  void storeF32(Val value, Val pointer, Val index);

  /// Reserves `bytes` of the block's shared memory, 16-byte aligned, and gives
  /// their offset; `shared` turns an offset (i32) into an address.
  int64_t reserveShared(int64_t bytes);
  Val shared(Val byteOffset);
  int64_t sharedBytes() const { return reserved; }

  // Control. A loop's variable is i32 and counts up.
  void when(Val condition, llvm::function_ref<void()> then);
  void loop(Val lo, Val hi, int64_t step, llvm::function_ref<void(Val)> body);
  Vals loop(Val lo, Val hi, int64_t step, llvm::ArrayRef<Val> inits,
            llvm::function_ref<Vals(Val, llvm::ArrayRef<Val>)> body);

  Vals choose(Val condition, llvm::function_ref<Vals()> then,
              llvm::function_ref<Vals()> otherwise);

  /// Copies a scalar body (KernelSpec.h) here and gives what it yields.
  Val scalarBody(mlir::Region &body, llvm::ArrayRef<Val> arguments);

  // Device functions.
  Val device(llvm::StringRef name, llvm::ArrayRef<Val> operands = {});
  void barrier() { device("attn_dev_barrier"); }
  Val tid() { return device("attn_dev_tid_x"); }
  Val blockX() { return device("attn_dev_ctaid_x"); }
  Val blockY() { return device("attn_dev_ctaid_y"); }
  /// The sum over the lanes whose numbers differ in the bits of `mask` only.
  Val sumOverLanes(Val a, int64_t mask);
  Val maxOverLanes(Val a, int64_t mask);

  int64_t threads() const { return blockThreads; }

private:
  Val argument(mlir::Type type);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::LLVM::LLVMFuncOp func;
  int64_t blockThreads;
  int64_t reserved = 0;

public:
  mlir::OpBuilder b;
  mlir::Location loc;
};

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_KERNEL_H
