//===- Object.h - from LLVM IR to a shared library --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_CPU_OBJECT_H
#define ATTNC_CODEGEN_CPU_OBJECT_H

#include "codegen/CPU/Target.h"

#include "llvm/IR/Module.h"

#include <cstdint>

namespace attnc::cpu {

/// Optimises `module` for `target`, in place. Refuses vectors that are wider than
/// the target's: they would be torn apart, at a loss.
std::string optimize(llvm::Module &module, const CpuTarget &target);

/// The assembly text of an optimised module, which stays as it is.
Result<std::string> emitAssembly(const llvm::Module &module, const CpuTarget &target);

/// The object of an optimised module. Checks what came out: every symbol it
/// leaves undefined is one that every process has (memset and its like).
Result<std::vector<uint8_t>> emitObject(llvm::Module &module, const CpuTarget &target);

/// Links objects into a shared library called `soname`.
Result<std::vector<uint8_t>>
linkLibrary(const std::vector<std::vector<uint8_t>> &objects, const std::string &soname);

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_OBJECT_H
