//===- Graph.cpp - questions that several passes ask of a graph ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/Graph.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

Form attn::getForm(ModelOp model) {
  auto form = model->getAttrOfType<StringAttr>(kFormAttr);
  return form && form.getValue() == "prefill" ? Form::Prefill : Form::Decode;
}

HistoryUse attn::historyUse(OpOperand &operand) {
  auto history = dyn_cast<HistoryOpInterface>(operand.getOwner());
  return history ? history.getHistoryUse(operand) : HistoryUse();
}

bool attn::readsHistory(Operation *op) {
  return llvm::any_of(op->getOpOperands(), [](OpOperand &operand) {
    return historyUse(operand).kind != HistoryUse::Kind::None;
  });
}

bool attn::isRecomputable(Operation *op) {
  // What the caller supplies is not ours to run again.
  return !isa<ExternOp>(op) && !readsHistory(op) && isPure(op);
}

double attn::visibleEntries(Value value, int64_t window, Value selection, double context) {
  double entries = std::floor(context / cast<StreamType>(value.getType()).getEvery());
  if (window)
    return std::min(entries, double(window));
  if (!selection)
    return entries;
  auto type = cast<SelectionType>(selection.getType());
  return std::min(entries, double(type.getPicks()) * double(type.getBlock()));
}

void attn::inherit(Operation *origin, Operation *created) {
  for (StringRef name : {StringRef(kLayerAttr), StringRef(kStorageAttr)})
    if (Attribute value = origin->getAttr(name))
      created->setAttr(name, value);
}

std::string attn::describe(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto linear = dyn_cast<LinearOp>(op))
    text += " by @" + linear.getWeight().str();
  return text;
}
