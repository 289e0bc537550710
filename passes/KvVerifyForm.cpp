//===- KvVerifyForm.cpp - what code and executors may assume of a step ------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Kv/IR/Kv.h"
#include "passes/Passes.h"

namespace mlir::attn {
#define GEN_PASS_DEF_KVVERIFYFORM
#include "passes/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// One body of a step.
class BodyCheck {
public:
  BodyCheck(Block &block, SymbolTable &symbols) : block(block), symbols(symbols) {}

  LogicalResult run() {
    for (Operation &op : block.without_terminator())
      if (failed(checkOp(op)))
        return failure();
    for (auto cache : cast<ModuleOp>(symbols.getOp()).getOps<kv::CacheOp>())
      if (cache.getKind() == kv::CacheKind::State) {
        if (!continued.contains(cache))
          return block.getParentOp()->emitOpError("has a body that does not continue the state @")
                 << cache.getSymName() << "; expected one kv.compress of it in each body";
      } else if (!appends.count(cache))
        return block.getParentOp()->emitOpError("has a body that does not append to cache @")
               << cache.getSymName() << "; expected one append in each body";
    return success();
  }

private:
  kv::CacheOp cacheOf(StringRef symbol) { return symbols.lookup<kv::CacheOp>(symbol); }

  LogicalResult checkOp(Operation &op) {
    if (auto append = dyn_cast<kv::AppendOp>(op))
      return checkAppend(append);
    if (auto read = dyn_cast<kv::ReadOp>(op))
      return checkRead(read);
    if (auto partial = dyn_cast<kv::AttendPartialOp>(op))
      return failure(failed(checkState(op)) ||
                     failed(checkSource(partial, sourceOf(partial), partial.getWindow())));
    if (auto pooling = dyn_cast<kv::CompressOp>(op)) {
      if (continued.insert(cacheOf(pooling.getState())).second)
        return success();
      return op.emitOpError("continues ") << pooling.getStateAttr()
                                          << " a second time; expected once in each body";
    }
    if (auto topK = dyn_cast<kv::TopKOp>(op))
      return checkSource(topK, {topK.getKey()}, 0);
    if (isa<kv::AttendInitOp>(op))
      return checkState(op);
    if (isa<kv::AttendFinishOp, kv::RebuildOp>(op))
      return success();
    if (isa<HistoryOpInterface>(op))
      return op.emitOpError("reads history inside a step; expected ops on rows");
    if (!isa<EvaluateOpInterface>(op))
      return op.emitOpError("is not allowed in a step; expected ops of kv and per-token ops of "
                            "attn");
    return success();
  }

  LogicalResult checkAppend(kv::AppendOp append) {
    auto [it, isNew] = appends.try_emplace(cacheOf(append.getCache()), append);
    if (isNew)
      return success();
    InFlightDiagnostic diagnostic = append.emitOpError("appends to ")
                                    << append.getCacheAttr()
                                    << " a second time; expected one append in each body";
    diagnostic.attachNote(it->second.getLoc()) << "the first append";
    return diagnostic;
  }

  /// All reads of a segment see it in one shape, so that equal bytes are equal
  /// rows.
  LogicalResult checkRead(kv::ReadOp read) {
    auto [it, isNew] =
        shapes.try_emplace({read.getCacheAttr(), int64_t(read.getSegment())}, read.getType());
    if (isNew || it->second == read.getType())
      return success();
    return read.emitOpError("reads a segment as ")
           << read.getType() << " that is read as " << it->second << " before; expected one shape";
  }

  /// A state is passed on, not copied.
  LogicalResult checkState(Operation &op) {
    if (op.getResult(0).hasOneUse())
      return success();
    return op.emitOpError("has a state with ")
           << std::distance(op.getResult(0).use_begin(), op.getResult(0).use_end())
           << " uses; expected one";
  }

  /// The rows that an attend reads.
  static SmallVector<Value> sourceOf(kv::AttendPartialOp partial) {
    SmallVector<Value> rows;
    if (partial.readsRows()) {
      llvm::append_range(rows, partial.getKeys());
      rows.push_back(partial.getValue());
    }
    return rows;
  }

  /// Checks what `open`, rows that `reader` reads, come from. A window of 0 means
  /// all entries, or those that a selection picks among them.
  LogicalResult checkSource(Operation *reader, SmallVector<Value> open, int64_t window) {
    std::optional<kv::CacheKind> kind;
    while (!open.empty()) {
      Operation *op = open.pop_back_val().getDefiningOp();
      if (auto rebuild = dyn_cast<kv::RebuildOp>(op)) {
        llvm::append_range(open, rebuild.getInputs());
        continue;
      }
      auto read = cast<kv::ReadOp>(op);
      kv::CacheOp cache = cacheOf(read.getCache());
      if (kind && *kind != cache.getKind())
        return reader->emitOpError("reads rows of a ")
               << stringifyCacheKind(*kind) << " cache and of a "
               << stringifyCacheKind(cache.getKind()) << " cache; expected one kind";
      kind = cache.getKind();
      if (failed(checkOrder(reader, window, cache)))
        return failure();
    }
    return success();
  }

  LogicalResult checkOrder(Operation *reader, int64_t window, kv::CacheOp cache) {
    bool appended = appends.count(cache);
    if (cache.getKind() == kv::CacheKind::State)
      return reader->emitOpError("reads @")
             << cache.getSymName() << ", which is a state; expected pages or a ring";
    if (cache.getKind() == kv::CacheKind::Paged && !appended)
      return reader->emitOpError("reads @")
             << cache.getSymName() << " before it is appended to; expected pages to hold the "
             << "chunk's own rows first";
    if (cache.getKind() != kv::CacheKind::Ring)
      return success();
    if (appended)
      return reader->emitOpError("reads @")
             << cache.getSymName() << " after it is appended to; expected a ring to be written "
             << "after its last reader";
    int64_t rows = *cache.getRows();
    if (window == 0 || window > rows)
      return reader->emitOpError("sees ")
             << (window ? std::to_string(window) : "all") << " tokens of @" << cache.getSymName()
             << "; the ring keeps " << rows;
    return success();
  }

  Block &block;
  SymbolTable &symbols;
  DenseMap<Operation *, kv::AppendOp> appends;
  DenseSet<Operation *> continued; ///< states
  DenseMap<std::pair<Attribute, int64_t>, kv::RowsType> shapes;
};

class KvVerifyFormPass : public attn::impl::KvVerifyFormBase<KvVerifyFormPass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto model : module.getOps<ModelOp>()) {
      model.emitOpError("is left beside the step; expected it to be converted");
      return signalPassFailure();
    }
    SmallVector<kv::StepOp> steps(module.getOps<kv::StepOp>());
    if (steps.size() != 1) {
      module.emitError("found ") << steps.size() << " kv.step ops; expected one";
      return signalPassFailure();
    }
    for (Region &region : steps.front()->getRegions())
      if (!region.empty() && failed(BodyCheck(region.front(), symbols).run()))
        return signalPassFailure();
  }
};

} // namespace
