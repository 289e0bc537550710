//===- Ptxas.h - assembling PTX with NVIDIA's ptxas -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_NVPTX_PTXAS_H
#define ATTNC_CODEGEN_NVPTX_PTXAS_H

#include "codegen/NVPTX/Target.h"

#include <map>
#include <string>
#include <vector>

namespace attnc::nvptx {

/// What ptxas -v says of a kernel.
struct Resources {
  int64_t registers = 0;    ///< per thread
  int64_t staticShared = 0; ///< bytes of shared memory, without the dynamic part
  int64_t stack = 0, spillStores = 0, spillLoads = 0; ///< bytes per thread
};

/// The ptxas of a toolkit: of the folder `toolkit` if it is not empty, else of
/// $CUDA_HOME, else the one on the PATH. Empty if there is none.
std::string findPtxas(const std::string &toolkit);

/// Assembles `ptx`. On success `cubin` holds the code and `resources` the
/// figures of each kernel in it, by name.
std::string assemble(const std::string &ptxas, const std::string &ptx, const Chip &chip,
                     std::vector<uint8_t> &cubin, std::map<std::string, Resources> &resources);

/// Reads the output of ptxas -v.
std::map<std::string, Resources> parsePtxasOutput(const std::string &text);

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_PTXAS_H
