//===- Evaluation.h - one op's operands and results in f64 ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_ATTN_INTERPRETER_EVALUATION_H
#define ATTNC_DIALECT_ATTN_INTERPRETER_EVALUATION_H

#include "dialect/Attn/IR/Attn.h"
#include "formats/WeightSource.h"

#include "llvm/ADT/PointerUnion.h"

#include <variant>

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

/// Scores of consecutive tokens from position 0 on: for each token and group one
/// per element of a stream, as far as it is present.
struct ScoreValue {
  int64_t groups = 1;
  int64_t entries = 0; ///< elements of the scored stream
  std::vector<double> data;     ///< [token][group][entry]
  std::vector<uint8_t> present; ///< [token][group][entry]: 1 if there is a score

  ScoreValue() = default;
  ScoreValue(int64_t tokens, int64_t groups, int64_t entries)
      : groups(groups), entries(entries), data(tokens * groups * entries),
        present(data.size()) {}
  double *row(int64_t t, int64_t group) { return data.data() + (t * groups + group) * entries; }
  const double *row(int64_t t, int64_t group) const {
    return data.data() + (t * groups + group) * entries;
  }
  uint8_t *presentRow(int64_t t, int64_t group) {
    return present.data() + (t * groups + group) * entries;
  }
  const uint8_t *presentRow(int64_t t, int64_t group) const {
    return present.data() + (t * groups + group) * entries;
  }
};

/// Picks of consecutive tokens from position 0 on. Pick p stands for elements
/// p * block .. p * block + block - 1 of a stream with one element every `every`
/// tokens; a token sees those of them that are complete.
struct SelectionValue {
  int64_t groups = 1, every = 1, block = 1;
  std::vector<std::vector<int64_t>> picks; ///< [token * groups + group], ascending

  int64_t tokens() const { return int64_t(picks.size()) / groups; }
  /// Elements that the stream has after all tokens.
  int64_t entries() const { return tokens() / every; }
  /// Appends, in order, the picked elements below `end`.
  void elements(int64_t t, int64_t group, int64_t end, std::vector<int64_t> &out) const;
  /// 1 for each element that is picked and seen, else 0: rows of
  /// groups * entries() features.
  StreamValue rows() const;
};

/// Any value of a graph.
using GraphValue = std::variant<StreamValue, ScoreValue, SelectionValue>;

/// What an op's `evaluate` sees: the values of its operands (all of the same
/// tokens), room for its results, the positions of the tokens, the weights.
class Evaluation {
public:
  Evaluation(Operation *op, SmallVector<const StreamValue *> operands,
             SmallVector<StreamValue *> results, ArrayRef<int64_t> positions,
             ::attnc::WeightSource &weights)
      : op(op), operands(operands.begin(), operands.end()),
        results(results.begin(), results.end()), positionList(positions), weightSource(weights) {}

  /// Operands and results of any kind.
  Evaluation(Operation *op, ::attnc::WeightSource &weights, ArrayRef<int64_t> positions,
             ArrayRef<const GraphValue *> operands, MutableArrayRef<GraphValue> results);

  const StreamValue &operand(unsigned i) const { return *cast<const StreamValue *>(operands[i]); }
  const ScoreValue &scores(unsigned i) const { return *cast<const ScoreValue *>(operands[i]); }
  const SelectionValue &selection(unsigned i) const {
    return *cast<const SelectionValue *>(operands[i]);
  }

  /// Sized for the elements that the operands imply before `evaluate` runs.
  StreamValue &result(unsigned i = 0) { return *cast<StreamValue *>(results[i]); }
  ScoreValue &scoresResult() { return *cast<ScoreValue *>(results[0]); }
  /// With its rate, groups and block, and without picks.
  SelectionValue &selectionResult() { return *cast<SelectionValue *>(results[0]); }

  /// positions()[e]: the position of the first token of the result's element e;
  /// of token e if the result has scores or picks per token.
  ArrayRef<int64_t> positions() const { return positionList; }

  /// The values of weight `symbol`, in its declared shape; emits the error of
  /// the source at the op and returns null if it cannot be had.
  const float *weight(FlatSymbolRefAttr symbol);

  /// Reports scores that are NaN, which are never picked: warns at the op and
  /// names the first.
  void reportNaN(int64_t t, int64_t group, int64_t entry);

private:
  using Operand = llvm::PointerUnion<const StreamValue *, const ScoreValue *,
                                     const SelectionValue *>;
  using Result = llvm::PointerUnion<StreamValue *, ScoreValue *, SelectionValue *>;

  Operation *op;
  SmallVector<Operand> operands;
  SmallVector<Result> results;
  ArrayRef<int64_t> positionList;
  ::attnc::WeightSource &weightSource;
};

/// The declaration of weight `symbol` as seen from `op`; null if there is none.
WeightOp lookupWeight(Operation *op, FlatSymbolRefAttr symbol);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_INTERPRETER_EVALUATION_H
