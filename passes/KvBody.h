//===- KvBody.h - one form of a model as a body of a step ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_PASSES_KVBODY_H
#define ATTNC_PASSES_KVBODY_H

#include "dialect/Kv/IR/Kv.h"
#include "passes/Support/Keep.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::attn {

/// The kept streams of one form by cache, in the order in which the caches first
/// appear; streams[i] is segment i of the row.
struct KeptRow {
  Keep keep; ///< of segment 0
  SmallVector<Value> streams;
  SmallVector<::attnc::Format> formats;
  SmallVector<std::string> names;
};
using KeptRows = llvm::MapVector<StringRef, KeptRow>;

/// Collects the rows of `model`; fails with a diagnostic when the segments of a
/// cache are not complete or disagree about it.
FailureOr<KeptRows> collectRows(ModelOp model);

/// Fills the empty region `body` with the ops of `model`: attention over caches,
/// appends, everything else as it is.
LogicalResult buildKvBody(ModelOp model, const KeptRows &rows, Region &body);

/// FLOP of a body at `context` visible tokens: per new token, and per step and
/// sequence whatever the number of new tokens (rows that are rebuilt).
struct BodyWork {
  double perToken = 0, perStep = 0;
};
BodyWork workOfBody(Block &body, double context);

/// The least number of new tokens for which `prefill` is the cheaper body.
int64_t chooseThreshold(Block &decode, Block &prefill, double context);

} // namespace mlir::attn

#endif // ATTNC_PASSES_KVBODY_H
