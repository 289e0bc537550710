//===- VerifyForm.cpp - what the next stage assumes ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/FoldState.h"
#include "passes/Support/Graph.h"
#include "passes/Support/Keep.h"
#include "passes/Support/Rebuild.h"
#include "passes/Support/Streams.h"

namespace mlir::attn {
#define GEN_PASS_DEF_VERIFYFORM
#include "passes/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using attnc::CacheKind;

namespace {

/// From the frontend: nothing that later passes attach is there yet.
LogicalResult checkGraph(ModelOp model) {
  for (Value stream : getStreams(model))
    for (StringRef name : {StringRef(kIdAttr), StringRef(kStorageAttr), StringRef(kKeepAttr),
                           StringRef(kStateAttr)})
      if (getStreamAttr(stream, name))
        return emitError(stream.getLoc(), "expected a graph without '") << name << "'";
  return success();
}

LogicalResult checkDecoupled(ModelOp model) {
  for (AttendOp attend : model.getBlock().getOps<AttendOp>())
    for (Value key : attend.getKeys())
      if (key.getDefiningOp<ConcatOp>())
        return attend.emitOpError("reads a concatenation as keys; expected its parts");
  return success();
}

/// The caches of one model, and what their readers need of them.
class PlanCheck {
public:
  explicit PlanCheck(ModelOp model) : model(model) {}

  LogicalResult run() {
    for (Value stream : getStreams(model))
      if (isKept(stream) && failed(checkKept(stream)))
        return failure();
    for (CompressOp op : model.getBlock().getOps<CompressOp>())
      if (failed(checkState(op)))
        return failure();
    for (auto &[cache, segments] : caches)
      if (failed(checkComplete(cache, segments)))
        return failure();
    for (Operation &op : model.getBlock())
      for (OpOperand &operand : op.getOpOperands())
        if (failed(checkRead(operand)))
          return failure();
    return success();
  }

  /// Whether `other`, the other form, keeps the same streams.
  LogicalResult compare(const PlanCheck &other) const {
    for (const auto &[id, keep] : byId)
      if (other.byId.count(id) == 0 || other.byId.at(id) != keep)
        return emitError(ModelOp(model).getLoc(), "@")
               << ModelOp(model).getSymName() << " keeps " << keep << ", which @"
               << ModelOp(other.model).getSymName()
               << " does not; expected both forms to keep the same streams";
    if (states != other.states)
      return emitError(ModelOp(model).getLoc(), "@")
             << ModelOp(model).getSymName() << " and @" << ModelOp(other.model).getSymName()
             << " carry different states; expected both forms to fold the same streams";
    return success();
  }

private:
  LogicalResult checkKept(Value stream) {
    FailureOr<Keep> keep = getKeep(stream);
    if (failed(keep))
      return failure();
    auto type = dyn_cast<StreamType>(stream.getType());
    if (!type || type.getEvery() != keep->every)
      return emitError(stream.getLoc(), "a stream is kept with one entry per ")
             << keep->every << " tokens; expected the stream's own rate, its type is "
             << stream.getType();
    auto round = stream.getDefiningOp<RoundOp>();
    if (keep->format != ::attnc::Format() &&
        (!round || round.getFormat().getFormat() != keep->format))
      return emitError(stream.getLoc(), "a stream is kept as ")
             << keep->format.str() << "; expected an attn.round to that format";
    auto [it, isNew] = caches[keep->cache].try_emplace(keep->segment, *keep);
    if (!isNew)
      return emitError(stream.getLoc(), "a stream is kept as segment ")
             << keep->segment << " of " << keep->cache << ", which another stream is already";
    byId[getStreamId(stream).value_or(INT64_MAX)] =
        keep->cache + "[" + std::to_string(keep->segment) + "]";
    return success();
  }

  LogicalResult checkState(CompressOp op) {
    FailureOr<Keep> keep = getState(op);
    if (failed(keep))
      return failure();
    if (keep->format != ::attnc::Format())
      return op.emitOpError("has a state of ") << keep->format.str() << "; expected f32";
    if (!caches[keep->cache].try_emplace(keep->segment, *keep).second)
      return op.emitOpError("has a state in ")
             << keep->cache << ", which something else is already";
    states[getStreamId(op.getResult()).value_or(INT64_MAX)] = keep->cache;
    return success();
  }

  LogicalResult checkComplete(const std::string &cache,
                              const std::map<int64_t, Keep> &segments) {
    int64_t expected = 0;
    for (const auto &[segment, keep] : segments) {
      if (segment != expected++)
        return emitError(model.getLoc(), "segment ")
               << expected - 1 << " of " << cache << " is missing";
      if (!keep.sameCache(segments.begin()->second))
        return emitError(model.getLoc(), "segments 0 and ")
               << segment << " of " << cache
               << " disagree; expected one kind, rate, length, layer and list of readers";
    }
    return success();
  }

  /// Old elements of what `operand` looks back on must be kept as long as it
  /// does, or follow from such.
  LogicalResult checkRead(OpOperand &operand) {
    HistoryUse use = historyUse(operand);
    bool windowed = use.kind == HistoryUse::Kind::Window;
    if (!windowed && use.kind != HistoryUse::Kind::All)
      return success();
    Operation *reader = operand.getOwner();
    FailureOr<Rebuild> rebuild = findRebuild(reader, {operand.get()});
    if (failed(rebuild))
      return failure();
    for (Value stream : rebuild->kept) {
      FailureOr<Keep> keep = getKeep(stream);
      if (failed(keep))
        return failure();
      if (keep->kind == CacheKind::Paged)
        continue;
      bool reaches = windowed && keep->kind == CacheKind::Ring &&
                     keep->rows * keep->every >= use.size;
      if (!reaches)
        return reader->emitOpError("looks back ")
               << (windowed ? std::to_string(use.size) + " tokens" : "without end")
               << ", further than the " << keep->rows << " entries of " << keep->cache;
    }
    return success();
  }

  ModelOp model;
  std::map<std::string, std::map<int64_t, Keep>> caches;
  std::map<int64_t, std::string> byId;
  std::map<int64_t, std::string> states; ///< of ops that fold, by their results
};

class VerifyFormPass : public attn::impl::VerifyFormBase<VerifyFormPass> {
public:
  VerifyFormPass() = default;
  using VerifyFormBase::VerifyFormBase;

  void runOnOperation() override {
    if (failed(check()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult check() {
    for (ModelOp model : getOperation().getOps<ModelOp>()) {
      if (stage != Stage::Planned && failed(checkGraph(model)))
        return failure();
      if (stage != Stage::Graph && failed(checkDecoupled(model)))
        return failure();
      if (stage == Stage::Planned && getForm(model) == Form::Decode && failed(checkPlan(model)))
        return failure();
    }
    return success();
  }

  LogicalResult checkPlan(ModelOp model) {
    PlanCheck decode(model);
    if (failed(decode.run()))
      return failure();
    auto form = SymbolTable::lookupNearestSymbolFrom<ModelOp>(
        model, StringAttr::get(&getContext(), model.getSymName() + kPrefillSuffix));
    if (!form)
      return success();
    PlanCheck prefill(form);
    return success(succeeded(prefill.run()) && succeeded(decode.compare(prefill)) &&
                   succeeded(prefill.compare(decode)));
  }
};

} // namespace
