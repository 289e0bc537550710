//===- MaterializeStorage.cpp - storage becomes part of the values ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/Graph.h"
#include "passes/Support/Keep.h"
#include "passes/Support/Streams.h"

namespace mlir::attn {
#define GEN_PASS_DEF_MATERIALIZESTORAGE
#include "passes/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// True if the stream's values are those of its stored form already.
bool isStoredAs(Value stream, const ::attnc::Format &format) {
  if (format == ::attnc::Format())
    return true;
  auto round = stream.getDefiningOp<RoundOp>();
  return round && round.getFormat().getFormat() == format;
}

class MaterializeStoragePass
    : public attn::impl::MaterializeStorageBase<MaterializeStoragePass> {
public:
  MaterializeStoragePass() = default;
  MaterializeStoragePass(const MaterializeStorageOptions &options, PassReport *report = nullptr)
      : MaterializeStorageBase(options), report(report) {}

  void runOnOperation() override {
    Reporter reporter(getArgument(), report, remarks);
    // A new op is named after the stream that it rounds, alike in both forms.
    int64_t firstId = 0;
    ids.clear();
    for (ModelOp model : getOperation().getOps<ModelOp>())
      for (Value stream : getStreams(model))
        firstId = std::max(firstId, getStreamId(stream).value_or(-1) + 1);
    for (ModelOp model : getOperation().getOps<ModelOp>())
      for (Value stream : getStreams(model))
        if (isKept(stream) && failed(materialize(stream, firstId, reporter)))
          return signalPassFailure();
  }

private:
  LogicalResult materialize(Value stream, int64_t firstId, Reporter &reporter) {
    FailureOr<Keep> keep = getKeep(stream);
    if (failed(keep))
      return failure();
    if (isStoredAs(stream, keep->format)) {
      reporter.count("streams-stored-as-they-are");
      return success();
    }
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(stream);
    auto round = builder.create<RoundOp>(stream.getLoc(), stream.getType(), stream,
                                         FormatAttr::get(&getContext(), keep->format));
    if (Operation *op = stream.getDefiningOp())
      inherit(op, round);
    else
      round->setAttr(kLayerAttr, builder.getI64IntegerAttr(keep->layer));
    // Without other ids the module has one form, and nothing to find again.
    if (std::optional<int64_t> id = getStreamId(stream); id && firstId > 0) {
      auto [it, isNew] = ids.try_emplace(*id, firstId + int64_t(ids.size()));
      round->setAttr(kIdAttr, builder.getI64IntegerAttr(it->second));
    }
    round->setAttr(kKeepAttr, getStreamAttr(stream, kKeepAttr));
    setStreamAttr(stream, kKeepAttr, nullptr);
    stream.replaceAllUsesExcept(round, round);
    reporter.applied(round, "the kept stream is rounded to " + keep->format.str() +
                                " for every reader");
    reporter.count("roundings-added");
    return success();
  }

  DenseMap<int64_t, int64_t> ids; ///< of new ops, by the stream they round
  PassReport *report = nullptr;
};

} // namespace

std::unique_ptr<Pass> attn::createMaterializeStorage(const MaterializeStorageOptions &options,
                                                     PassReport *report) {
  return std::make_unique<MaterializeStoragePass>(options, report);
}
