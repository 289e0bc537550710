//===- ExpandMath.h - scalar functions become arithmetic --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_NVPTX_EXPANDMATH_H
#define ATTNC_CODEGEN_NVPTX_EXPANDMATH_H

#include "mlir/Pass/Pass.h"

namespace attnc::nvptx {

/// The functions of math dialect that bodies of maps and score maps use have no
/// accurate counterpart in PTX, and there is no library here: they become
/// polynomials, which is plain arithmetic and runs wherever the kernel's LLVM IR
/// does. exp2 is the exception: it is a device function.
std::unique_ptr<mlir::Pass> createExpandMathPass();

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_EXPANDMATH_H
