//===- AttnSelect.cpp - compression and selection: text, builders, folds ---===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/Attn.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// compress
//===----------------------------------------------------------------------===//
//
//   attn.compress every N [bias @b]
//     (%v, %g at N : tv, tg) | (%v at N : tv), ...
//     attr-dict -> type

void CompressOp::build(OpBuilder &builder, OperationState &state, ArrayRef<CompressPart> parts,
                       int64_t every, FlatSymbolRefAttr bias) {
  SmallVector<Value> values, gates;
  SmallVector<int64_t> offsets;
  SmallVector<bool> gated;
  for (const Part &part : parts) {
    values.push_back(part.value);
    if (part.gate)
      gates.push_back(part.gate);
    offsets.push_back(part.offset);
    gated.push_back(bool(part.gate));
  }
  auto type = cast<StreamType>(values.front().getType());
  build(builder, state,
        StreamType::get(builder.getContext(), type.getShape(), type.getEvery() * every), values,
        gates, builder.getI64IntegerAttr(every), builder.getDenseI64ArrayAttr(offsets),
        builder.getDenseBoolArrayAttr(gated), bias);
}

SmallVector<CompressOp::Part> CompressOp::getParts() {
  SmallVector<Part> parts;
  unsigned gate = 0;
  for (auto [value, offset, gated] : llvm::zip_equal(getValues(), getOffsets(), getGated()))
    parts.push_back({value, gated ? getGates()[gate++] : Value(), offset});
  return parts;
}

int64_t CompressOp::getGateChannels() {
  int64_t channels = 0;
  for (Type type : getGates().getTypes())
    channels += cast<StreamType>(type).getNumFeatures();
  return channels;
}

namespace {
/// One operand list with its types.
struct TypedOperands {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;

  ParseResult parse(OpAsmParser &parser) { return parser.parseOperand(operands.emplace_back()); }
  ParseResult parseType(OpAsmParser &parser) { return parser.parseType(types.emplace_back()); }
};
} // namespace

/// (%v, %g at N : tv, tg) or (%v at N : tv)
static ParseResult parsePart(OpAsmParser &parser, TypedOperands &values, TypedOperands &gates,
                             SmallVectorImpl<int64_t> &offsets, SmallVectorImpl<bool> &gated) {
  if (parser.parseLParen() || values.parse(parser))
    return failure();
  gated.push_back(succeeded(parser.parseOptionalComma()));
  if (gated.back() && gates.parse(parser))
    return failure();
  if (parser.parseKeyword("at") || parser.parseInteger(offsets.emplace_back()) ||
      parser.parseColon() || values.parseType(parser))
    return failure();
  if (gated.back() && (parser.parseComma() || gates.parseType(parser)))
    return failure();
  return parser.parseRParen();
}

ParseResult CompressOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &b = parser.getBuilder();
  int64_t every;
  if (parser.parseKeyword("every") || parser.parseInteger(every))
    return failure();
  state.addAttribute(getEveryAttrName(state.name), b.getI64IntegerAttr(every));
  if (succeeded(parser.parseOptionalKeyword("bias"))) {
    StringAttr bias;
    if (parser.parseSymbolName(bias))
      return failure();
    state.addAttribute(getBiasAttrName(state.name), FlatSymbolRefAttr::get(bias));
  }
  TypedOperands values, gates;
  SmallVector<int64_t> offsets;
  SmallVector<bool> gated;
  SMLoc loc = parser.getCurrentLocation();
  do {
    if (parsePart(parser, values, gates, offsets, gated))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  Type result;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseArrow() ||
      parser.parseType(result))
    return failure();
  state.addAttribute(getOffsetsAttrName(state.name), b.getDenseI64ArrayAttr(offsets));
  state.addAttribute(getGatedAttrName(state.name), b.getDenseBoolArrayAttr(gated));
  state.addAttribute(getOperandSegmentSizeAttr(),
                     b.getDenseI32ArrayAttr({int32_t(values.operands.size()),
                                             int32_t(gates.operands.size())}));
  state.addTypes(result);
  return failure(
      parser.resolveOperands(values.operands, values.types, loc, state.operands) ||
      parser.resolveOperands(gates.operands, gates.types, loc, state.operands));
}

void CompressOp::print(OpAsmPrinter &p) {
  p << " every " << getEvery();
  if (getBiasAttr())
    p << " bias " << getBiasAttr();
  p << ' ';
  llvm::interleaveComma(getParts(), p, [&](const Part &part) {
    p << '(' << part.value;
    if (part.gate)
      p << ", " << part.gate;
    p << " at " << part.offset << " : " << part.value.getType();
    if (part.gate)
      p << ", " << part.gate.getType();
    p << ')';
  });
  p.printOptionalAttrDict((*this)->getAttrs(),
                          {getEveryAttrName(), getBiasAttrName(), getOffsetsAttrName(),
                           getGatedAttrName(), getOperandSegmentSizeAttr()});
  p << " -> " << getResult().getType();
}

//===----------------------------------------------------------------------===//
// score, top_k, block_top_k, expand
//===----------------------------------------------------------------------===//

void ScoreOp::build(OpBuilder &builder, OperationState &state, Activation activation,
                    double scale, Value query, Value key, Value weights, Value within,
                    int64_t groups) {
  int64_t every = cast<StreamType>(key.getType()).getEvery();
  build(builder, state, ScoresType::get(builder.getContext(), every, groups), query, key, weights,
        within, activation, APFloat(scale));
}

void TopKOp::build(OpBuilder &builder, OperationState &state, Value scores, int64_t picks) {
  auto type = cast<ScoresType>(scores.getType());
  build(builder, state,
        SelectionType::get(builder.getContext(), picks, type.getEvery(), type.getGroups(), 1),
        scores);
}

void BlockTopKOp::build(OpBuilder &builder, OperationState &state, Value scores, int64_t picks,
                        int64_t block, Reduction reduction, int64_t pinFirst,
                        int64_t pinNewest) {
  auto type = cast<ScoresType>(scores.getType());
  build(builder, state,
        SelectionType::get(builder.getContext(), picks, type.getEvery(), type.getGroups(), block),
        scores, block, reduction, pinFirst, pinNewest);
}

void ExpandOp::build(OpBuilder &builder, OperationState &state, Value input) {
  auto type = cast<SelectionType>(input.getType());
  build(builder, state,
        SelectionType::get(builder.getContext(), type.getPicks(), 1, type.getGroups(),
                           type.getBlock() * type.getEvery()),
        input);
}

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  bool pinned = (*this)->hasAttr(kTraceAttr) || (*this)->hasAttr(kKeepAttr);
  return getInput().getType() == getType() && !pinned ? OpFoldResult(getInput()) : OpFoldResult();
}
