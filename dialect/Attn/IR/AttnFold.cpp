//===- AttnFold.cpp - local simplifications --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A fold never removes an op whose result is published by name (attn.trace) or
// kept (attn.keep).
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/IR/Attn.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

/// True if the result must stay the result of this very op.
static bool isPinned(Operation *op) { return op->hasAttr(kTraceAttr) || op->hasAttr(kKeepAttr); }

OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getType() == getInput().getType())
    return isPinned(*this) ? OpFoldResult() : getInput();
  auto inner = getInput().getDefiningOp<SliceOp>();
  if (!inner)
    return {};
  // A slice of a slice reads the outer input.
  setOffset(getOffset() + inner.getOffset());
  setOperand(inner.getInput());
  return getResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() != 1 || getInputs()[0].getType() != getType() || isPinned(*this))
    return {};
  return getInputs()[0];
}

OpFoldResult RoundOp::fold(FoldAdaptor) {
  if (isPinned(*this))
    return {};
  // f32 is exact: no rounding.
  if (getFormat().getFormat() == ::attnc::Format())
    return getInput();
  auto inner = getInput().getDefiningOp<RoundOp>();
  return inner && inner.getFormat() == getFormat() ? OpFoldResult(inner.getResult())
                                                   : OpFoldResult();
}

namespace {

/// A slice of a concat that covers whole parts is the concat of those parts.
struct SliceOfConcat : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp slice, PatternRewriter &rewriter) const override {
    auto concat = slice.getInput().getDefiningOp<ConcatOp>();
    if (!concat)
      return rewriter.notifyMatchFailure(slice, "input is no concat");
    int64_t begin = slice.getOffset(), end = begin + int64_t(slice.getSize()), offset = 0;
    SmallVector<Value> parts;
    int64_t covered = 0;
    for (Value part : concat.getInputs()) {
      int64_t channels = cast<StreamType>(part.getType()).getChannels();
      if (offset >= begin && offset + channels <= end) {
        parts.push_back(part);
        covered += channels;
      }
      offset += channels;
    }
    if (covered != end - begin)
      return rewriter.notifyMatchFailure(slice, "cuts a part in two");
    if (parts.size() == 1 && parts[0].getType() == slice.getType() && !isPinned(slice)) {
      rewriter.replaceOp(slice, parts[0]);
      return success();
    }
    DictionaryAttr kept = slice->getDiscardableAttrDictionary();
    auto joined = rewriter.replaceOpWithNewOp<ConcatOp>(slice, slice.getType(), parts);
    joined->setDiscardableAttrs(kept);
    return success();
  }
};

} // namespace

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SliceOfConcat>(context);
}
