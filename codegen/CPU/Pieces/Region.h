//===- Region.h - scalar bodies on vectors ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_CPU_PIECES_REGION_H
#define ATTNC_CODEGEN_CPU_PIECES_REGION_H

#include "codegen/CPU/Pieces/Emit.h"
#include "codegen/Plan/KernelSpec.h"

namespace attnc::cpu {

/// Complains, non-empty, about an op that CPU code has no vector form of.
std::string checkBody(const ScalarBody &body);

/// The result of `body` for each lane of `arguments`, vectors of one size.
Val apply(Emit &e, const ScalarBody &body, llvm::ArrayRef<Val> arguments);

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_PIECES_REGION_H
