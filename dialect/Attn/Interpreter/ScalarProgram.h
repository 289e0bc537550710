//===- ScalarProgram.h - evaluates scalar bodies in f64 ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The bodies of attn.map and of score maps: arith and math ops on scalars that
// are written f32 and mean reals. A body is compiled once, then run over many
// lanes at a time.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_DIALECT_ATTN_INTERPRETER_SCALARPROGRAM_H
#define ATTNC_DIALECT_ATTN_INTERPRETER_SCALARPROGRAM_H

#include "dialect/Attn/IR/Attn.h"

#include <vector>

namespace mlir::attn {

class ScalarProgram {
public:
  /// Compiles a body that verifyScalarBody accepts; emits an error at an op
  /// whose meaning is not known here.
  static FailureOr<ScalarProgram> compile(Region &body);

  /// out[l] = body(args[0][l], args[1][l], ...) for l < lanes. `out` may be one
  /// of the arguments.
  void run(ArrayRef<const double *> args, double *out, int64_t lanes);

private:
  /// What one op computes from up to three operands. i1 is 0 or 1.
  using Fn = double (*)(double, double, double);
  static Fn lookup(Operation &op);

  struct Instruction {
    Fn fn;
    unsigned operands[3];
  };
  /// Values are numbered: arguments, then constants, then one per instruction.
  unsigned arguments = 0, result = 0;
  std::vector<double> constants;
  std::vector<Instruction> instructions;
  std::vector<double> scratch;
};

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_INTERPRETER_SCALARPROGRAM_H
