//===- Exp2.h - powers of two in vectors ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_CPU_PIECES_EXP2_H
#define ATTNC_CODEGEN_CPU_PIECES_EXP2_H

#include "codegen/CPU/Pieces/Emit.h"

namespace attnc::cpu {

/// 2^x for x < 128, scalar or vector: relative error below 1e-7, exactly 1 at
/// 0, exactly 0 from -127 down (-inf included), NaN for NaN.
Val exp2(Val x);

} // namespace attnc::cpu

#endif // ATTNC_CODEGEN_CPU_PIECES_EXP2_H
