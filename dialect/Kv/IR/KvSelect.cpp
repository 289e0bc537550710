//===- KvSelect.cpp - selection over rows ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Kv/IR/Kv.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kv;
using attn::SelectionType;
using attn::StreamType;

/// Fails unless query and key fit each other and the result's groups.
static LogicalResult checkKeys(TopKOp op) {
  StreamType query = op.getQuery().getType();
  RowsType key = op.getKey().getType();
  if (query.getEvery() != 1)
    return op.emitOpError("expected a query with one element per token, found ") << query;
  if (query.getChannels() != key.getChannels())
    return op.emitOpError("query has ") << query.getChannels() << " channels per head, its key "
                                        << key.getChannels();
  if (query.getHeads() % key.getHeads() != 0)
    return op.emitOpError("key has ") << key.getHeads() << " heads, which does not divide the "
                                      << query.getHeads() << " heads of the query";
  int64_t groups = op.getType().getGroups();
  if (query.getHeads() % groups != 0)
    return op.emitOpError("result has ") << groups << " groups, which does not divide the "
                                         << query.getHeads() << " heads of the query";
  if (!op.getWeights())
    return success();
  auto weights = cast<StreamType>(op.getWeights().getType());
  if (weights.getEvery() != 1 || weights.getNumFeatures() != query.getHeads())
    return op.emitOpError("expected weights with one channel per head, ")
           << query.getHeads() << ", for every token, found " << weights;
  return success();
}

static LogicalResult checkWithin(TopKOp op) {
  if (!op.getWithin())
    return success();
  auto within = cast<SelectionType>(op.getWithin().getType());
  SelectionType result = op.getType();
  if (within.getEvery() != result.getEvery())
    return op.emitOpError("'within' picks entries every ")
           << within.getEvery() << " tokens, the keys are one every " << result.getEvery();
  if (result.getGroups() % within.getGroups() != 0)
    return op.emitOpError("'within' has ") << within.getGroups()
                                           << " groups, which does not divide the "
                                           << result.getGroups() << " groups of the result";
  return success();
}

LogicalResult TopKOp::verify() {
  if (!std::isfinite(getScale().convertToDouble()))
    return emitOpError("expected a finite 'scale', found ") << getScale().convertToDouble();
  int64_t block = getBlock(), first = getPinFirst(), newest = getPinNewest();
  SelectionType result = getType();
  int64_t picks = result.getPicks();
  if (block <= 0)
    return emitOpError("expected a positive 'block', found ") << block;
  if (first < 0 || newest < 0)
    return emitOpError("expected to pin 0 or more blocks, found ") << std::min(first, newest);
  if (first > picks || newest > picks - first)
    return emitOpError("pins the first ") << first << " and the newest " << newest
                                          << " blocks; it picks only " << picks;
  auto expected = SelectionType::get(getContext(), picks, getKey().getType().getEvery(),
                                     result.getGroups(), block);
  if (result != expected)
    return emitOpError("expected a result of type ") << expected << ", found " << result;
  return failure(failed(checkKeys(*this)) || failed(checkWithin(*this)));
}
