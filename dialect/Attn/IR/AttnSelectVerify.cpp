//===- AttnSelectVerify.cpp - what a compression or a selection may be ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Local verifiers. What needs a weight's declaration is in AttnWeights.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/IR/Attn.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

LogicalResult LayerNormOp::verify() {
  double eps = getEps().convertToDouble();
  if (!std::isfinite(eps) || eps < 0)
    return emitOpError("expected a finite 'eps' of 0 or more, found ") << eps;
  return success();
}

LogicalResult HadamardOp::verify() {
  int64_t channels = getType().getChannels();
  if (!llvm::isPowerOf2_64(channels))
    return emitOpError("transforms a last axis of ") << channels
                                                     << " channels; expected a power of two";
  return success();
}

//===----------------------------------------------------------------------===//
// compress
//===----------------------------------------------------------------------===//

/// Fails unless the lists of parts fit together. Until then getParts() must not
/// be called.
static LogicalResult checkSegments(CompressOp op) {
  size_t parts = op.getValues().size();
  if (parts == 0)
    return op.emitOpError("expected at least one part");
  if (op.getOffsets().size() != parts || op.getGated().size() != parts)
    return op.emitOpError("has ") << parts << " values, " << op.getOffsets().size()
                                  << " offsets and " << op.getGated().size()
                                  << " flags for gates; expected one of each per part";
  size_t gates = llvm::count(op.getGated(), true);
  if (op.getGates().size() != gates)
    return op.emitOpError("has ") << op.getGates().size() << " gates for " << gates
                                  << " parts that are gated";
  return success();
}

static LogicalResult checkPart(CompressOp op, const CompressOp::Part &part) {
  StreamType result = op.getType();
  auto value = cast<StreamType>(part.value.getType());
  int64_t every = op.getEvery(), span;
  if (value.getShape() != result.getShape())
    return op.emitOpError("pools ") << value << "; expected the features of the result " << result;
  if (value.getEvery() > result.getEvery() / every ||
      value.getEvery() * every != result.getEvery())
    return op.emitOpError("makes one element of ")
           << every << "; a part with one element every " << value.getEvery()
           << " tokens does not give the result " << result;
  if (part.offset > 0)
    return op.emitOpError("reads the block at ")
           << part.offset << ", which is later; expected an offset of 0 or less";
  if (part.offset < -(int64_t(1) << 31) ||
      __builtin_mul_overflow(result.getEvery(), 1 - part.offset, &span) ||
      span > (int64_t(1) << 31))
    return op.emitOpError("reads back ") << part.offset << " blocks of " << result.getEvery()
                                         << " tokens; expected at most 2^31 tokens";
  if (!part.gate)
    return success();
  auto gate = cast<StreamType>(part.gate.getType());
  if (gate.getEvery() != value.getEvery())
    return op.emitOpError("gate has one element every ")
           << gate.getEvery() << " tokens, its value one every " << value.getEvery();
  if (gate.getNumFeatures() != value.getNumFeatures() && gate.getNumFeatures() != 1)
    return op.emitOpError("gate has ") << gate.getNumFeatures() << " channels; expected "
                                       << value.getNumFeatures()
                                       << " like its value, or 1 for all";
  return success();
}

LogicalResult CompressOp::verify() {
  if (int64_t(getEvery()) <= 0)
    return emitOpError("expected a positive 'every', found ") << int64_t(getEvery());
  if (failed(checkSegments(*this)))
    return failure();
  for (const Part &part : getParts())
    if (failed(checkPart(*this, part)))
      return failure();
  if (getBias() && getGates().empty())
    return emitOpError("'bias' is added to gates; found parts without any");
  return success();
}

//===----------------------------------------------------------------------===//
// score
//===----------------------------------------------------------------------===//

