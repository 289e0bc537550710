//===- ShareStreams.cpp - one op for one stream ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Upstream's CSE compares all attributes, so it never merges ops of different
// layers. Sharing across layers is the point here: `layer` and the names of
// streams do not make two streams different.
//
//===----------------------------------------------------------------------===//

#include "passes/Support/Graph.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SHARESTREAMS
#include "passes/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The attributes that say what an op computes.
DictionaryAttr meaning(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase(kLayerAttr);
  attributes.erase(kIdAttr);
  attributes.erase(kTraceAttr);
  return attributes.getDictionary(op->getContext());
}

llvm::hash_code hashOf(Operation *op, DictionaryAttr attributes) {
  return llvm::hash_combine(op->getName().getAsOpaquePointer(), attributes.getAsOpaquePointer(),
                            llvm::hash_combine_range(op->operand_begin(), op->operand_end()));
}

bool haveEqualBodies(Operation *a, Operation *b) {
  for (auto [left, right] : llvm::zip_equal(a->getRegions(), b->getRegions()))
    if (!OperationEquivalence::isRegionEquivalentTo(&left, &right,
                                                    OperationEquivalence::IgnoreLocations))
      return false;
  return true;
}

class ShareStreamsPass : public attn::impl::ShareStreamsBase<ShareStreamsPass> {
public:
  ShareStreamsPass() = default;
  ShareStreamsPass(const ShareStreamsOptions &options, PassReport *report = nullptr)
      : ShareStreamsBase(options), report(report) {}

  void runOnOperation() override {
    Reporter reporter(getArgument(), report, remarks);
    for (ModelOp model : getOperation().getOps<ModelOp>()) {
      mergeEqualOps(model, reporter);
      eraseUnreadOps(model, reporter);
    }
    eraseUnreadWeights(reporter);
  }

private:
  void mergeEqualOps(ModelOp model, Reporter &reporter) {
    std::multimap<size_t, std::pair<DictionaryAttr, Operation *>> seen;
    int64_t merged = 0;
    for (Operation &op : llvm::make_early_inc_range(model.getBlock().without_terminator())) {
      if (!isPure(&op))
        continue;
      DictionaryAttr attributes = meaning(&op);
      size_t hash = hashOf(&op, attributes);
      auto [begin, end] = seen.equal_range(hash);
      Operation *first = nullptr;
      for (auto it = begin; it != end && !first; ++it)
        if (it->second.first == attributes && isSameStream(it->second.second, &op))
          first = it->second.second;
      if (!first) {
        seen.emplace(hash, std::make_pair(attributes, &op));
        continue;
      }
      merge(first, &op, reporter);
      ++merged;
    }
    reporter.count("ops-merged", merged);
  }

  /// Whether `b` is `a` again, given that their attributes agree.
  static bool isSameStream(Operation *a, Operation *b) {
    return a->getName() == b->getName() && llvm::equal(a->getOperands(), b->getOperands()) &&
           llvm::equal(a->getResultTypes(), b->getResultTypes()) &&
           (!a->hasAttr(kTraceAttr) || !b->hasAttr(kTraceAttr) ||
            a->getAttr(kTraceAttr) == b->getAttr(kTraceAttr)) &&
           haveEqualBodies(a, b);
  }

  static void merge(Operation *first, Operation *again, Reporter &reporter) {
    int64_t layer = getLayer(again);
    if (layer != getLayer(first))
      reporter.applied(again, describe(again) + " computes the stream of layer " +
                                  Twine(getLayer(first)) + " again; both read one");
    if (layer < getLayer(first))
      first->setAttr(kLayerAttr, again->getAttr(kLayerAttr));
    if (Attribute trace = again->getAttr(kTraceAttr))
      first->setAttr(kTraceAttr, trace);
    again->replaceAllUsesWith(first);
    again->erase();
  }

  static void eraseUnreadOps(ModelOp model, Reporter &reporter) {
    int64_t erased = 0;
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(model.getBlock()))) {
      if (!op.use_empty() || !isPure(&op) || op.hasTrait<OpTrait::IsTerminator>() ||
          op.hasAttr(kTraceAttr))
        continue;
      op.erase();
      ++erased;
    }
    reporter.count("ops-erased", erased);
  }

  void eraseUnreadWeights(Reporter &reporter) {
    DenseSet<StringAttr> used;
    if (auto uses = SymbolTable::getSymbolUses(&getOperation().getBodyRegion()))
      for (const SymbolTable::SymbolUse &use : *uses)
        used.insert(use.getSymbolRef().getRootReference());
    int64_t erased = 0;
    for (WeightOp weight : llvm::make_early_inc_range(getOperation().getOps<WeightOp>())) {
      if (used.contains(weight.getSymNameAttr()))
        continue;
      weight.erase();
      ++erased;
    }
    reporter.count("weights-erased", erased);
  }

  PassReport *report = nullptr;
};

} // namespace

std::unique_ptr<Pass> attn::createShareStreams(const ShareStreamsOptions &options,
                                               PassReport *report) {
  return std::make_unique<ShareStreamsPass>(options, report);
}
