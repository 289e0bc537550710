//===- CompileArtifact.h - code for targets, as an artifact folder ------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TOOLS_ATTNC_COMPILEARTIFACT_H
#define ATTNC_TOOLS_ATTNC_COMPILEARTIFACT_H

#include "tools/attnc/Compilation.h"

namespace attnc {

/// Which texts of kernels to write into ir/ as well.
struct EmitChoice {
  bool ir = false, llvm = false, ptx = false, assembly = false;
  bool check = false; ///< --check-kernels: print every kernel's resources
};

/// Compiles for every target ("cpu", "cpu:NAME", "sm_80", ...) and writes the
/// folder `path`, whole or not at all. Returns an error text, empty on success.
std::string compileArtifact(Compilation &compilation, const std::vector<std::string> &targets,
                            const std::string &path, const EmitChoice &emit = {});

/// Prints the kernels of the first target at the stage "kernels" or "llvm".
std::string printKernels(Compilation &compilation, const std::vector<std::string> &targets,
                         const std::string &stage);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_COMPILEARTIFACT_H
