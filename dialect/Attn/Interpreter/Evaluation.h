//===- Evaluation.h - one op's operands and results in f64 ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_ATTN_INTERPRETER_EVALUATION_H
#define ATTNC_DIALECT_ATTN_INTERPRETER_EVALUATION_H

#include "dialect/Attn/IR/Attn.h"
#include "formats/WeightSource.h"

namespace mlir::attn {

/// Consecutive elements of a stream: data[element * features + channel].
/// Channels of a rank-2 stream are ordered head by head.
struct StreamValue {
  int64_t features = 0;
  std::vector<double> data;

  int64_t elements() const { return features ? int64_t(data.size()) / features : 0; }
  double *row(int64_t e) { return data.data() + e * features; }
  const double *row(int64_t e) const { return data.data() + e * features; }
};

/// What an op's `evaluate` sees: the values of its operands (all of the same
/// tokens), room for its results, the positions of the tokens, the weights.
class Evaluation {
public:
  Evaluation(Operation *op, SmallVector<const StreamValue *> operands,
             SmallVector<StreamValue *> results, ArrayRef<int64_t> positions,
             ::attnc::WeightSource &weights)
      : op(op), operands(std::move(operands)), results(std::move(results)),
        positionList(positions), weightSource(weights) {}

  const StreamValue &operand(unsigned i) const { return *operands[i]; }
  /// Sized for the elements that the operands imply before `evaluate` runs.
  StreamValue &result(unsigned i = 0) { return *results[i]; }

  /// positions()[e]: the position of element e's first token.
  ArrayRef<int64_t> positions() const { return positionList; }

  /// The values of weight `symbol`, in its declared shape; emits the error of
  /// the source at the op and returns null if it cannot be had.
  const float *weight(FlatSymbolRefAttr symbol);

private:
  Operation *op;
  SmallVector<const StreamValue *> operands;
  SmallVector<StreamValue *> results;
  ArrayRef<int64_t> positionList;
  ::attnc::WeightSource &weightSource;
};

/// The declaration of weight `symbol` as seen from `op`; null if there is none.
WeightOp lookupWeight(Operation *op, FlatSymbolRefAttr symbol);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_INTERPRETER_EVALUATION_H
