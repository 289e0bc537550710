//===- EvaluateCompress.cpp - the meaning of attn.compress in f64 ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/Interpreter/Evaluation.h"

#include "llvm/Support/Parallel.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// One part as a row of the softmax reads it.
struct Part {
  const StreamValue *value, *gate; ///< gate null: logits are 0
  int64_t offset;
  int64_t biasColumn; ///< where the part's gates begin in a row of the bias
};

struct Pooling {
  SmallVector<Part> parts;
  int64_t every, features;
  const float *bias = nullptr;
  int64_t biasColumns = 0;

  void pool(int64_t i, double *out) const;

private:
  /// Calls fn(part, element, j) for the rows of result element `i`.
  template <typename Fn>
  void forEachRow(int64_t i, Fn fn) const {
    for (const Part &part : parts)
      if (i + part.offset >= 0)
        for (int64_t j = 0; j < every; ++j)
          fn(part, (i + part.offset) * every + j, j);
  }

  double logit(const Part &part, int64_t element, int64_t j, int64_t channel) const {
    if (!part.gate)
      return 0;
    int64_t column = part.gate->features == 1 ? 0 : channel;
    return part.gate->row(element)[column] +
           (bias ? bias[j * biasColumns + part.biasColumn + column] : 0.0);
  }
};

} // namespace

void Pooling::pool(int64_t i, double *out) const {
  double none = -std::numeric_limits<double>::infinity();
  std::vector<double> max(features, none), sum(features), weighted(features);
  forEachRow(i, [&](const Part &part, int64_t element, int64_t j) {
    for (int64_t c = 0; c < features; ++c) {
      double x = logit(part, element, j, c);
      max[c] = std::isnan(x) ? x : std::max(max[c], x); // keeps NaN
    }
  });
  forEachRow(i, [&](const Part &part, int64_t element, int64_t j) {
    for (int64_t c = 0; c < features; ++c) {
      if (max[c] == none)
        continue;
      double weight = std::exp(logit(part, element, j, c) - max[c]);
      sum[c] += weight;
      weighted[c] += weight * part.value->row(element)[c];
    }
  });
  for (int64_t c = 0; c < features; ++c)
    out[c] = max[c] == none ? 0.0 : weighted[c] / sum[c];
}

LogicalResult CompressOp::evaluate(Evaluation &e) {
  Pooling pooling{{}, int64_t(getEvery()), getType().getNumFeatures()};
  pooling.biasColumns = getGateChannels();
  if (getBias() && !(pooling.bias = e.weight(getBiasAttr())))
    return failure();
  unsigned gate = getValues().size();
  int64_t column = 0;
  for (auto [i, part] : llvm::enumerate(getParts())) {
    const StreamValue *gates = part.gate ? &e.operand(gate++) : nullptr;
    pooling.parts.push_back({&e.operand(i), gates, part.offset, column});
    column += gates ? gates->features : 0;
  }
  llvm::parallelFor(0, e.result().elements(),
                    [&](size_t i) { pooling.pool(i, e.result().row(i)); });
  return success();
}
