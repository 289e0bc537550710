//===- AttnText.cpp - numbers in the dialect's text ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/AttnText.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallString.h"

#include <charconv>
#include <cmath>

using namespace mlir;

void attn::printF64(AsmPrinter &printer, double value) {
  char buffer[32];
  double size = std::fabs(value);
  auto form = size == 0 || (size >= 1e-4 && size < 1e12) ? std::chars_format::fixed
                                                         : std::chars_format::scientific;
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, form).ptr;
  StringRef text(buffer, end - buffer);
  // MLIR's lexer wants a point in a float: 1e-06 becomes 1.0e-06.
  size_t exponent = std::min(text.find('e'), text.size());
  printer << text.take_front(exponent);
  if (!text.contains('.'))
    printer << ".0";
  printer << text.drop_front(exponent);
}

ParseResult attn::parseF64(AsmParser &parser, FloatAttr &value) {
  double number;
  if (parser.parseFloat(number))
    return failure();
  value = parser.getBuilder().getF64FloatAttr(number);
  return success();
}

void attn::printF64(OpAsmPrinter &printer, Operation *, FloatAttr value) {
  printF64(printer, value.getValueAsDouble());
}
