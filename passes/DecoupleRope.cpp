//===- DecoupleRope.cpp - keys in position-free and rotated parts ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// MLA as models write it concatenates a position-free key, up-projected from a
// latent, with a rotated one that all heads share. Scores are sums over
// channels, so the concatenation can be undone in the attend; then the
// position-free part is visibly linear in the latent.
//
//===----------------------------------------------------------------------===//

#include "passes/Support/Graph.h"

#include "dialect/Attn/Interpreter/Evaluation.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DECOUPLEROPE
#include "passes/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// True if `value` is read as keys or values of attends, and in no other way.
bool isReadAsRowsOnly(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUses(), [](OpOperand &use) {
    return isa<AttendOp>(use.getOwner()) && historyUse(use).kind != HistoryUse::Kind::None;
  });
}

/// An attend over concatenated keys scores their parts one by one.
struct SplitConcatenatedKeys : OpRewritePattern<AttendOp> {
  SplitConcatenatedKeys(MLIRContext *context, Reporter &reporter)
      : OpRewritePattern(context), reporter(reporter) {}

  LogicalResult matchAndRewrite(AttendOp attend, PatternRewriter &rewriter) const override {
    SmallVector<AttendOp::Source> sources = attend.getSources();
    bool changed = false;
    for (AttendOp::Source &source : sources)
      changed |= splitSource(attend, source, rewriter);
    if (!changed)
      return rewriter.notifyMatchFailure(attend, "no key is a concatenation");
    auto split = rewriter.create<AttendOp>(attend.getLoc(), attend.getType(), sources,
                                           attend.getScale().convertToDouble(),
                                           attend.getSinkAttr(), attend.getConstsAttr());
    split->setDiscardableAttrs(attend->getDiscardableAttrDictionary());
    split.getScoreMap().takeBody(attend.getScoreMap());
    rewriter.replaceOp(attend, split);
    reporter.count("keys-split");
    return success();
  }

private:
  bool splitSource(AttendOp attend, AttendOp::Source &source, PatternRewriter &rewriter) const {
    SmallVector<Value> queries, keys;
    for (auto [query, key] : llvm::zip_equal(source.queries, source.keys)) {
      auto concat = key.getDefiningOp<ConcatOp>();
      if (!concat) {
        queries.push_back(query), keys.push_back(key);
        continue;
      }
      int64_t offset = 0;
      for (Value part : concat.getInputs()) {
        int64_t channels = cast<StreamType>(part.getType()).getChannels();
        auto slice = rewriter.create<SliceOp>(attend.getLoc(), query, offset, channels);
        inherit(attend, slice);
        queries.push_back(slice), keys.push_back(part);
        offset += channels;
      }
      reporter.applied(attend, "the key is a concatenation of " +
                                   Twine(concat.getInputs().size()) +
                                   " parts; each is scored by its own slice of the query");
    }
    bool changed = keys.size() != source.keys.size();
    source.queries = queries, source.keys = keys;
    return changed;
  }

  Reporter &reporter;
};

/// Slices of a rotated stream that keep the rotated channels whole, or avoid
/// them, move before the rotation.
struct SliceBeforeRope : OpRewritePattern<RopeOp> {
  SliceBeforeRope(MLIRContext *context, Reporter &reporter)
      : OpRewritePattern(context), reporter(reporter) {}

  LogicalResult matchAndRewrite(RopeOp rope, PatternRewriter &rewriter) const override {
    SmallVector<SliceOp> slices;
    for (Operation *user : rope->getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice || !canMove(rope, slice))
        return rewriter.notifyMatchFailure(rope, "has a reader that is no such slice");
      slices.push_back(slice);
    }
    if (slices.empty())
      return failure();
    for (SliceOp slice : slices) {
      rewriter.setInsertionPoint(slice);
      auto moved = rewriter.create<SliceOp>(slice.getLoc(), rope.getInput(), slice.getOffset(),
                                            slice.getSize());
      inherit(slice, moved);
      Value result = moved;
      if (overlap(rope, slice) != 0) {
        auto rotated = rewriter.create<RopeOp>(rope.getLoc(), moved.getType(), moved,
                                               rope.getEnd(), rope.getPairing(),
                                               rope.getRotary(), rope.getInverse());
        inherit(rope, rotated);
        result = rotated;
      }
      rewriter.replaceOp(slice, result);
      reporter.count("slices-moved");
    }
    reporter.applied(rope, "slices of the rotated stream are taken before the rotation");
    rewriter.eraseOp(rope);
    return success();
  }

