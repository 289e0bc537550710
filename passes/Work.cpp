//===- Work.cpp - what a planned module costs per token --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Work.h"

#include "passes/Support/Graph.h"
#include "passes/Support/Keep.h"
#include "passes/Support/Rebuild.h"

using namespace mlir;
using namespace mlir::attn;

/// Tokens per element of an op's result; an op that has none counts per token.
static double everyOf(Operation &op) {
  if (op.getNumResults() == 1)
    if (auto type = dyn_cast<StreamType>(op.getResult(0).getType()))
      return type.getEvery();
  return 1;
}

/// Old elements that an op reads.
struct OldRead {
  SmallVector<Value> streams; ///< of one rate and visibility
  int64_t window = 0;
  Value selection;
};

/// The sources of an attend, the keys of a score.
static SmallVector<OldRead> oldReadsOf(Operation &op) {
  SmallVector<OldRead> reads;
  if (auto attend = dyn_cast<AttendOp>(op))
    for (const AttendOp::Source &source : attend.getSources()) {
      OldRead &read = reads.emplace_back(OldRead{source.keys, source.window, source.selection});
      read.streams.push_back(source.value);
    }
  if (auto score = dyn_cast<ScoreOp>(op))
    reads.push_back({{score.getKey()}, 0, score.getWithin()});
  return reads;
}

/// FLOP per new token to compute what `read` looks at from kept rows: a decoded
/// token does it for all that it sees, those of a chunk share it.
static FailureOr<double> rebuildFlops(Operation &op, const OldRead &read, double context,
                                      int64_t chunk) {
  FailureOr<Rebuild> rebuild = findRebuild(&op, read.streams);
  if (failed(rebuild))
    return failure();
  Value stream = read.streams.front();
  if (chunk == 1)
    return rebuild->flops * visibleEntries(stream, read.window, read.selection, context);
  double present = read.window ? std::min(context, read.window - 1.0 + chunk) : context;
  return rebuild->flops * present / cast<StreamType>(stream.getType()).getEvery() / chunk;
}

/// The ops that run for each new token: not those whose results are only read
/// back from rows, where a rebuild makes them.
static DenseSet<Operation *> opsPerToken(ModelOp model) {
  DenseSet<Operation *> live;
  for (Operation &op : llvm::reverse(model.getBlock())) {
    bool runs = op.hasTrait<OpTrait::IsTerminator>() || op.hasAttr(kTraceAttr);
    for (Value result : op.getResults())
      runs |= isKept(result) || llvm::any_of(result.getUses(), [&](OpOperand &use) {
                return live.contains(use.getOwner()) &&
                       historyUse(use).kind != HistoryUse::Kind::All;
              });
    if (runs)
      live.insert(&op);
  }
  return live;
}

static LogicalResult addForm(ModelOp model, double context, int64_t chunk, FormWork &total) {
  DenseSet<Operation *> live = opsPerToken(model);
  for (Operation &op : model.getBlock()) {
    auto work = dyn_cast<WorkOpInterface>(op);
    if (!work || !live.contains(&op))
      continue;
    Work flops = work.getWork(context);
    double every = everyOf(op);
    total.attend += flops.attend / every;
    total.score += flops.score / every;
    total.project += flops.project / every;
    for (const OldRead &read : oldReadsOf(op)) {
      FailureOr<double> rebuild = rebuildFlops(op, read, context, chunk);
      if (failed(rebuild))
        return failure();
      total.rebuild += *rebuild;
    }
  }
  return success();
}

FailureOr<PlanWork> attn::workOf(ModuleOp module, double context, int64_t chunk) {
  PlanWork work;
  bool hasPrefill = false;
  for (ModelOp model : module.getOps<ModelOp>()) {
    bool isPrefill = getForm(model) == Form::Prefill;
    hasPrefill |= isPrefill;
    if (failed(addForm(model, context, isPrefill ? chunk : 1,
                       isPrefill ? work.prefill : work.decode)))
      return failure();
  }
  if (!hasPrefill)
    for (ModelOp model : module.getOps<ModelOp>())
      if (failed(addForm(model, context, chunk, work.prefill)))
        return failure();
  work.layers = layerKindsOf(module);
  return work;
}
