//===- Target.h - the GPUs that code is generated for -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM answers an unknown chip name with a warning and code for another chip, so
// names are looked up in a table of our own before LLVM sees them. The table
// also says which PTX version a chip's features need, and nothing newer is ever
// asked for: PTX newer than the driver is refused when it is loaded.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_NVPTX_TARGET_H
#define ATTNC_CODEGEN_NVPTX_TARGET_H

#include "formats/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::nvptx {

struct Chip {
  const char *name;   ///< "sm_90a"
  int sm;             ///< 90
  int ptxVersion;     ///< 80 stands for 8.0
  int64_t maxShared;  ///< bytes of shared memory that one block can opt in to
};

/// Shared memory that a block has without opting in to more.
constexpr int64_t kStaticShared = 49152;

/// All chips, oldest first.
const std::vector<Chip> &chips();

/// The chip called `name`; the error lists those that exist.
Result<Chip> findChip(std::string_view name);

/// "8.0" of 80.
std::string ptxVersionText(int version);

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_TARGET_H
