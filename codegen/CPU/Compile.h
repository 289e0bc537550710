//===- Compile.h - kernel specs to a shared library -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_CPU_COMPILE_H
#define ATTNC_CODEGEN_CPU_COMPILE_H

#include "codegen/CPU/Target.h"
#include "codegen/Plan/KernelSpec.h"
#include "formats/Program.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace attnc {

/// The ways to look at kernels before they are machine code.
enum class CpuStage : uint8_t { Kernels, LLVM, Assembly };

struct CpuCompileOptions {
  cpu::CpuTarget target;
  int threads = 0;             ///< 0: one per core; the result does not depend on it
  std::string soname = "attnc-kernels.so";
  /// Called with each kernel's text of each stage for which `wants` is true, in
  /// the order of the specs. Assembly costs a second code generation.
  std::function<bool(CpuStage)> wants;
  std::function<void(CpuStage, const std::string &kernel, const std::string &text)> show;
  /// Stop once this stage was shown: no library.
  bool stopAfterKernels = false, stopAfterLLVM = false;
};

/// Compiles `specs`, which may hold regions of `context`, into one shared
/// library. Fills in the parameters of the kernels in `kernels` (matched by
/// name; missing ones are added). Returns an error text, empty on success.
std::string compileCpu(mlir::MLIRContext &context, const std::vector<KernelSpec> &specs,
                       const CpuCompileOptions &options, std::vector<KernelDesc> &kernels,
                       std::vector<uint8_t> &library);

/// Whether CPU code for `target` can serve `spec`; an error text that names the
/// kernel, empty if it can.
std::string checkCpuKernel(const KernelSpec &spec, const cpu::CpuTarget &target);

} // namespace attnc

#endif // ATTNC_CODEGEN_CPU_COMPILE_H
