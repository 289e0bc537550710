//===- ScalarProgram.cpp - evaluates scalar bodies in f64 -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/Interpreter/ScalarProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

using Fn = double (*)(double, double, double);

/// NaN if either is, and -0 below +0: arith.maximumf.
static double maximum(double a, double b, double) {
  if (std::isnan(a) || std::isnan(b))
    return std::nan("");
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

static double minimum(double a, double b, double) { return -maximum(-a, -b, 0); }

static Fn lookupCompare(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return [](double, double, double) { return 0.0; };
  case P::OEQ:
    return [](double a, double b, double) { return double(a == b); };
  case P::OGT:
    return [](double a, double b, double) { return double(a > b); };
  case P::OGE:
    return [](double a, double b, double) { return double(a >= b); };
  case P::OLT:
    return [](double a, double b, double) { return double(a < b); };
  case P::OLE:
    return [](double a, double b, double) { return double(a <= b); };
  case P::ONE:
    return [](double a, double b, double) { return double(a < b || a > b); };
  case P::ORD:
    return [](double a, double b, double) { return double(!std::isunordered(a, b)); };
  case P::UEQ:
    return [](double a, double b, double) { return double(!(a < b || a > b)); };
  case P::UGT:
    return [](double a, double b, double) { return double(!(a <= b)); };
  case P::UGE:
    return [](double a, double b, double) { return double(!(a < b)); };
  case P::ULT:
    return [](double a, double b, double) { return double(!(a >= b)); };
  case P::ULE:
    return [](double a, double b, double) { return double(!(a > b)); };
  case P::UNE:
    return [](double a, double b, double) { return double(a != b); };
  case P::UNO:
    return [](double a, double b, double) { return double(std::isunordered(a, b)); };
  case P::AlwaysTrue:
    return [](double, double, double) { return 1.0; };
  }
  return nullptr;
}

static Fn lookupArith(StringRef name) {
  return llvm::StringSwitch<Fn>(name)
      .Case("arith.addf", [](double a, double b, double) { return a + b; })
      .Case("arith.subf", [](double a, double b, double) { return a - b; })
      .Case("arith.mulf", [](double a, double b, double) { return a * b; })
      .Case("arith.divf", [](double a, double b, double) { return a / b; })
      .Case("arith.remf", [](double a, double b, double) { return std::fmod(a, b); })
      .Case("arith.negf", [](double a, double, double) { return -a; })
      .Case("arith.maximumf", maximum)
      .Case("arith.minimumf", minimum)
      .Case("arith.maxnumf", [](double a, double b, double) { return std::fmax(a, b); })
      .Case("arith.minnumf", [](double a, double b, double) { return std::fmin(a, b); })
      .Case("arith.select", [](double c, double a, double b) { return c != 0 ? a : b; })
      .Case("arith.andi", [](double a, double b, double) { return a * b; })
      .Case("arith.ori", [](double a, double b, double) { return double(a + b > 0); })
      .Case("arith.xori", [](double a, double b, double) { return double(a != b); })
      .Case("arith.uitofp", [](double a, double, double) { return a; })
      .Default(nullptr);
}

static Fn lookupMath(StringRef name) {
  return llvm::StringSwitch<Fn>(name)
      .Case("math.absf", [](double a, double, double) { return std::fabs(a); })
      .Case("math.atan", [](double a, double, double) { return std::atan(a); })
      .Case("math.ceil", [](double a, double, double) { return std::ceil(a); })
      .Case("math.copysign", [](double a, double b, double) { return std::copysign(a, b); })
      .Case("math.cos", [](double a, double, double) { return std::cos(a); })
      .Case("math.erf", [](double a, double, double) { return std::erf(a); })
      .Case("math.exp", [](double a, double, double) { return std::exp(a); })
      .Case("math.exp2", [](double a, double, double) { return std::exp2(a); })
      .Case("math.expm1", [](double a, double, double) { return std::expm1(a); })
      .Case("math.floor", [](double a, double, double) { return std::floor(a); })
      .Case("math.fma", [](double a, double b, double c) { return a * b + c; })
      .Case("math.log", [](double a, double, double) { return std::log(a); })
      .Case("math.log1p", [](double a, double, double) { return std::log1p(a); })
      .Case("math.log2", [](double a, double, double) { return std::log2(a); })
      .Case("math.powf", [](double a, double b, double) { return std::pow(a, b); })
      .Case("math.rsqrt", [](double a, double, double) { return 1 / std::sqrt(a); })
      .Case("math.sin", [](double a, double, double) { return std::sin(a); })
      .Case("math.sqrt", [](double a, double, double) { return std::sqrt(a); })
      .Case("math.tanh", [](double a, double, double) { return std::tanh(a); })
      .Default(nullptr);
}

ScalarProgram::Fn ScalarProgram::lookup(Operation &op) {
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return lookupCompare(compare.getPredicate());
  StringRef name = op.getName().getStringRef();
  return name.starts_with("arith.") ? lookupArith(name) : lookupMath(name);
}

FailureOr<ScalarProgram> ScalarProgram::compile(Region &body) {
  ScalarProgram program;
  Block &block = body.front();
  llvm::DenseMap<Value, unsigned> numbers;
  for (Value argument : block.getArguments())
    numbers[argument] = program.arguments++;
  unsigned next = program.arguments;
  for (auto constant : block.getOps<arith::ConstantOp>()) {
    numbers[constant] = next++;
    if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
      program.constants.push_back(real.getValueAsDouble());
    else
      program.constants.push_back(cast<BoolAttr>(constant.getValue()).getValue());
  }
  for (Operation &op : block.without_terminator()) {
    if (isa<arith::ConstantOp>(op))
      continue;
    Instruction instruction{lookup(op), {0, 0, 0}};
    if (!instruction.fn || op.getNumOperands() > 3 || op.getNumResults() != 1)
      return op.emitOpError("has no evaluation in a scalar body"), failure();
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      instruction.operands[i] = numbers.lookup(operand);
    numbers[op.getResult(0)] = next++;
    program.instructions.push_back(instruction);
  }
  program.result = numbers.lookup(block.getTerminator()->getOperand(0));
  return program;
}

void ScalarProgram::run(ArrayRef<const double *> args, double *out, int64_t lanes) {
  // Values of a batch of lanes stay in the first-level cache.
  constexpr int64_t kBatch = 128;
  scratch.resize((constants.size() + instructions.size()) * kBatch);
  double *constantLanes = scratch.data();
  double *resultLanes = constantLanes + constants.size() * kBatch;
  for (auto [i, value] : llvm::enumerate(constants))
    std::fill_n(constantLanes + i * kBatch, kBatch, value);
  for (int64_t first = 0; first < lanes; first += kBatch) {
    int64_t count = std::min(kBatch, lanes - first);
    auto value = [&](unsigned number) -> const double * {
      return number < arguments ? args[number] + first
                                : scratch.data() + (number - arguments) * kBatch;
    };
    for (auto [i, instruction] : llvm::enumerate(instructions)) {
      const double *a = value(instruction.operands[0]), *b = value(instruction.operands[1]),
                   *c = value(instruction.operands[2]);
      double *to = resultLanes + i * kBatch;
      for (int64_t lane = 0; lane < count; ++lane)
        to[lane] = instruction.fn(a[lane], b[lane], c[lane]);
    }
    std::copy_n(value(result), count, out + first);
  }
}
