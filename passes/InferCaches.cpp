//===- InferCaches.cpp - the KV cache as a minimum cut ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What history operands read decides what is needed; the cut (Support/CutProblem)
// decides what of it is kept; readers and rates decide what lies in one row
// (Support/Rows). Done in phases, the longest lifetime first: what an earlier
// phase keeps is free for the later ones. Ops that fold their history read no
// old elements; each gets a state (Support/FoldState).
//
//===----------------------------------------------------------------------===//

#include "passes/Support/CutProblem.h"
#include "passes/Support/FoldState.h"
#include "passes/Support/Graph.h"
#include "passes/Support/Rows.h"
#include "passes/Support/Streams.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_INFERCACHES
#include "passes/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using attnc::CacheKind;

namespace {

/// Operands that are read as far back, and what is done about them.
struct Phase {
  int64_t window; ///< in tokens; 0: the whole history
  SmallVector<Value> needs;
  CutAnswer answer;
};

/// The phases of a model in their order: the whole history, then windows, the
/// widest first.
class Phases {
public:
  void collect(ModelOp model) {
    std::map<int64_t, SmallVector<Value>, std::greater<int64_t>> windows;
    SmallVector<Value> all;
    for (Operation &op : model.getBlock())
      for (OpOperand &operand : op.getOpOperands()) {
        HistoryUse use = historyUse(operand);
        if (use.kind == HistoryUse::Kind::All)
          all.push_back(operand.get());
        else if (use.kind == HistoryUse::Kind::Window)
          windows[use.size].push_back(operand.get());
      }
    if (!all.empty())
      list.push_back({0, std::move(all), {}});
    for (auto &[window, needs] : windows)
      list.push_back({window, std::move(needs), {}});
  }

  LogicalResult solve(const CutProblem &problem) {
    DenseSet<Value> free;
    for (Phase &phase : list) {
      FailureOr<CutAnswer> answer = problem.solve(phase.needs, free);
      if (failed(answer))
        return failure();
      phase.answer = std::move(*answer);
      for (Value stream : phase.answer.kept)
        if (free.insert(stream).second)
          lifetimes[stream] = phase.window;
    }
    return success();
  }

  const CutAnswer &answerFor(HistoryUse use) const {
    int64_t window = use.kind == HistoryUse::Kind::All ? 0 : use.size;
    return llvm::find_if(list, [&](const Phase &phase) { return phase.window == window; })->answer;
  }

  /// The window for which a kept stream is kept, 0 for ever.
  int64_t lifetime(Value stream) const { return lifetimes.lookup(stream); }

private:
  SmallVector<Phase> list;
  DenseMap<Value, int64_t> lifetimes;
};

/// Finds who reads which kept stream, and how.
class ReaderSearch {
public:
  ReaderSearch(ModelOp model, const Phases &phases) : phases(phases) {
    for (Operation &op : model.getBlock())
      for (OpOperand &operand : op.getOpOperands())
        if (HistoryUse use = historyUse(operand);
            use.kind == HistoryUse::Kind::All || use.kind == HistoryUse::Kind::Window)
          follow(operand, phases.answerFor(use));
  }

  SmallVector<KeptStream> take() {
    SmallVector<KeptStream> streams;
    for (auto &entry : found)
      streams.push_back(std::move(entry.second));
    return streams;
  }

private:
  /// From what `operand` reads down to the kept streams it is made of.
  void follow(OpOperand &operand, const CutAnswer &answer) {
    SmallVector<Value> work = {operand.get()};
    DenseSet<Value> visited;
    while (!work.empty()) {
      Value stream = work.pop_back_val();
      if (!visited.insert(stream).second)
        continue;
      if (answer.recomputed.contains(stream))
        llvm::append_range(work, llvm::reverse(stream.getDefiningOp()->getOperands()));
      else
        record(stream, operand);
    }
  }

  void record(Value stream, OpOperand &operand) {
    KeptStream &kept = found[stream];
    kept.stream = stream;
    kept.readers.insert(operand.getOwner());
    if (int64_t window = phases.lifetime(stream)) {
      int64_t every = cast<StreamType>(stream.getType()).getEvery();
      kept.kind = CacheKind::Ring;
      kept.rows = (window + every - 1) / every;
    }
    auto attend = dyn_cast<AttendOp>(operand.getOwner());
    bool direct = operand.get() == stream, isKey = true;
    if (attend) {
      isKey = operand.getOperandNumber() < attend.getQueries().size() + attend.getKeys().size();
      kept.isPart |= attend.getKeys().size() > attend.getValues().size();
    }
    (direct ? isKey ? kept.isKey : kept.isValue : isKey ? kept.feedsKey : kept.feedsValue) = true;
  }

