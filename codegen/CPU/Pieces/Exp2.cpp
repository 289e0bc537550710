//===- Exp2.cpp - powers of two in vectors ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Pieces/Exp2.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace attnc::cpu {

Val exp2(Val x) {
  Emit &e = x.emitter();
  Type type = x.type();
  bool vector = isa<VectorType>(type);
  Type ints = vector ? Type(e.i32s(cast<VectorType>(type).getNumElements())) : e.i32Type();
  auto constant = [&](double value) { return e.constant(type, value); };

  // The constant comes first so that a NaN gets through.
  x = e.maxSecondNaN(constant(-127), x);
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits. Unlike a
  // conversion, this is defined for NaN, and needs no rounding instruction.
  Val magic = constant(12582912.0);
  Val shifted = x + magic;
  Val fraction = x - (shifted - magic);
  // Minimax for 2^f / (1 + f q(f)) on [-1/2, 1/2]; p(0) is 1, so that integers
  // are exact and -127 gives the bits of 0.
  constexpr double q[] = {1.5327117e-4, 1.34085480e-3, 9.61852819e-3,
                          5.550301820e-2, 2.402264774e-1, 6.931472421e-1, 1.0};
  Val p = constant(q[0]);
  for (size_t i = 1; i < std::size(q); ++i)
    p = vector ? e.fma(p, fraction, constant(q[i])) : p * fraction + constant(q[i]);
  Val shift = e.constant(ints, 23);
  Val exponent = e.wrap(e.b.create<arith::ShLIOp>(e.loc, Value(e.bitcast(shifted, ints)),
                                                  Value(shift)));
  return e.bitcast(e.bitcast(p, ints) + exponent, type);
}

} // namespace attnc::cpu
