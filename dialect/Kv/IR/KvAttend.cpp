//===- KvAttend.cpp - ops on softmax states ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Kv/IR/Kv.h"

#include "dialect/Attn/Interpreter/Evaluation.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kv;
using attn::StreamType;

/// The features and rate of a key or value: rows or a stream; none for others.
static std::optional<StreamType> elementType(Type type) {
  if (auto rows = dyn_cast<RowsType>(type))
    return rows.getStream();
  if (auto stream = dyn_cast<StreamType>(type))
    return stream;
  return std::nullopt;
}

int64_t AttendPartialOp::getEvery() { return elementType(getValue().getType())->getEvery(); }

/// Fails unless `type`, a key or the value, can be read by the state's heads and
/// has the kind and rate of the others.
static LogicalResult checkRows(AttendPartialOp op, StringRef what, Type type) {
  std::optional<StreamType> element = elementType(type);
  if (!element)
    return op.emitOpError() << what << " is of type " << type << "; expected rows or a stream";
  Type value = op.getValue().getType();
  if (isa<RowsType>(type) != isa<RowsType>(value))
    return op.emitOpError() << "expected keys and value to be all rows or all streams, found "
                            << type << " and " << value;
  if (element->getEvery() != elementType(value)->getEvery())
    return op.emitOpError() << what << " has one element every " << element->getEvery()
                            << " tokens, the value one every " << elementType(value)->getEvery();
  int64_t heads = op.getHeads();
  if (heads % element->getHeads() != 0)
    return op.emitOpError() << what << " has " << element->getHeads()
                            << " heads, which does not divide the " << heads
                            << " heads of the state";
  return success();
}

/// Fails unless query parts and key parts pair up.
static LogicalResult checkParts(AttendPartialOp op) {
  if (op.getQueries().empty() || op.getQueries().size() != op.getKeys().size())
    return op.emitOpError("has ") << op.getQueries().size() << " query parts and "
                                  << op.getKeys().size()
                                  << " key parts; expected as many, and at least one";
  for (auto [query, key] : llvm::zip_equal(op.getQueries(), op.getKeys())) {
    if (failed(checkRows(op, "key", key.getType())))
      return failure();
    auto type = cast<StreamType>(query.getType());
    if (type.getHeads() != op.getHeads())
      return op.emitOpError("query has ") << type.getHeads() << " heads, the state "
                                          << op.getHeads();
    if (type.getEvery() != 1)
      return op.emitOpError("expected queries with one element per token, found ") << type;
    int64_t channels = elementType(key.getType())->getChannels();
    if (type.getChannels() != channels)
      return op.emitOpError("query has ") << type.getChannels()
                                          << " channels per head, its key " << channels;
  }
  return success();
}

/// Fails unless the selection, if any, picks rows that the heads can share.
static LogicalResult checkSelection(AttendPartialOp op) {
  if (!op.getSelection())
    return success();
  auto type = cast<attn::SelectionType>(op.getSelection().getType());
  if (!op.readsRows())
    return op.emitOpError("selects among the chunk's own elements; expected rows of a cache");
  if (op.getWindow())
    return op.emitOpError("has a selection and a window of ")
           << int64_t(op.getWindow()) << "; expected window 0";
  if (type.getEvery() != op.getEvery())
    return op.emitOpError("selects entries every ")
           << type.getEvery() << " tokens, its rows are one every " << op.getEvery();
  if (op.getHeads() % type.getGroups() != 0)
    return op.emitOpError("selection has ") << type.getGroups()
                                            << " groups, which does not divide the "
                                            << op.getHeads() << " heads of the state";
  return success();
}

LogicalResult AttendPartialOp::verify() {
  if (failed(checkRows(*this, "value", getValue().getType())) || failed(checkParts(*this)) ||
      failed(checkSelection(*this)))
    return failure();
  StreamType value = *elementType(getValue().getType());
  int64_t channels = getState().getType().getChannels();
  if (value.getChannels() != channels)
    return emitOpError("value has ") << value.getChannels() << " channels per head, the state "
                                     << channels;
  if (!std::isfinite(getScale().convertToDouble()))
    return emitOpError("expected a finite scale, found ") << getScale().convertToDouble();
  if (int64_t(getWindow()) < 0)
    return emitOpError("expected a window of 0 (every entry) or more, found ")
           << int64_t(getWindow());
  if (getWindow() && value.getEvery() != 1)
    return emitOpError("a window counts tokens; expected entries of one token, found one every ")
           << value.getEvery();
  unsigned consts = getConsts() ? getConsts()->size() : 0;
  for (unsigned i = 0; i < consts; ++i)
    if (!isa<FlatSymbolRefAttr>((*getConsts())[i]))
      return emitOpError("'consts' is a list of weights such as [@a]; found ")
             << (*getConsts())[i];
  if (!getScoreMap().empty())
    return attn::verifyScalarBody(*this, getScoreMap(), 4 + consts);
  if (consts)
    return emitOpError("'consts' are arguments of a score map; found ") << consts
                                                                       << " and no score map";
  return success();
}

/// Fails unless `symbol` is a weight of one entry per head.
static LogicalResult checkHeadWeight(Operation *op, FlatSymbolRefAttr symbol, int64_t heads,
                                     SymbolTableCollection &tables) {
  auto weight = tables.lookupNearestSymbolFrom<attn::WeightOp>(op, symbol);
  if (!weight)
    return op->emitOpError("weight ") << symbol << " is not declared; expected attn.weight "
                                      << symbol << " in the module";
  ArrayRef<int64_t> shape = weight.getShape();
  if (shape.size() != 1 || shape[0] != heads)
    return op->emitOpError("expected weight ") << symbol << " to have " << heads
                                               << " entries, one per head";
  return success();
}

LogicalResult AttendPartialOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (getConsts())
    for (auto symbol : getConsts()->getAsRange<FlatSymbolRefAttr>())
      if (failed(checkHeadWeight(*this, symbol, getHeads(), tables)))
        return failure();
  return success();
}

LogicalResult AttendFinishOp::verify() {
  StateType state = getState().getType();
  StreamType result = getType();
  if (result.getHeads() != state.getHeads() || result.getChannels() != state.getChannels() ||
      result.getEvery() != 1)
    return emitOpError("expected a result of ") << state.getHeads() << "x" << state.getChannels()
                                                << " per token, as its state, found " << result;
  return success();
}

LogicalResult AttendFinishOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!getSink())
    return success();
  return checkHeadWeight(*this, getSinkAttr(), getState().getType().getHeads(), tables);
}
