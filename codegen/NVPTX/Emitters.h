//===- Emitters.h - one emitter per kind of kernel --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each turns a spec into a module with one kernel. Which arguments a kernel has
// and which grid it wants is written in docs/gpu.md.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_NVPTX_EMITTERS_H
#define ATTNC_CODEGEN_NVPTX_EMITTERS_H

#include "codegen/NVPTX/Target.h"
#include "codegen/Plan/KernelSpec.h"
#include "formats/Result.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>

namespace attnc::nvptx {

struct EmittedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int64_t threads = 0;       ///< per block
  int64_t dynamicShared = 0; ///< bytes per block
  /// What the launcher has to know: see docs/gpu.md, "Kernels".
  std::map<std::string, int64_t> params;
};

/// Writes the kernel of any spec. Shapes that it cannot have are an error that
/// names the kernel, what was found and what is supported.
Result<EmittedKernel> emitKernel(const KernelSpec &spec, const Chip &chip,
                                 mlir::MLIRContext *context);

// One per kind; called by emitKernel.
struct EmitTarget {
  const std::string &name;
  const Chip &chip;
  mlir::MLIRContext *context;
};
Result<EmittedKernel> emitProject(const ProjectSpec &spec, const EmitTarget &target);
Result<EmittedKernel> emitNorm(const NormSpec &spec, const EmitTarget &target);
Result<EmittedKernel> emitRope(const RopeSpec &spec, const EmitTarget &target);
Result<EmittedKernel> emitMap(const MapSpec &spec, const EmitTarget &target);
Result<EmittedKernel> emitRound(const RoundSpec &spec, const EmitTarget &target);
Result<EmittedKernel> emitAppend(const AppendSpec &spec, const EmitTarget &target);
Result<EmittedKernel> emitUnpack(const UnpackSpec &spec, const EmitTarget &target);
Result<EmittedKernel> emitAttend(const AttendSpec &spec, const EmitTarget &target);
Result<EmittedKernel> emitCombine(const CombineSpec &spec, const EmitTarget &target);

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_EMITTERS_H
