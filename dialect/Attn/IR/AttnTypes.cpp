//===- AttnTypes.cpp - types of the attn dialect -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/Attn.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

#define GET_TYPEDEF_CLASSES
#include "dialect/Attn/IR/AttnTypes.cpp.inc"

void AttnDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/Attn/IR/AttnTypes.cpp.inc"
      >();
}

namespace {

/// Parses ", name N" pairs up to '>'. Each name may come once; all are
/// optional and keep their default.
ParseResult parseOptions(AsmParser &parser, bool first,
                         ArrayRef<std::pair<StringRef, int64_t *>> options) {
  SmallVector<bool> seen(options.size());
  while (first || succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (first ? failed(parser.parseOptionalKeyword(&name)) : failed(parser.parseKeyword(&name))) {
      if (first)
        break;
      return failure();
    }
    first = false;
    const auto *option = llvm::find_if(options, [&](auto &o) { return o.first == name; });
    if (option == options.end() || seen[option - options.begin()])
      return parser.emitError(loc, "unexpected '") << name << "'";
    seen[option - options.begin()] = true;
    if (parser.parseInteger(*option->second))
      return failure();
  }
  return parser.parseGreater();
}

LogicalResult checkPositive(function_ref<InFlightDiagnostic()> emitError, StringRef what, int64_t n) {
  if (n > 0)
    return success();
  return emitError() << "expected a positive " << what << ", found " << n;
}

} // namespace

//===----------------------------------------------------------------------===//
// stream
//===----------------------------------------------------------------------===//

Type StreamType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  int64_t every = 1;
  if (parser.parseLess() || parser.parseDimensionList(shape, false, false) ||
      parseOptions(parser, false, {{"every", &every}}))
    return {};
  return StreamType::getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                                shape, every);
}

void StreamType::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleave(getShape(), printer, "x");
  if (getEvery() != 1)
    printer << ", every " << getEvery();
  printer << '>';
}

LogicalResult StreamType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, int64_t every) {
  if (shape.empty() || shape.size() > 2)
    return emitError() << "expected channels, or heads x channels, found " << shape.size()
                       << " axes";
  int64_t features = 1;
  for (int64_t dim : shape) {
    if (failed(checkPositive(emitError, "extent", dim)))
      return failure();
    if (__builtin_mul_overflow(features, dim, &features) || features > (int64_t(1) << 31))
      return emitError() << "expected at most 2^31 channels in an element";
  }
  return checkPositive(emitError, "rate 'every'", every);
}

//===----------------------------------------------------------------------===//
// scores, selection
//===----------------------------------------------------------------------===//

Type ScoresType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t every = 1, groups = 1;
  if (succeeded(parser.parseOptionalLess()) &&
      parseOptions(parser, true, {{"every", &every}, {"groups", &groups}}))
    return {};
  return ScoresType::getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                                every, groups);
}

void ScoresType::print(AsmPrinter &printer) const {
  if (getEvery() == 1 && getGroups() == 1)
    return;
  printer << '<';
  if (getEvery() != 1)
    printer << "every " << getEvery() << (getGroups() != 1 ? ", " : "");
  if (getGroups() != 1)
    printer << "groups " << getGroups();
  printer << '>';
}

LogicalResult ScoresType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t every,
                                 int64_t groups) {
  return success(succeeded(checkPositive(emitError, "rate 'every'", every)) &&
                 succeeded(checkPositive(emitError, "number of groups", groups)));
}

Type SelectionType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t picks, every = 1, groups = 1, block = 1;
  if (parser.parseLess() || parser.parseInteger(picks) ||
      parseOptions(parser, false, {{"every", &every}, {"groups", &groups}, {"block", &block}}))
    return {};
  return SelectionType::getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                                   picks, every, groups, block);
}

void SelectionType::print(AsmPrinter &printer) const {
  printer << '<' << getPicks();
  if (getEvery() != 1)
    printer << ", every " << getEvery();
  if (getGroups() != 1)
    printer << ", groups " << getGroups();
  if (getBlock() != 1)
    printer << ", block " << getBlock();
  printer << '>';
}

LogicalResult SelectionType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t picks,
                                    int64_t every, int64_t groups, int64_t block) {
  return success(succeeded(checkPositive(emitError, "number of picks", picks)) &&
                 succeeded(checkPositive(emitError, "rate 'every'", every)) &&
                 succeeded(checkPositive(emitError, "number of groups", groups)) &&
                 succeeded(checkPositive(emitError, "block", block)));
}
