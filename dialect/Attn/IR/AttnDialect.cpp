//===- AttnDialect.cpp - the attn dialect ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/Attn.h"
#include "dialect/Attn/IR/AttnState.h"

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
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  bool valid;
  StringRef expected;
  if (name == kTraceAttr)
    valid = isa<StringAttr>(value), expected = "a string";
  else if (name == kIdAttr)
    valid = isa<IntegerAttr>(value), expected = "an integer";
  else if (name == kStorageAttr)
    valid = isa<FormatAttr>(value), expected = "a format";
  else if (name == kKeepAttr || name == kStateAttr)
    valid = isa<DictionaryAttr>(value), expected = "a dictionary";
  else
    return op->emitOpError("unknown attribute '")
           << name << "'; expected '" << kTraceAttr << "', '" << kIdAttr << "', '"
           << kStorageAttr << "', '" << kKeepAttr << "' or '" << kStateAttr << "'";
  if (op->getNumResults() != 1)
    return op->emitOpError("'") << name << "' describes the one result of an op; found an op with "
                                << op->getNumResults();
  if (!valid)
    return op->emitOpError("'") << name << "' is " << expected << "; found " << value;
  return success();
}
