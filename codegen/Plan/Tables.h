//===- Tables.h - weights and rotations of a program -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_PLAN_TABLES_H
#define ATTNC_CODEGEN_PLAN_TABLES_H

#include "dialect/Attn/IR/Attn.h"
#include "formats/Program.h"

#include <map>

namespace attnc {

/// Adds weights and rotary tables to a program, each way of use once.
class Tables {
public:
  explicit Tables(Program &program) : program(program) {}

  /// A vector, `add` added to each entry.
  int32_t vector(mlir::attn::WeightOp weight, double add = 0);

  /// The matrix of a projection, packed for `kernel`, whose panels it has.
  int32_t panels(mlir::attn::LinearOp linear, mlir::attn::WeightOp weight,
                 const std::string &kernel);

  int32_t rotary(mlir::attn::RotaryAttr attr);

private:
  int32_t add(WeightUse use, const std::string &kernel);

  Program &program;
  std::map<std::string, int32_t> weights;
  llvm::DenseMap<mlir::Attribute, int32_t> rotaries;
};

} // namespace attnc

#endif // ATTNC_CODEGEN_PLAN_TABLES_H
