//===- AttnDialect.cpp - the attn dialect ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/Attn.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

#include "dialect/Attn/IR/AttnDialect.cpp.inc"
#include "dialect/Attn/IR/AttnEnums.cpp.inc"
#include "dialect/Attn/IR/AttnInterfaces.cpp.inc"

void AttnDialect::initialize() {
  registerTypes();
  registerAttrs();
  registerOps();
}

int64_t attn::getLayer(Operation *op) {
  auto layer = op->getAttrOfType<IntegerAttr>(kLayerAttr);
  return layer ? layer.getInt() : 0;
}

LogicalResult AttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kTraceAttr)
    return op->emitOpError("unknown attribute '") << attribute.getName() << "'; expected '"
                                                  << kTraceAttr << "'";
  if (!isa<StringAttr>(attribute.getValue()) || op->getNumResults() != 1)
    return op->emitOpError("'") << kTraceAttr << "' names the one result of an op; found "
                                << attribute.getValue();
  return success();
}
