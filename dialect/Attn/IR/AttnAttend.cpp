//===- AttnAttend.cpp - sources of attn.attend: text and structure ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/Attn.h"
#include "dialect/Attn/IR/AttnText.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::attn;

void AttendOp::build(OpBuilder &builder, OperationState &state, Type result,
                     ArrayRef<AttendSource> sources, double scale, FlatSymbolRefAttr sink,
                     ArrayAttr consts) {
  SmallVector<Value> queries, keys, values, selections;
  SmallVector<int64_t> partCounts, windows;
  for (const Source &source : sources) {
    llvm::append_range(queries, source.queries);
    llvm::append_range(keys, source.keys);
    values.push_back(source.value);
    partCounts.push_back(source.queries.size());
    windows.push_back(source.selection ? -1 : source.window);
    if (source.selection)
      selections.push_back(source.selection);
  }
  build(builder, state, result, queries, keys, values, selections,
        builder.getDenseI64ArrayAttr(partCounts), builder.getDenseI64ArrayAttr(windows),
        builder.getF64FloatAttr(scale), sink, consts);
}

SmallVector<AttendOp::Source> AttendOp::getSources() {
  SmallVector<Source> sources;
  unsigned part = 0, selection = 0;
  for (auto [i, count] : llvm::enumerate(getPartCounts())) {
    Source source;
    llvm::append_range(source.queries, getQueries().slice(part, count));
    llvm::append_range(source.keys, getKeys().slice(part, count));
    part += count;
    source.value = getValues()[i];
    source.window = std::max<int64_t>(getWindows()[i], 0);
    if (getWindows()[i] == -1)
      source.selection = getSelections()[selection++];
    sources.push_back(source);
  }
  return sources;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//
//
//   attn.attend scale F [sink @s] [consts [@c, ...]]
//     (causal | window N | select %sel : type)
//       (%q, %k : tq, tk), ...  values %v : tv
//     ...
//     attr-dict -> type [region]

using Unresolved = OpAsmParser::UnresolvedOperand;

namespace {
/// One operand list with its types.
struct TypedOperands {
  SmallVector<Unresolved> operands;
  SmallVector<Type> types;
  SMLoc loc;

  ParseResult resolve(OpAsmParser &parser, OperationState &state) {
    return parser.resolveOperands(operands, types, loc, state.operands);
  }
};
} // namespace

static ParseResult parseSource(OpAsmParser &parser, StringRef visibility, TypedOperands &queries,
                               TypedOperands &keys, TypedOperands &values,
                               TypedOperands &selections, SmallVectorImpl<int64_t> &partCounts,
                               SmallVectorImpl<int64_t> &windows) {
  if (visibility == "causal") {
    windows.push_back(0);
  } else if (visibility == "window") {
    SMLoc loc = parser.getCurrentLocation();
    int64_t window;
    if (parser.parseInteger(window))
      return failure();
    if (window <= 0)
      return parser.emitError(loc, "expected a positive window, found ") << window;
    windows.push_back(window);
  } else {
    if (parser.parseOperand(selections.operands.emplace_back()) ||
        parser.parseColonType(selections.types.emplace_back()))
      return failure();
    windows.push_back(-1);
  }
  int64_t parts = 0;
  do {
    if (parser.parseLParen() || parser.parseOperand(queries.operands.emplace_back()) ||
        parser.parseComma() || parser.parseOperand(keys.operands.emplace_back()) ||
        parser.parseColonType(queries.types.emplace_back()) || parser.parseComma() ||
        parser.parseType(keys.types.emplace_back()) || parser.parseRParen())
      return failure();
    ++parts;
  } while (succeeded(parser.parseOptionalComma()));
  partCounts.push_back(parts);
  return failure(parser.parseKeyword("values") ||
                 parser.parseOperand(values.operands.emplace_back()) ||
                 parser.parseColonType(values.types.emplace_back()));
}

ParseResult AttendOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &b = parser.getBuilder();
  double scale;
  if (parser.parseKeyword("scale") || parser.parseFloat(scale))
    return failure();
  state.addAttribute("scale", b.getF64FloatAttr(scale));
  if (succeeded(parser.parseOptionalKeyword("sink"))) {
    StringAttr sink;
    if (parser.parseSymbolName(sink))
      return failure();
    state.addAttribute("sink", FlatSymbolRefAttr::get(sink));
  }
  if (succeeded(parser.parseOptionalKeyword("consts"))) {
    ArrayAttr consts;
    if (parser.parseAttribute(consts, "consts", state.attributes))
      return failure();
  }
  TypedOperands queries, keys, values, selections;
  queries.loc = keys.loc = values.loc = selections.loc = parser.getCurrentLocation();
  SmallVector<int64_t> partCounts, windows;
  StringRef visibility;
  while (succeeded(parser.parseOptionalKeyword(&visibility, {"causal", "window", "select"})))
    if (parseSource(parser, visibility, queries, keys, values, selections, partCounts, windows))
      return failure();
  if (partCounts.empty())
    return parser.emitError(parser.getCurrentLocation(),
                            "expected a source: 'causal', 'window' or 'select'");
  Type result;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseArrow() ||
      parser.parseType(result))
    return failure();
  Region *map = state.addRegion();
  OptionalParseResult region = parser.parseOptionalRegion(*map);
  if (region.has_value() && failed(*region))
    return failure();
  state.addAttribute("part_counts", b.getDenseI64ArrayAttr(partCounts));
  state.addAttribute("windows", b.getDenseI64ArrayAttr(windows));
  auto count = [](const TypedOperands &list) { return int32_t(list.operands.size()); };
  state.addAttribute(getOperandSegmentSizeAttr(),
                     b.getDenseI32ArrayAttr(
                         {count(queries), count(keys), count(values), count(selections)}));
  state.addTypes(result);
  return failure(queries.resolve(parser, state) || keys.resolve(parser, state) ||
                 values.resolve(parser, state) || selections.resolve(parser, state));
}

void AttendOp::print(OpAsmPrinter &p) {
  p << " scale ";
  printF64(p, getScale().convertToDouble());
  if (getSinkAttr())
    p << " sink " << getSinkAttr();
  if (getConstsAttr())
    p << " consts " << getConstsAttr();
  p.increaseIndent();
  p.increaseIndent();
  for (const Source &source : getSources()) {
    p.printNewline();
    if (source.selection)
      p << "select " << source.selection << " : " << source.selection.getType() << ' ';
    else if (source.window)
      p << "window " << source.window << ' ';
    else
      p << "causal ";
    llvm::interleaveComma(llvm::zip_equal(source.queries, source.keys), p, [&](auto part) {
      auto [query, key] = part;
      p << '(' << query << ", " << key << " : " << query.getType() << ", " << key.getType() << ')';
    });
    p.printNewline();
    p << "values " << source.value << " : " << source.value.getType();
  }
  p.printNewline();
  SmallVector<StringRef> elided = {"scale",   "sink",   "consts", "part_counts",
                                   "windows", getOperandSegmentSizeAttr()};
  p.printOptionalAttrDict((*this)->getAttrs(), elided);
  bool hasAttrs = llvm::any_of((*this)->getAttrs(), [&](NamedAttribute a) {
    return !llvm::is_contained(elided, a.getName().getValue());
  });
  p << (hasAttrs ? " -> " : "-> ") << getResult().getType();
  p.decreaseIndent();
  p.decreaseIndent();
  if (!getScoreMap().empty()) {
    p << ' ';
    p.printRegion(getScoreMap());
  }
}

void AttendOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[] = {"score", "query", "key", "head"};
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}
