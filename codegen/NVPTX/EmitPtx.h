//===- EmitPtx.h - LLVM IR of a kernel becomes PTX -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In this order: full optimisation while the device functions are opaque, which
// gives the common IR; then their expansion with nothing but tidying behind it;
// then LLVM's back end. So the common IR is what the back end sees but for the
// expansions, and can be run elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_NVPTX_EMITPTX_H
#define ATTNC_CODEGEN_NVPTX_EMITPTX_H

#include "codegen/NVPTX/Target.h"

#include <memory>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace attnc::nvptx {

/// The back end for a chip; null and `error` on failure. Pointers to shared
/// memory have 32 bits.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Chip &chip, std::string &error);

/// Optimises a translated kernel with its device functions opaque. Refuses a
/// kernel that holds assembly or calls of the back end's intrinsics.
std::string optimizeKernel(llvm::Module &module, llvm::TargetMachine &machine);

/// Expands the device functions of an optimised kernel and prints PTX, which
/// checkPtx has accepted.
std::string emitPtx(llvm::Module &module, llvm::TargetMachine &machine, const Chip &chip,
                    std::string &ptx);

/// Complains when the text of a PTX module is not what was asked for: another
/// version or target, debug information (ptxas then uses up to three times the
/// registers), functions without a body.
std::string checkPtx(const std::string &ptx, const Chip &chip);

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_EMITPTX_H
