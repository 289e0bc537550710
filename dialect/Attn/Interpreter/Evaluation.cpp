//===- Evaluation.cpp - one op's operands and results in f64 ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/Interpreter/Evaluation.h"

using namespace mlir;
using namespace mlir::attn;

void SelectionValue::elements(int64_t t, int64_t group, int64_t end,
                              std::vector<int64_t> &out) const {
  for (int64_t pick : picks[t * groups + group]) {
    // A pick may begin after `end`; a block may be longer than any stream.
    int64_t first = pick * block;
    for (int64_t e = first; e < end && e - first < block; ++e)
      out.push_back(e);
  }
}

StreamValue SelectionValue::rows() const {
  StreamValue value;
  value.features = groups * entries();
  value.data.resize(tokens() * value.features);
  std::vector<int64_t> seen;
  for (int64_t t = 0; t < tokens(); ++t)
    for (int64_t group = 0; group < groups; ++group) {
      seen.clear();
      elements(t, group, (t + 1) / every, seen);
      for (int64_t e : seen)
        value.row(t)[group * entries() + e] = 1;
    }
  return value;
}

Evaluation::Evaluation(Operation *op, ::attnc::WeightSource &weights,
                       ArrayRef<int64_t> positions, ArrayRef<const GraphValue *> values,
                       MutableArrayRef<GraphValue> produced)
    : op(op), positionList(positions), weightSource(weights) {
  for (const GraphValue *value : values)
    std::visit([&](const auto &held) { operands.push_back(&held); }, *value);
  for (GraphValue &value : produced)
    std::visit([&](auto &held) { results.push_back(&held); }, value);
}

const float *Evaluation::weight(FlatSymbolRefAttr symbol) {
  WeightOp declaration = lookupWeight(op, symbol);
  if (!declaration) {
    op->emitOpError("weight ") << symbol << " is not declared";
    return nullptr;
  }
  std::string error;
  const float *data = weightSource.get(declaration.getSymName().str(),
                                       {declaration.getShape().begin(), declaration.getShape().end()},
                                       error);
  if (!data)
    op->emitOpError() << error;
  return data;
}

void Evaluation::reportNaN(int64_t t, int64_t group, int64_t entry) {
  op->emitWarning("a score is NaN and is never picked; the first is that of token ")
      << t << ", group " << group << ", element " << entry;
}
