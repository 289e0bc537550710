//===- Target.h - the processor that CPU code is made for -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `cpu` is this machine, `cpu:NAME` a processor by its LLVM name. LLVM takes an
// unknown name with a shrug, or ends the process when it meets one that lacks
// 64-bit mode, so names are checked here first.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_CPU_TARGET_H
#define ATTNC_CODEGEN_CPU_TARGET_H

#include "formats/Result.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace attnc::cpu {

struct CpuTarget {
  std::string name;     ///< "cpu:sapphirerapids": as manifests write it
  std::string triple;
  std::string cpu;      ///< LLVM's name
  std::string features; ///< LLVM's feature string, "+avx2,-amx-tile"; may be empty
  /// Extensions that the code may use, by LLVM's names ("avx512f"): the machine
  /// that runs it must have them all.
  std::vector<std::string> required;
  int64_t lanes = 4;      ///< f32 in the widest vector that the code uses
  int64_t registers = 16; ///< vector registers of that width
};

/// Resolves "cpu" or "cpu:NAME"; the error of an unknown name suggests others.
Result<CpuTarget> resolveCpuTarget(const std::string &request);

/// A machine for position-independent code at the highest optimisation level.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const CpuTarget &target);

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_TARGET_H
