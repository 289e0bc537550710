//===- LayerKinds.cpp - who owns rows and picks, who reads them ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// From definitions and uses alone: sharing is one value used twice.
//
//===----------------------------------------------------------------------===//

#include "passes/Work.h"

#include "passes/Support/Graph.h"
#include "passes/Support/Keep.h"

#include <map>
#include <set>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// What is known of a layer while its model is read.
struct LayerFacts {
  std::set<std::string> far; ///< kinds of its sources without a window
  int64_t kvSource = -1, nearSource = -1, indexSource = -1;
};

/// Whose index keys and picks the layers of one model read.
class LayerSearch {
public:
  explicit LayerSearch(ModelOp model) {
    SmallVector<std::pair<int64_t, AttendOp::Source>> selected;
    for (AttendOp attend : model.getBlock().getOps<AttendOp>())
      for (const AttendOp::Source &source : attend.getSources()) {
        visit(getLayer(attend), source);
        if (source.selection)
          selected.push_back({getLayer(attend), source});
      }
    // Who shares is known only now.
    for (auto &[layer, source] : selected)
      layers[layer].far.insert(selectedKind(layer, source.selection));
  }

  std::vector<LayerKind> take() {
    std::vector<LayerKind> kinds;
    for (auto &[layer, facts] : layers) {
      std::string kind = facts.far.empty()       ? "window"
                         : facts.far.size() == 1 ? *facts.far.begin()
                                                 : "mixed";
      kinds.push_back({layer, kind, facts.kvSource >= 0 ? facts.kvSource : facts.nearSource,
                       facts.indexSource});
    }
    return kinds;
  }

private:
  void visit(int64_t layer, const AttendOp::Source &source) {
    LayerFacts &facts = layers[layer];
    int64_t writer = writerOf(source.value);
    if (source.window) {
      if (facts.nearSource < 0)
        facts.nearSource = writer;
      return;
    }
    if (facts.kvSource < 0)
      facts.kvSource = writer;
    if (!source.selection) {
      bool pooled = cast<StreamType>(source.value.getType()).getEvery() > 1;
      facts.far.insert(pooled ? "compressed" : "full");
      return;
    }
    int64_t chooser = chooserOf(source.selection), keys = keysOf(source.selection);
    if (facts.indexSource < 0)
      facts.indexSource = chooser;
    if (chooser >= 0 && chooser != layer)
      shared.insert(chooser);
    if (keys >= 0 && keys != layer)
      shared.insert(keys);
  }

  std::string selectedKind(int64_t layer, Value selection) const {
    int64_t chooser = chooserOf(selection), keys = keysOf(selection);
    if (chooser < 0)
      return "selected";
    if (chooser != layer)
      return "reuse";
    if (keys >= 0 && keys != layer)
      return "reindex";
    return shared.count(layer) ? "full-index" : "selected";
  }

  /// The layer that writes the rows that `stream` is read from, -1 if none is kept.
  static int64_t writerOf(Value stream) {
    SmallVector<Value> work = {stream};
    DenseSet<Value> visited;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (!visited.insert(value).second)
        continue;
      if (isKept(value)) {
        FailureOr<Keep> keep = getKeep(value);
        return succeeded(keep) ? keep->layer : -1;
      }
      if (Operation *op = value.getDefiningOp(); op && isRecomputable(op))
        llvm::append_range(work, llvm::reverse(op->getOperands()));
    }
    return -1;
  }

  /// The op that picked; a selection that is only counted differently is its
  /// origin's. Null for an argument of the model.
  static Operation *pickerOf(Value selection) {
    while (auto expand = selection.getDefiningOp<ExpandOp>())
      selection = expand.getInput();
    return selection.getDefiningOp();
  }

  static int64_t chooserOf(Value selection) {
    Operation *picker = pickerOf(selection);
    return picker ? getLayer(picker) : -1;
  }

  /// The layer that writes the keys by which was picked.
  static int64_t keysOf(Value selection) {
    Operation *picker = pickerOf(selection);
    auto score = picker ? picker->getOperand(0).getDefiningOp<ScoreOp>() : ScoreOp();
    return score ? writerOf(score.getKey()) : -1;
  }

  std::map<int64_t, LayerFacts> layers;
  std::set<int64_t> shared; ///< layers whose picks or index keys others read
};

} // namespace

std::vector<LayerKind> attn::layerKindsOf(ModuleOp module) {
  std::vector<LayerKind> kinds;
  for (ModelOp model : module.getOps<ModelOp>())
    if (getForm(model) == Form::Decode)
      llvm::append_range(kinds, LayerSearch(model).take());
  return kinds;
}