  const Phases &phases;
  llvm::MapVector<Value, KeptStream> found;
};

class InferCachesPass : public attn::impl::InferCachesBase<InferCachesPass> {
public:
  InferCachesPass() = default;
  InferCachesPass(const InferCachesOptions &options, PassReport *report = nullptr)
      : InferCachesBase(options), report(report) {}

  void runOnOperation() override {
    if (balance <= 0) {
      emitError(getOperation().getLoc(), "expected a positive balance, found ") << int64_t(balance);
      return signalPassFailure();
    }
    llvm::StringSet<> names;
    for (ModelOp model : getOperation().getOps<ModelOp>())
      if (getForm(model) == Form::Decode && failed(plan(model, names)))
        return signalPassFailure();
    for (ModelOp model : getOperation().getOps<ModelOp>())
      for (Value stream : getStreams(model))
        setStreamAttr(stream, kStorageAttr, nullptr);
  }

private:
  LogicalResult plan(ModelOp model, llvm::StringSet<> &names) {
    auto prefill = SymbolTable::lookupNearestSymbolFrom<ModelOp>(
        model, StringAttr::get(&getContext(), model.getSymName() + kPrefillSuffix));
    FailureOr<CutProblem> problem =
        CutProblem::create(model, cut, balance, /*needsIdentity=*/bool(prefill));
    if (failed(problem))
      return failure();
    Phases phases;
    phases.collect(model);
    if (failed(phases.solve(*problem)))
      return failure();
    SmallVector<KeptStream> streams = ReaderSearch(model, phases).take();
    SmallVector<Keep> keeps = formRows(model, streams, names);
    DenseMap<int64_t, Value> twins;
    if (prefill)
      twins = getStreamsById(prefill);
    for (auto [kept, keep] : llvm::zip_equal(streams, keeps)) {
      DictionaryAttr attribute = keep.toAttr(&getContext());
      setStreamAttr(kept.stream, kKeepAttr, attribute);
      if (Value twin = twins.lookup(getStreamId(kept.stream).value_or(-1)))
        setStreamAttr(twin, kKeepAttr, attribute);
    }
    explain(model, streams, keeps);
    return planStates(model, twins, names);
  }

  /// Gives each op that folds its history a state, and its twin the same.
  LogicalResult planStates(ModelOp model, const DenseMap<int64_t, Value> &twins,
                           llvm::StringSet<> &names) {
    Reporter reporter(getArgument(), report, remarks);
    uint64_t bytes = 0, openBytes = 0;
    for (CompressOp op : model.getBlock().getOps<CompressOp>()) {
      FailureOr<FoldState> state = foldStateOf(op);
      if (failed(state))
        return failure();
      Keep keep = placeState(op, *state, names);
      op->setAttr(kStateAttr, keep.toAttr(&getContext()));
      if (Value twin = twins.lookup(getStreamId(op.getResult()).value_or(-1)))
        twin.getDefiningOp()->setAttr(kStateAttr, keep.toAttr(&getContext()));
      reporter.applied(op, keep.cache + " keeps " + Twine(keep.rows) + " x " +
                               Twine(state->channels) + " x f32, " + Twine(state->bytes()) +
                               " bytes: a running softmax (acc, max, sum) of each open block; " +
                               "the " + Twine(state->openRows) + " open rows of values and gates " +
                               "would be " + Twine(state->openBytes) + " bytes");
      reporter.count("fold-states");
      bytes = llvm::SaturatingAdd<uint64_t>(bytes, state->bytes());
      openBytes = llvm::SaturatingAdd<uint64_t>(openBytes, state->openBytes);
    }
    if (bytes)
      reporter.note(model, "fold states take " + Twine(bytes) +
                               " bytes per sequence; open rows of values and gates would take " +
                               Twine(openBytes));
    return success();
  }


  void explain(ModelOp model, ArrayRef<KeptStream> streams, ArrayRef<Keep> keeps) {
    Reporter reporter(getArgument(), report, remarks);
    for (auto [kept, keep] : llvm::zip_equal(streams, keeps)) {
      int64_t channels = cast<StreamType>(kept.stream.getType()).getNumFeatures();
      bool direct = kept.isKey || kept.isValue;
      std::string text = keep.cache + " keeps " + keep.name + ", " + std::to_string(channels) +
                         " x " + keep.format.str() + ", ";
      text += keep.kind == CacheKind::Ring
                  ? "the newest " + std::to_string(keep.rows) + " entries"
                  : std::string("every entry");
      if (!direct)
        text += "; what is read is computed from it again";
      Operation *op = kept.stream.getDefiningOp();
      reporter.applied(op ? op : model, text);
      reporter.count(keep.kind == CacheKind::Ring ? "streams-in-rings" : "streams-paged");
    }
  }

  PassReport *report = nullptr;
};

} // namespace

std::unique_ptr<Pass> attn::createInferCaches(const InferCachesOptions &options,
                                              PassReport *report) {
  return std::make_unique<InferCachesPass>(options, report);
}