private:
  /// The channels that `rope` turns, as [begin, end).
  static std::pair<int64_t, int64_t> rotated(RopeOp rope) {
    int64_t channels = rope.getType().getChannels(), dims = rope.getRotary().getDims();
    if (rope.getEnd() == RotatedEnd::First)
      return {0, dims};
    return {channels - dims, channels};
  }

  /// How many rotated channels `slice` takes.
  static int64_t overlap(RopeOp rope, SliceOp slice) {
    auto [begin, end] = rotated(rope);
    int64_t first = slice.getOffset(), last = first + slice.getSize();
    return std::max<int64_t>(0, std::min(end, last) - std::max(begin, first));
  }

  static bool canMove(RopeOp rope, SliceOp slice) {
    int64_t taken = overlap(rope, slice);
    // A rotated end of the vector is the same end of a slice that holds it all.
    return !slice->hasAttr(kTraceAttr) && (taken == 0 || taken == rope.getRotary().getDims());
  }

  Reporter &reporter;
};

/// A projection read only through slices that are keys or values becomes one
/// projection per slice.
struct SplitSlicedProjection : OpRewritePattern<LinearOp> {
  SplitSlicedProjection(MLIRContext *context, Reporter &reporter)
      : OpRewritePattern(context), reporter(reporter) {}

  LogicalResult matchAndRewrite(LinearOp linear, PatternRewriter &rewriter) const override {
    SmallVector<SliceOp> slices;
    for (Operation *user : linear->getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice || slice->hasAttr(kTraceAttr) || !isReadAsRowsOnly(slice))
        return rewriter.notifyMatchFailure(linear, "has a reader that is no slice of rows");
      slices.push_back(slice);
    }
    WeightOp weight = lookupWeight(linear, linear.getWeightAttr());
    if (slices.empty() || !weight)
      return failure();
    // A slice takes channels of every head: the weight's rows divide by head.
    int64_t heads = linear.getType().getHeads(), base = 0;
    LinearOp::Geometry g = linear.getGeometry(weight);
    bool whole = g.rowCount == g.groupRows;
    if (linear.getTranspose() || (g.groups != heads && (g.groups != 1 || !whole)))
      return rewriter.notifyMatchFailure(linear, "its rows do not divide by head");
    if (!whole)
      base = g.rowBegin;
    for (SliceOp slice : slices) {
      rewriter.setInsertionPoint(linear);
      SmallVector<int64_t> rows = {base + int64_t(slice.getOffset()), int64_t(slice.getSize())};
      auto part = rewriter.create<LinearOp>(
          linear.getLoc(), slice.getType(), linear.getInput(), linear.getWeightAttr(),
          linear.getBiasAttr(), rewriter.getI64IntegerAttr(heads),
          rewriter.getDenseI64ArrayAttr(rows), /*transpose=*/nullptr);
      part->setDiscardableAttrs(slice->getDiscardableAttrDictionary());
      inherit(linear, part);
      rewriter.replaceOp(slice, part);
    }
    reporter.applied(linear, describe(linear) + " is read only in slices; it becomes " +
                                 Twine(slices.size()) + " projections of " + Twine(heads) +
                                 " groups each");
    reporter.count("projections-split");
    rewriter.eraseOp(linear);
    return success();
  }

private:
  Reporter &reporter;
};

/// Says where a rotation of whole up-projected keys stands in the way.
void reportCoupled(AttendOp attend, Reporter &reporter) {
  for (const AttendOp::Source &source : attend.getSources()) {
    for (Value key : source.keys) {
      auto rope = key.getDefiningOp<RopeOp>();
      auto linear = rope ? rope.getInput().getDefiningOp<LinearOp>() : LinearOp();
      if (!linear || rope.getRotary().getDims() != rope.getType().getChannels())
        continue;
      int64_t from = linear.getInput().getType().getNumFeatures();
      int64_t to = linear.getType().getNumFeatures();
      if (to <= from)
        continue;
      reporter.refused(rope, "attn.rope turns all " + Twine(rope.getType().getChannels()) +
                                 " channels of the keys that " + describe(linear) +
                                 " projects up from " + Twine(from) + " to " + Twine(to) +
                                 " channels: no part of them is free of the position, so the "
                                 "projection cannot move to the query side");
      reporter.count("keys-coupled");
    }
  }
}

class DecoupleRopePass : public attn::impl::DecoupleRopeBase<DecoupleRopePass> {
public:
  DecoupleRopePass() = default;
  DecoupleRopePass(const DecoupleRopeOptions &options, PassReport *report = nullptr)
      : DecoupleRopeBase(options), report(report) {}

  void runOnOperation() override {
    Reporter reporter(getArgument(), report, remarks);
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitConcatenatedKeys, SliceBeforeRope, SplitSlicedProjection>(&getContext(),
                                                                                reporter);
    SliceOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation().walk([&](AttendOp attend) { reportCoupled(attend, reporter); });
  }

private:
  PassReport *report = nullptr;
};

} // namespace

std::unique_ptr<Pass> attn::createDecoupleRope(const DecoupleRopeOptions &options,
                                               PassReport *report) {
  return std::make_unique<DecoupleRopePass>(options, report);
}
