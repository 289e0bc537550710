//===- ChooseStorage.cpp - the price of keeping a stream -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/Graph.h"
#include "passes/Support/Streams.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CHOOSESTORAGE
#include "passes/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

class ChooseStoragePass : public attn::impl::ChooseStorageBase<ChooseStoragePass> {
public:
  ChooseStoragePass() = default;
  ChooseStoragePass(const ChooseStorageOptions &options, PassReport *report = nullptr)
      : ChooseStorageBase(options), report(report) {}

  void runOnOperation() override {
    std::optional<::attnc::Format> format = chosenFormat();
    if (!format) {
      emitError(getOperation().getLoc(), "unknown storage format '")
          << std::string(defaultFormat)
          << "'; expected for example 'bf16' or 'e4m3 block 64 scale e8m0'";
      return signalPassFailure();
    }
    Reporter reporter(getArgument(), report, remarks);
    auto chosen = FormatAttr::get(&getContext(), *format);
    for (ModelOp model : getOperation().getOps<ModelOp>()) {
      if (storage != Storage::Published)
        dropRoundings(model, reporter);
      for (Value stream : getStreams(model)) {
        if (!isa<StreamType>(stream.getType()))
          continue;
        auto round = stream.getDefiningOp<RoundOp>();
        setStreamAttr(stream, kStorageAttr, round ? round.getFormat() : chosen);
        reporter.count(round ? "streams-rounded" : "streams-by-default");
      }
    }
  }

private:
  /// The format of streams that have no rounding.
  std::optional<::attnc::Format> chosenFormat() {
    if (storage == Storage::Exact)
      return ::attnc::Format();
    if (storage == Storage::BF16)
      return ::attnc::parseFormat("bf16");
    return ::attnc::parseFormat(defaultFormat);
  }

  /// The storage takes the place of the roundings that the model came with.
  void dropRoundings(ModelOp model, Reporter &reporter) {
    auto exact = FormatAttr::get(&getContext(), ::attnc::Format());
    for (RoundOp round : llvm::make_early_inc_range(model.getBlock().getOps<RoundOp>())) {
      reporter.applied(round, "rounding to " + round.getFormat().getFormat().str() +
                                  " gives way to the chosen storage");
      reporter.count("roundings-dropped");
      // A traced result keeps its op, which then rounds nothing.
      round.setFormatAttr(exact);
      if (round->hasAttr(kTraceAttr))
        continue;
      round.replaceAllUsesWith(round.getInput());
      round.erase();
    }
  }

  PassReport *report = nullptr;
};

} // namespace

std::unique_ptr<Pass> attn::createChooseStorage(const ChooseStorageOptions &options,
                                                PassReport *report) {
  return std::make_unique<ChooseStoragePass>(options, report);
}
