//===- AttnText.h - numbers in the dialect's text -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_ATTN_TEXT_H
#define ATTNC_DIALECT_ATTN_TEXT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::attn {

/// Prints the shortest decimal text that reads back as the same f64.
void printF64(AsmPrinter &printer, double value);

/// custom<F64>($attr): a bare number.
ParseResult parseF64(AsmParser &parser, FloatAttr &value);
void printF64(OpAsmPrinter &printer, Operation *op, FloatAttr value);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_TEXT_H
