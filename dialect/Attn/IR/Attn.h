//===- Attn.h - the attn dialect -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What an attention graph computes; see AttnBase.td and docs/language.md.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_DIALECT_ATTN_H
#define ATTNC_DIALECT_ATTN_H

#include "dialect/Attn/IR/AttnInterfaces.h"
#include "formats/Format.h"
#include "formats/Rotary.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/Attn/IR/AttnDialect.h.inc"
#include "dialect/Attn/IR/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Attn/IR/AttnAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Attn/IR/AttnTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/Attn/IR/AttnOps.h.inc"

namespace mlir::attn {

/// The layer an op belongs to (its `layer` attribute), 0 without one.
int64_t getLayer(Operation *op);

/// The name of the attribute that holds an op's layer.
inline constexpr StringLiteral kLayerAttr = "layer";

/// The name of the attribute under which a result is published by --trace:
/// e.g. attn.trace = "layer0.attention".
inline constexpr StringLiteral kTraceAttr = "attn.trace";

/// The attribute that identifies a stream across the forms of a model: ops with
/// equal numbers compute the same values (attn-split-forms sets it).
inline constexpr StringLiteral kIdAttr = "attn.id";

/// The format in which a stream would be stored if it were kept; also on a
/// model's arguments (attn-choose-storage sets it).
inline constexpr StringLiteral kStorageAttr = "attn.storage";

/// Where a kept stream lives, see passes/Support/Keep.h; also on a model's
/// arguments (attn-infer-caches sets it).
inline constexpr StringLiteral kKeepAttr = "attn.keep";

/// Checks the body of a scalar function: one f32 argument for each of
/// `arguments`, ops of arith and math on f32 and i1, one f32 yielded.
LogicalResult verifyScalarBody(Operation *op, Region &body, unsigned arguments);

/// The number of operations that a scalar body executes (its constants are free).
int64_t countScalarOps(Region &body);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_H
