//===- Compile.h - kernel specs become PTX and cubins ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_NVPTX_COMPILE_H
#define ATTNC_CODEGEN_NVPTX_COMPILE_H

#include "codegen/Plan/KernelSpec.h"

#include <map>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace attnc {

struct NvptxTargetOptions {
  std::string chip; ///< "sm_80", "sm_90a", ...: codegen/NVPTX/Target.h
  /// The folder of a CUDA toolkit; empty: $CUDA_HOME, then the PATH.
  std::string toolkit;
  bool assemble = true; ///< make cubins if ptxas is found
  unsigned threads = 2; ///< kernels compiled at a time
  bool keepMlir = false, keepIr = false; ///< fill in NvptxKernel::mlir and ::ir
};

struct NvptxKernel {
  std::string name;
  std::string chip;
  std::string mlir; ///< the kernel as it was written
  std::string ir;   ///< optimised LLVM IR, device functions still opaque
  std::string ptx;

  // How to launch it. More than 48 KB of dynamic shared memory need an opt-in.
  int64_t threads = 0;       ///< per block
  int64_t dynamicShared = 0; ///< bytes per block
  /// Tiles and grid: docs/gpu.md, "Kernels".
  std::map<std::string, int64_t> params;

  // What ptxas made of it; empty without ptxas.
  std::vector<uint8_t> cubin;
  int64_t registers = 0; ///< per thread
};

/// Compiles `specs` for one chip, in their order. Score maps and map bodies of
/// the specs live in `context`. Returns an error text, empty on success: an
/// unknown chip, a shape without code, shared memory or registers that do not
/// suffice, PTX that is not what was asked for, a kernel that spills.
std::string compileNvptx(const std::vector<KernelSpec> &specs, const NvptxTargetOptions &options,
                         mlir::MLIRContext &context, std::vector<NvptxKernel> &out);

} // namespace attnc

#endif // ATTNC_CODEGEN_NVPTX_COMPILE_H
