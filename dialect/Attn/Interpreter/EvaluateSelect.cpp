//===- EvaluateSelect.cpp - scores and selections in f64 -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A selection is the same on every machine: scores are compared as they are, and
// equal ones by their position.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/Interpreter/Evaluation.h"
#include "dialect/Attn/Interpreter/Kernels.h"
#include "dialect/Attn/Interpreter/Picking.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// score
//===----------------------------------------------------------------------===//

namespace {

/// Everything that a token needs besides its own row.
struct Scoring {
  StreamType queryType, keyType;
  bool relu;
  double scale;
  const StreamValue &query, &key;
  const StreamValue *weights;   ///< null: 1
  const SelectionValue *within; ///< null: all elements
  ScoreValue &out;

  void score(int64_t t, int64_t visible) const;

private:
  void markPresent(int64_t t, int64_t group, int64_t visible) const;
};

} // namespace

/// Marks the elements that have a score.
void Scoring::markPresent(int64_t t, int64_t group, int64_t visible) const {
  uint8_t *present = out.presentRow(t, group);
  if (!within) {
    std::fill_n(present, visible, 1);
    return;
  }
  std::vector<int64_t> picked;
  within->elements(t, group / (out.groups / within->groups), visible, picked);
  for (int64_t e : picked)
    present[e] = 1;
}

/// Scores the first `visible` elements for token `t`.
void Scoring::score(int64_t t, int64_t visible) const {
  int64_t heads = queryType.getHeads(), channels = queryType.getChannels();
  int64_t keyRun = heads / keyType.getHeads(), groupRun = heads / out.groups;
  for (int64_t group = 0; group < out.groups; ++group)
    markPresent(t, group, visible);
  // A tile of keys stays in the first-level cache while all heads pass over it.
  constexpr int64_t kTile = 16;
  double products[kTile];
  for (int64_t first = 0; first < visible; first += kTile) {
    int64_t count = std::min(kTile, visible - first);
    for (int64_t head = 0; head < heads; ++head) {
      dots(query.row(t) + head * channels, key.row(first) + head / keyRun * channels,
           key.features, channels, products, count);
      double weight = weights ? weights->row(t)[head] : 1.0;
      double *row = out.row(t, head / groupRun) + first;
      for (int64_t i = 0; i < count; ++i) // a NaN passes relu
        row[i] += weight * (relu && products[i] < 0 ? 0.0 : products[i]);
    }
  }
  for (int64_t group = 0; group < out.groups; ++group)
    for (int64_t i = 0; i < visible; ++i)
      out.row(t, group)[i] *= scale;
}

LogicalResult ScoreOp::evaluate(Evaluation &e) {
  unsigned next = 2;
  const StreamValue *weights = getWeights() ? &e.operand(next++) : nullptr;
  const SelectionValue *within = getWithin() ? &e.selection(next) : nullptr;
  StreamType keyType = getKey().getType();
  Scoring scoring{getQuery().getType(),
                  keyType,
                  getActivation() == Activation::Relu,
                  getScale().convertToDouble(),
                  e.operand(0),
                  e.operand(1),
                  weights,
                  within,
                  e.scoresResult()};
  llvm::parallelFor(0, e.positions().size(), [&](size_t t) {
    scoring.score(t, std::min((e.positions()[t] + 1) / keyType.getEvery(), e.scoresResult().entries));
  });
  return success();
}

//===----------------------------------------------------------------------===//
// top_k, block_top_k
//===----------------------------------------------------------------------===//

namespace {

/// A candidate of a selection.
struct Candidate {
  double score;
  int64_t position;

  /// The order of picking; scores that are NaN are no candidates.
  bool operator<(const Candidate &o) const {
    return score != o.score ? score > o.score : position < o.position;
  }
};

} // namespace

/// Appends the positions of the `k` candidates to be picked.
static void pick(std::vector<Candidate> &candidates, int64_t k, std::vector<int64_t> &picks) {
  k = std::min<int64_t>(k, candidates.size());
  std::nth_element(candidates.begin(), candidates.begin() + k, candidates.end());
  for (int64_t i = 0; i < k; ++i)
    picks.push_back(candidates[i].position);
}

/// The blocks of `block` elements with scores. `nan` receives the first NaN.
static std::vector<Candidate> makeBlocks(const ScoreValue &scores, int64_t t, int64_t group,
                                         int64_t block, Reduction reduction, FirstNaN &nan) {
  std::vector<Candidate> blocks;
  const double *row = scores.row(t, group);
  const uint8_t *present = scores.presentRow(t, group);
  for (int64_t i = 0; i < scores.entries; ++i) {
    if (!present[i])
      continue;
    if (blocks.empty() || blocks.back().position != i / block) {
      blocks.push_back({row[i], i / block});
      continue;
    }
    double &score = blocks.back().score;
    if (reduction == Reduction::Sum)
      score += row[i];
    else if (!(row[i] <= score)) // a NaN of either stays
      score = std::isnan(score) ? score : row[i];
  }
  for (const Candidate &candidate : blocks)
    if (std::isnan(candidate.score) && !nan)
      nan = {t, group, candidate.position * block};
  return blocks;
}

std::vector<int64_t> attn::pickBlocks(const ScoreValue &scores, int64_t t, int64_t group,
                                      const PickRule &rule, FirstNaN &nan) {
  std::vector<Candidate> blocks = makeBlocks(scores, t, group, rule.block, rule.reduction, nan);
  std::vector<Candidate> rest;
  std::vector<int64_t> picks;
  for (auto [i, block] : llvm::enumerate(blocks)) {
    if (int64_t(i) < rule.pinFirst || int64_t(blocks.size() - i) <= rule.pinNewest)
      picks.push_back(block.position);
    else if (!std::isnan(block.score))
      rest.push_back(block);
  }
  pick(rest, rule.picks - int64_t(picks.size()), picks);
  std::sort(picks.begin(), picks.end());
  return picks;
}

/// Picks for all tokens and groups; reports the first NaN.
static LogicalResult pickRows(Evaluation &e, const PickRule &rule) {
  const ScoreValue &scores = e.scores(0);
  SelectionValue &result = e.selectionResult();
  std::vector<FirstNaN> nans(result.picks.size());
  llvm::parallelFor(0, result.picks.size(), [&](size_t row) {
    result.picks[row] = pickBlocks(scores, int64_t(row) / scores.groups,
                                   int64_t(row) % scores.groups, rule, nans[row]);
  });
  for (const FirstNaN &nan : nans)
    if (nan) {
      e.reportNaN((*nan)[0], (*nan)[1], (*nan)[2]);
      break;
    }
  return success();
}

LogicalResult TopKOp::evaluate(Evaluation &e) { return pickRows(e, {getType().getPicks()}); }

LogicalResult BlockTopKOp::evaluate(Evaluation &e) {
  return pickRows(e, {getType().getPicks(), int64_t(getBlock()), getReduction(),
                      int64_t(getPinFirst()), int64_t(getPinNewest())});
}

LogicalResult ExpandOp::evaluate(Evaluation &e) {
  e.selectionResult().picks = e.selection(0).picks;
  return success();
}
