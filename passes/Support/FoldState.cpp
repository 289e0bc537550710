//===- FoldState.cpp - what an op that folds its history carries -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/FoldState.h"

using namespace mlir;
using namespace mlir::attn;

/// acc, max and sum of one open block.
static constexpr int64_t kRowsPerBlock = 3;

FailureOr<FoldState> attn::foldStateOf(CompressOp op) {
  FoldState state;
  state.channels = op.getType().getNumFeatures();
  // Of the other form: channels of a token, and how far back tokens stay open.
  int64_t open = op.getGateChannels();
  bool overflow = false;
  for (const CompressOp::Part &part : op.getParts()) {
    int64_t blocks, rows, tokens;
    overflow |= __builtin_sub_overflow(int64_t(1), part.offset, &blocks);
    overflow |= __builtin_mul_overflow(blocks, kRowsPerBlock, &rows);
    overflow |= __builtin_add_overflow(state.rows, rows, &state.rows);
    overflow |= __builtin_mul_overflow(blocks, int64_t(op.getEvery()), &tokens);
    overflow |= __builtin_add_overflow(open, state.channels, &open);
    state.openRows = std::max(state.openRows, tokens);
  }
  int64_t bytes;
  overflow |= __builtin_mul_overflow(state.rows, state.channels, &bytes);
  overflow |= __builtin_mul_overflow(bytes, int64_t(sizeof(float)), &bytes);
  overflow |= __builtin_mul_overflow(open, int64_t(sizeof(float)), &open);
  overflow |= __builtin_mul_overflow(open, state.openRows, &state.openBytes);
  if (overflow)
    return op.emitOpError("needs a state whose size does not fit 64 bits");
  return state;
}

FailureOr<Keep> attn::getState(CompressOp op) {
  FailureOr<Keep> keep = parseKeep(op->getAttr(kStateAttr), kStateAttr, op.getLoc());
  FailureOr<FoldState> state = foldStateOf(op);
  if (failed(keep) || failed(state))
    return failure();
  if (keep->kind != ::attnc::CacheKind::State || keep->rows != state->rows)
    return op.emitOpError("has a state of ")
           << keep->rows << " rows of kind " << StringRef(::attnc::stringify(keep->kind))
           << "; expected " << state->rows << " of kind state";
  return keep;
}
