//===- DeviceIntrinsics.h - what kernels ask of the device by name --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything that a kernel does beyond plain LLVM IR is a call of a named
// function, attn_dev_*. Kernels hold no PTX and no llvm.nvvm.* call: the calls
// stay opaque through all optimisation and are replaced by PTX at the very end
// (ExpandIntrinsics.h). So whoever defines these functions for another machine
// runs the very code that becomes PTX.
//
// This table is the only place that knows their signatures, attributes,
// meaning and PTX. The attributes matter: an optimiser that believes too much
// about a barrier moves memory accesses over it (docs/gpu.md says which
// attributes broke what), so a unit test checks the table's rules.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_NVPTX_DEVICEINTRINSICS_H
#define ATTNC_CODEGEN_NVPTX_DEVICEINTRINSICS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace llvm {
class Type;
class LLVMContext;
} // namespace llvm

namespace attnc::nvptx {

/// Types of operands and results. Vectors are taken apart into registers where
/// PTX is written. Imm: an i32 that must be a constant.
enum class DevType : uint8_t { Void, I32, F32, I32x2, I32x4, F32x4, Shared, Global, Imm };

/// What a call may do to memory that the optimiser knows of.
///   None: nothing; calls may be merged, moved, and dropped if unused.
///   Read: it reads any memory.
///   Unknown: anything, as far as the optimiser may tell.
enum class DevEffects : uint8_t { None, Read, Unknown };

struct DeviceIntrinsic {
  const char *name;
  DevType result;
  std::vector<DevType> operands;
  DevEffects effects;
  /// All lanes of a warp (or all threads of a block) take part: no call may be
  /// moved under a condition or out of one.
  bool convergent;
  const char *meaning;
  /// The instruction; $0.. number the result's registers, then the operands'.
  const char *ptx;
  int minSm; ///< oldest chip that has the instruction
};

const std::vector<DeviceIntrinsic> &deviceIntrinsics();

/// The intrinsic called `name`, or null.
const DeviceIntrinsic *findDeviceIntrinsic(llvm::StringRef name);

/// Number of registers that a value of this type takes (Void: 0).
unsigned registersOf(DevType type);

mlir::Type mlirTypeOf(DevType type, mlir::MLIRContext *context);

/// The declaration of an intrinsic in `module`, made when missing, with the
/// attributes that the table gives it.
mlir::LLVM::LLVMFuncOp declareDeviceIntrinsic(mlir::ModuleOp module,
                                              const DeviceIntrinsic &intrinsic);

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_DEVICEINTRINSICS_H
