//===- KvTypes.cpp - types and attributes of the kv dialect -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Kv/IR/Kv.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kv;

// Segments print their format in full.
using attn::FormatAttr;

#define GET_TYPEDEF_CLASSES
#include "dialect/Kv/IR/KvTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Kv/IR/KvAttrs.cpp.inc"

void KvDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/Kv/IR/KvTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Kv/IR/KvAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// rows
//===----------------------------------------------------------------------===//

Type RowsType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  int64_t every = 1;
  if (parser.parseLess() || parser.parseDimensionList(shape, false, false))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("every") || parser.parseInteger(every)))
    return {};
  if (parser.parseGreater())
    return {};
  return RowsType::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), shape,
                              every);
}

void RowsType::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleave(getShape(), printer, "x");
  if (getEvery() != 1)
    printer << ", every " << getEvery();
  printer << '>';
}

LogicalResult RowsType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, int64_t every) {
  // An entry is an element of a stream: the same extents are legal.
  return attn::StreamType::verify(emitError, shape, every);
}

//===----------------------------------------------------------------------===//
// state
//===----------------------------------------------------------------------===//

Type StateType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  if (parser.parseLess() || parser.parseDimensionList(shape, false, false) ||
      parser.parseGreater())
    return {};
  if (shape.size() != 2)
    return parser.emitError(loc, "expected heads x channels, found ") << shape.size() << " axes",
           Type();
  return StateType::getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                               shape[0], shape[1]);
}

void StateType::print(AsmPrinter &printer) const {
  printer << '<' << getHeads() << 'x' << getChannels() << '>';
}

LogicalResult StateType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t heads,
                                int64_t channels) {
  return attn::StreamType::verify(emitError, {heads, channels}, 1);
}

//===----------------------------------------------------------------------===//
// segment
//===----------------------------------------------------------------------===//

LogicalResult SegmentAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                  int64_t channels, FormatAttr format) {
  if (name.empty())
    return emitError() << "expected a segment with a name";
  if (channels < 1 || channels > (int64_t(1) << 31))
    return emitError() << "segment '" << name << "' has " << channels
                       << " channels; expected 1 to 2^31";
  return success();
}
