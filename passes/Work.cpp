//===- Work.cpp - what a planned module costs per token --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Work.h"

#include "passes/Support/Graph.h"
#include "passes/Support/Keep.h"
#include "passes/Support/Rebuild.h"

#include <map>
#include <set>

using namespace mlir;
using namespace mlir::attn;

/// Tokens per element of an op's result; an op that has none counts per token.
static double everyOf(Operation &op) {
  if (op.getNumResults() == 1)
    if (auto type = dyn_cast<StreamType>(op.getResult(0).getType()))
      return type.getEvery();
  return 1;
}

/// FLOP per entry to compute a source's keys and value from kept rows.
static FailureOr<double> rebuildFlops(AttendOp attend, const AttendOp::Source &source) {
  SmallVector<Value> reads(source.keys);
  reads.push_back(source.value);
  FailureOr<Rebuild> rebuild = findRebuild(attend, reads);
  if (failed(rebuild))
    return failure();
  return rebuild->flops;
}

/// Entries of `source` that a chunk touches, per new token of it.
static double entriesPerToken(const AttendOp::Source &source, double context, double chunk) {
  double every = cast<StreamType>(source.value.getType()).getEvery();
  if (!source.window)
    return context / every / chunk;
  return std::min(context, source.window - 1 + chunk) / every / chunk;
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
    auto attend = dyn_cast<AttendOp>(op);
    if (!attend)
      continue;
    for (const AttendOp::Source &source : attend.getSources()) {
      FailureOr<double> flops = rebuildFlops(attend, source);
      if (failed(flops))
        return failure();
      total.rebuild += *flops * (chunk == 1 ? visibleEntries(source.value, source.window,
                                                             source.selection, context)
                                            : entriesPerToken(source, context, chunk));
    }
  }
  return success();
}

/// The kind of a layer by the visibilities of its sources.
static std::string kindOf(const std::set<std::string> &visibilities) {
  return visibilities.size() == 1 ? *visibilities.begin() : "mixed";
}

static std::vector<LayerKind> layersOf(ModelOp model) {
  std::map<int64_t, std::set<std::string>> visibilities;
  std::map<int64_t, int64_t> sources;
  for (AttendOp attend : model.getBlock().getOps<AttendOp>()) {
    int64_t layer = getLayer(attend);
    for (const AttendOp::Source &source : attend.getSources()) {
      bool pooled = cast<StreamType>(source.value.getType()).getEvery() > 1;
      visibilities[layer].insert(source.selection ? "selected"
                                 : source.window  ? "window"
                                 : pooled         ? "compressed"
                                                  : "full");
      FailureOr<Rebuild> rebuild = findRebuild(attend, {source.value});
      if (succeeded(rebuild) && !rebuild->kept.empty())
        if (FailureOr<Keep> keep = getKeep(rebuild->kept.front()); succeeded(keep))
          sources.try_emplace(layer, keep->layer);
    }
  }
  std::vector<LayerKind> layers;
  for (auto &[layer, kinds] : visibilities)
    layers.push_back({layer, kindOf(kinds), sources.count(layer) ? sources[layer] : -1});
  return layers;
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
    if (!isPrefill) {
      std::vector<LayerKind> layers = layersOf(model);
      work.layers.insert(work.layers.end(), layers.begin(), layers.end());
    }
  }
  if (!hasPrefill)
    for (ModelOp model : module.getOps<ModelOp>())
      if (failed(addForm(model, context, chunk, work.prefill)))
        return failure();
  return work;
}