static LogicalResult checkKeys(ScoreOp op) {
  StreamType query = op.getQuery().getType(), key = op.getKey().getType();
  if (query.getEvery() != 1)
    return op.emitOpError("expected a query with one element per token, found ") << query;
  if (query.getChannels() != key.getChannels())
    return op.emitOpError("query has ") << query.getChannels() << " channels per head, its key "
                                        << key.getChannels();
  if (query.getHeads() % key.getHeads() != 0)
    return op.emitOpError("key has ") << key.getHeads() << " heads, which does not divide the "
                                      << query.getHeads() << " heads of the query";
  if (op.getType().getEvery() != key.getEvery())
    return op.emitOpError("scores elements every ")
           << key.getEvery() << " tokens, its result has one score every "
           << op.getType().getEvery();
  if (query.getHeads() % op.getType().getGroups() != 0)
    return op.emitOpError("result has ") << op.getType().getGroups()
                                         << " groups, which does not divide the "
                                         << query.getHeads() << " heads of the query";
  return success();
}

static LogicalResult checkWithin(ScoreOp op) {
  if (!op.getWithin())
    return success();
  auto within = cast<SelectionType>(op.getWithin().getType());
  ScoresType scores = op.getType();
  if (within.getEvery() != scores.getEvery())
    return op.emitOpError("'within' picks elements every ")
           << within.getEvery() << " tokens, the keys have one every " << scores.getEvery();
  if (scores.getGroups() % within.getGroups() != 0)
    return op.emitOpError("'within' has ") << within.getGroups()
                                           << " groups, which does not divide the "
                                           << scores.getGroups() << " groups of the result";
  return success();
}

LogicalResult ScoreOp::verify() {
  if (!std::isfinite(getScale().convertToDouble()))
    return emitOpError("expected a finite 'scale', found ") << getScale().convertToDouble();
  if (failed(checkKeys(*this)) || failed(checkWithin(*this)))
    return failure();
  if (!getWeights())
    return success();
  auto weights = cast<StreamType>(getWeights().getType());
  int64_t heads = getQuery().getType().getHeads();
  if (weights.getEvery() != 1 || weights.getNumFeatures() != heads)
    return emitOpError("expected weights with one channel per head, ")
           << heads << ", for every token, found " << weights;
  return success();
}

//===----------------------------------------------------------------------===//
// top_k, block_top_k, expand
//===----------------------------------------------------------------------===//

/// Fails unless `selection` picks blocks of `block` of the elements that have
/// `scores`.
static LogicalResult checkSelection(Operation *op, ScoresType scores, SelectionType selection,
                                    int64_t block) {
  auto expected = SelectionType::get(op->getContext(), selection.getPicks(), scores.getEvery(),
                                     scores.getGroups(), block);
  if (selection == expected)
    return success();
  return op->emitOpError("expected a result of type ") << expected << ", found " << selection;
}

LogicalResult TopKOp::verify() {
  return checkSelection(*this, getScores().getType(), getType(), 1);
}

LogicalResult BlockTopKOp::verify() {
  int64_t block = getBlock(), first = getPinFirst(), newest = getPinNewest();
  int64_t picks = getType().getPicks();
  if (block <= 0)
    return emitOpError("expected a positive 'block', found ") << block;
  if (first < 0 || newest < 0)
    return emitOpError("expected to pin 0 or more blocks, found ") << std::min(first, newest);
  if (first > picks || newest > picks - first)
    return emitOpError("pins the first ") << first << " and the newest " << newest
                                          << " blocks; it picks only " << picks;
  return checkSelection(*this, getScores().getType(), getType(), block);
}

LogicalResult ExpandOp::verify() {
  SelectionType input = getInput().getType(), result = getType();
  int64_t every = result.getEvery(), block;
  if (input.getEvery() % every != 0)
    return emitOpError("makes picks of elements every ")
           << every << " tokens from picks every " << input.getEvery()
           << "; expected a rate that divides it";
  if (__builtin_mul_overflow(input.getBlock(), input.getEvery() / every, &block))
    return emitOpError("makes blocks that are too large of ") << input;
  auto expected =
      SelectionType::get(getContext(), input.getPicks(), every, input.getGroups(), block);
  if (result != expected)
    return emitOpError("expected a result of type ") << expected << ", found " << result;
  return success();
}
