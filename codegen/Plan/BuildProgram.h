//===- BuildProgram.h - from a kv.step to a launch list -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_PLAN_BUILDPROGRAM_H
#define ATTNC_CODEGEN_PLAN_BUILDPROGRAM_H

#include "codegen/Plan/KernelSpec.h"
#include "formats/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

#include <vector>

namespace attnc {

/// A program and what its kernels compute. kernels[i] describes
/// program.kernels[i], whose parameters hold the shape (q_heads, kv_heads, dk,
/// dv of an attend); a target's emitter adds what it decides: tiles, lanes,
/// splits, scratch.
struct PlannedProgram {
  Program program;
  std::vector<KernelSpec> kernels; ///< hold regions of the module
};

/// Turns the kv.step of `module`, which must pass kv-verify-form, into a launch
/// list. Fails with a diagnostic where a plan cannot be compiled. The same
/// module gives the same program.
mlir::LogicalResult buildProgram(mlir::ModuleOp module, PlannedProgram &planned);

/// Copies the panel width that a target chose for each project kernel
/// (params["panel"]) to the weights that its launches read.
void setPanels(Program &program);

} // namespace attnc

#endif // ATTNC_CODEGEN_PLAN_BUILDPROGRAM_H
