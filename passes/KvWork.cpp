//===- KvWork.cpp - which body of a step serves how many new tokens ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/KvBody.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// Entries that a token with `context` visible tokens sees.
static double entriesSeen(kv::AttendPartialOp op, double context) {
  double entries = std::floor(context / op.getEvery());
  if (op.getSelection()) {
    auto type = cast<SelectionType>(op.getSelection().getType());
    return std::min(entries, double(type.getPicks()) * double(type.getBlock()));
  }
  return op.getWindow() ? std::min(entries, double(op.getWindow())) : entries;
}

static double workPerElement(Operation &op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  return work ? work.getWork(1).total() : 0;
}

/// FLOP of an entry's rebuilt rows, each rebuild counted once.
static double rebuildWork(kv::AttendPartialOp op) {
  llvm::SmallPtrSet<Operation *, 4> seen;
  SmallVector<Value> open(op.getKeys());
  open.push_back(op.getValue());
  double flops = 0;
  while (!open.empty()) {
    auto rebuild = open.pop_back_val().getDefiningOp<kv::RebuildOp>();
    if (!rebuild || !seen.insert(rebuild).second)
      continue;
    for (Operation &inner : rebuild.getBody().front().without_terminator())
      flops += workPerElement(inner);
    llvm::append_range(open, rebuild.getInputs());
  }
  return flops;
}

BodyWork attn::workOfBody(Block &body, double context) {
  BodyWork work;
  for (Operation &op : body) {
    auto partial = dyn_cast<kv::AttendPartialOp>(op);
    if (!partial) {
      work.perToken += workPerElement(op);
      continue;
    }
    // A ring's source is two partial attends that share the window.
    if (!partial.readsRows())
      continue;
    double entries = entriesSeen(partial, context);
    int64_t channels = cast<kv::StateType>(partial.getState().getType()).getChannels();
    for (Value query : partial.getQueries())
      channels += cast<StreamType>(query.getType()).getChannels();
    work.perToken += entries * 2.0 * double(partial.getHeads()) * double(channels);
    // What tokens select differs: each has its rows rebuilt.
    (partial.getSelection() ? work.perToken : work.perStep) += entries * rebuildWork(partial);
  }
  return work;
}

int64_t attn::chooseThreshold(Block &decode, Block &prefill, double context) {
  constexpr int64_t never = int64_t(1) << 30;
  BodyWork few = workOfBody(decode, context), many = workOfBody(prefill, context);
  double gain = few.perToken - many.perToken, price = many.perStep - few.perStep;
  if (gain <= 0)
    return price < 0 && gain == 0 ? 1 : never;
  double tokens = std::floor(std::max(0.0, price) / gain) + 1;
  return tokens < double(never) ? int64_t(tokens) : never;
}
