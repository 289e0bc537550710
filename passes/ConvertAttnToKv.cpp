//===- ConvertAttnToKv.cpp - from a plan to caches and a step ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Both forms of a model become the bodies of one kv.step over the same caches.
//
//===----------------------------------------------------------------------===//

#include "passes/KvBody.h"
#include "passes/Support/FoldState.h"
#include "passes/Support/Graph.h"
#include "passes/Support/Streams.h"

#include "mlir/IR/OperationSupport.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTATTNTOKV
#include "passes/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

class ConvertAttnToKvPass : public attn::impl::ConvertAttnToKvBase<ConvertAttnToKvPass> {
public:
  ConvertAttnToKvPass() = default;
  ConvertAttnToKvPass(const ConvertAttnToKvOptions &options, PassReport *report = nullptr)
      : ConvertAttnToKvBase(options), report(report) {}

  void runOnOperation() override {
    Reporter reporter(getArgument(), report, remarks);
    // Converting a decode form erases its prefill form too.
    SmallVector<ModelOp> decodeForms;
    for (ModelOp model : getOperation().getOps<ModelOp>())
      if (getForm(model) == Form::Decode)
        decodeForms.push_back(model);
    for (ModelOp model : decodeForms)
      if (failed(convert(model, reporter)))
        return signalPassFailure();
    for (ModelOp model : getOperation().getOps<ModelOp>()) {
      if (getForm(model) == Form::Prefill) {
        model.emitOpError("is a prefill form without a decode form; expected one named like it, "
                          "without '")
            << kPrefillSuffix << "'";
        return signalPassFailure();
      }
    }
  }

private:
  LogicalResult convert(ModelOp decode, Reporter &reporter);
  LogicalResult declareCaches(ModelOp model, const KeptRows &rows, SymbolTable &symbols);
  LogicalResult declareCache(ModelOp model, const Keep &keep, ArrayRef<Attribute> segments,
                             SymbolTable &symbols);

  PassReport *report = nullptr;
};

/// Fails unless `prefill` keeps the streams that `decode` keeps, as the same
/// segments.
LogicalResult checkSameRows(ModelOp prefill, const KeptRows &decodeRows, const KeptRows &rows) {
  for (const auto &[name, row] : rows)
    if (!decodeRows.contains(name))
      return prefill.emitOpError("keeps cache '")
             << name << "', which the decode form does not; a prefill form adds no cache";
  for (const auto &[name, row] : decodeRows) {
    auto found = rows.find(name);
    if (found == rows.end())
      return prefill.emitOpError("does not keep cache '")
             << name << "'; expected every row that the decode form reads";
    const KeptRow &other = found->second;
    bool same = other.keep.sameCache(row.keep) && other.formats == row.formats &&
                other.streams.size() == row.streams.size();
    for (size_t i = 0; same && i < row.streams.size(); ++i)
      same = other.streams[i].getType() == row.streams[i].getType();
    if (!same)
      return prefill.emitOpError("keeps cache '")
             << name << "' with other segments or formats than the decode form";
  }
  return success();
}

} // namespace

LogicalResult ConvertAttnToKvPass::declareCaches(ModelOp model, const KeptRows &rows,
                                                 SymbolTable &symbols) {
  for (const auto &[name, row] : rows) {
    SmallVector<Attribute> segments;
    for (auto [stream, format, segment] : llvm::zip_equal(row.streams, row.formats, row.names))
      segments.push_back(kv::SegmentAttr::get(
          &getContext(), segment, cast<StreamType>(stream.getType()).getNumFeatures(),
          FormatAttr::get(&getContext(), format)));
    if (failed(declareCache(model, row.keep, segments, symbols)))
      return failure();
  }
  for (CompressOp op : model.getBlock().getOps<CompressOp>()) {
    FailureOr<Keep> state = getState(op);
    if (failed(state))
      return failure();
    auto segment = kv::SegmentAttr::get(&getContext(), state->name,
                                        op.getType().getNumFeatures(),
                                        FormatAttr::get(&getContext(), state->format));
    if (failed(declareCache(model, *state, {segment}, symbols)))
      return failure();
  }
  return success();
}

LogicalResult ConvertAttnToKvPass::declareCache(ModelOp model, const Keep &keep,
                                                ArrayRef<Attribute> segments,
                                                SymbolTable &symbols) {
  if (symbols.lookup(keep.cache))
    return model.emitOpError("keeps cache '") << keep.cache << "', whose symbol is taken";
  OpBuilder builder(model);
  bool paged = keep.kind == ::attnc::CacheKind::Paged;
  OperationState state(model.getLoc(), kv::CacheOp::getOperationName());
  kv::CacheOp::build(builder, state, builder.getStringAttr(keep.cache),
                     kv::CacheKindAttr::get(&getContext(), kv::CacheKind(keep.kind)),
                     paged ? IntegerAttr() : builder.getI64IntegerAttr(keep.rows),
                     builder.getArrayAttr(segments), builder.getI64IntegerAttr(keep.every),
                     builder.getI64IntegerAttr(keep.layer),
                     builder.getDenseI64ArrayAttr(keep.readers),
                     builder.getI64IntegerAttr(pageEntries), builder.getStringAttr(layout),
                     StringAttr());
  builder.insert(Operation::create(state));
  return success();
}

LogicalResult ConvertAttnToKvPass::convert(ModelOp decode, Reporter &reporter) {
  SymbolTable symbols(getOperation());
  auto prefill = symbols.lookup<ModelOp>((decode.getSymName() + kPrefillSuffix).str());
  FailureOr<KeptRows> rows = collectRows(decode);
  if (failed(rows))
    return failure();
  if (failed(declareCaches(decode, *rows, symbols)))
    return failure();
  OpBuilder builder(decode);
  auto step = builder.create<kv::StepOp>(decode.getLoc(), decode.getSymName(),
                                         decode.getFunctionType(), /*threshold=*/1, StringAttr());
  if (failed(buildKvBody(decode, *rows, step.getDecode())))
    return failure();
  if (prefill) {
    FailureOr<KeptRows> prefillRows = collectRows(prefill);
    if (failed(prefillRows) || failed(checkSameRows(prefill, *rows, *prefillRows)) ||
        failed(buildKvBody(prefill, *prefillRows, step.getPrefill())))
      return failure();
    if (OperationEquivalence::isRegionEquivalentTo(&step.getDecode(), &step.getPrefill(),
                                                   OperationEquivalence::IgnoreLocations)) {
      step.getPrefill().getBlocks().clear();
    } else {
      int64_t tokens = threshold > 0 ? int64_t(threshold)
                                     : chooseThreshold(step.getDecode().front(),
                                                       step.getPrefill().front(), context);
      step.setThreshold(tokens);
      reporter.note(step, "the prefill body serves sequences from " + Twine(tokens) +
                              " new tokens on: it is the cheaper one there at a context of " +
                              Twine(int64_t(context)));
    }
    prefill.erase();
  }
  decode.erase();
  reporter.count("caches", rows->size());
  int64_t rebuilds = 0;
  step.walk([&](kv::RebuildOp) { ++rebuilds; });
  reporter.count("rebuilds", rebuilds);
  reporter.count("bodies", step.getPrefill().empty() ? 1 : 2);
  return success();
}

std::unique_ptr<Pass> attn::createConvertAttnToKv(const ConvertAttnToKvOptions &options,
                                                  PassReport *report) {
  return std::make_unique<ConvertAttnToKvPass>(options, report);
}
