//===- ExpandIntrinsics.h - device functions become PTX --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_NVPTX_EXPANDINTRINSICS_H
#define ATTNC_CODEGEN_NVPTX_EXPANDINTRINSICS_H

#include "codegen/NVPTX/Target.h"

namespace llvm {
class Module;
} // namespace llvm

namespace attnc::nvptx {

/// Replaces every call of an attn_dev_* function by its PTX and removes the
/// declarations. Returns an error (empty: none) for a function that is not in
/// the table, that the chip lacks, that is used other than by a call, or whose
/// immediate is no constant, and for any other function without a body that is
/// no LLVM intrinsic: LLVM would print a call of it and report success.
std::string expandDeviceIntrinsics(llvm::Module &module, const Chip &chip);

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_EXPANDINTRINSICS_H
