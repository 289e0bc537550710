//===- AttnWork.cpp - what ops cost and how far back they read -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/Attn.h"
#include "dialect/Attn/Interpreter/Evaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// Work that is neither attention nor a projection.
static Work otherWork(double flops) {
  Work work;
  work.other = flops;
  return work;
}

int64_t attn::countScalarOps(Region &body) {
  return llvm::count_if(body.front().without_terminator(),
                        [](Operation &op) { return !isa<arith::ConstantOp>(op); });
}

Work LinearOp::getWork(double) {
  Work work;
  WeightOp weight = lookupWeight(*this, getWeightAttr());
  if (!weight)
    return work;
  Geometry g = getGeometry(weight);
  work.project = 2.0 * g.in * g.out * g.groups;
  return work;
}

Work RMSNormOp::getWork(double) { return otherWork(4.0 * getType().getNumFeatures()); }

Work LayerNormOp::getWork(double) { return otherWork(6.0 * getType().getNumFeatures()); }

Work HadamardOp::getWork(double) {
  // A butterfly: log2 n additions per channel, and the scale.
  double channels = getType().getChannels();
  return otherWork((std::log2(channels) + 1) * getType().getNumFeatures());
}

Work RopeOp::getWork(double) {
  return otherWork(4.0 * getType().getHeads() * getRotary().getDims());
}

Work SliceOp::getWork(double) { return {}; }

Work ConcatOp::getWork(double) { return {}; }

Work MapOp::getWork(double) {
  return otherWork(double(countScalarOps(getBody())) * getType().getNumFeatures());
}

Work RoundOp::getWork(double) { return otherWork(2.0 * getType().getNumFeatures()); }

Work ExternOp::getWork(double) { return {}; }

// Comparisons are no floating-point operations.
Work TopKOp::getWork(double) { return {}; }

Work BlockTopKOp::getWork(double) { return {}; }

Work ExpandOp::getWork(double) { return {}; }

Work CompressOp::getWork(double) {
  // Per row: a weighted sum of values; of gates, a softmax and perhaps a bias.
  double flops = 2.0 * getValues().size() * getType().getNumFeatures() +
                 (getBias() ? 4.0 : 3.0) * getGateChannels();
  return otherWork(flops * getEvery());
}

/// The most elements that the picks of a selection stand for.
static double pickedEntries(SelectionType selection) {
  return double(selection.getPicks()) * double(selection.getBlock());
}

Work ScoreOp::getWork(double context) {
  double entries = std::floor(context / getType().getEvery());
  if (getWithin())
    entries = std::min(entries, pickedEntries(cast<SelectionType>(getWithin().getType())));
  Work work;
  work.score = entries * 2.0 * getQuery().getType().getNumFeatures();
  return work;
}

HistoryUse ScoreOp::getHistoryUse(OpOperand &operand) {
  // A selection may pick any element, so `within` demands no fewer keys.
  if (operand.getOperandNumber() == getODSOperandIndexAndLength(1).first)
    return {HistoryUse::Kind::All, 0};
  return {};
}

HistoryUse CompressOp::getHistoryUse(OpOperand &operand) {
  unsigned index = operand.getOperandNumber(), values = getValues().size(), part = index;
  if (index >= values) {
    // The part that the gate belongs to.
    unsigned gate = index - values;
    for (part = 0; !getGated()[part] || gate-- != 0;)
      ++part;
  }
  return {HistoryUse::Kind::Fold, getType().getEvery() * (1 - getOffsets()[part])};
}

/// Entries of `source` that a token with `context` visible tokens sees.
static double visibleEntries(const AttendOp::Source &source, double context) {
  double entries = std::floor(context / cast<StreamType>(source.value.getType()).getEvery());
  if (source.window)
    return std::min(entries, double(source.window));
  if (!source.selection)
    return entries;
  return std::min(entries, pickedEntries(cast<SelectionType>(source.selection.getType())));
}

Work AttendOp::getWork(double context) {
  double heads = getHeads();
  double mapped = getScoreMap().empty() ? 0 : double(countScalarOps(getScoreMap()));
  Work work;
  for (const Source &source : getSources()) {
    double channels = cast<StreamType>(source.value.getType()).getChannels();
    for (Value query : source.queries)
      channels += cast<StreamType>(query.getType()).getChannels();
    double entries = visibleEntries(source, context);
    work.attend += entries * 2.0 * heads * channels;
    work.other += entries * heads * mapped;
  }
  return work;
}

HistoryUse AttendOp::getHistoryUse(OpOperand &operand) {
  unsigned index = operand.getOperandNumber(), source = 0;
  unsigned keys = getQueries().size(), values = keys + getKeys().size();
  unsigned selections = values + getValues().size();
  if (index < keys || index >= selections)
    return {};
  if (index >= values) {
    source = index - values;
  } else {
    for (unsigned part = index - keys; part >= getPartCounts()[source]; ++source)
      part -= getPartCounts()[source];
  }
  int64_t window = getWindows()[source];
  if (window > 0)
    return {HistoryUse::Kind::Window, window};
  return {HistoryUse::Kind::All, 0};
}
