//===- KernelTable.h - one kernel per shape --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Collects the kernels that a program needs. Equal shapes are one kernel; names
// say the shape and are made unique by a number where that is not enough.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_PLAN_KERNELTABLE_H
#define ATTNC_CODEGEN_PLAN_KERNELTABLE_H

#include "codegen/Plan/BuildProgram.h"

#include <map>
#include <set>

namespace attnc {

class KernelTable {
public:
  explicit KernelTable(PlannedProgram &planned) : planned(planned) {}

  /// The name of the kernel for this shape.
  std::string get(decltype(KernelSpec::op) op);

private:
  PlannedProgram &planned;
  std::map<std::string, std::string> names; ///< by everything that tells shapes apart
  std::set<std::string> taken;
};

/// A scalar body as text in which values are numbered: equal bodies, equal text.
std::string printScalarBody(mlir::Region &body);

} // namespace attnc

#endif // ATTNC_CODEGEN_PLAN_KERNELTABLE_H
