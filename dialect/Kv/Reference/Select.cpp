//===- Select.cpp - selections over rows in f64 ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums are formed in the order of the interpreter's, so that equal rows give
// equal scores to the last bit.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/Interpreter/Kernels.h"
#include "dialect/Attn/Interpreter/Picking.h"
#include "dialect/Kv/Reference/Frame.h"

#include "llvm/Support/Parallel.h"

using namespace mlir;
using namespace mlir::kv;
using attn::ScoreValue;
using attn::SelectionType;
using attn::SelectionValue;
using attn::StreamType;
using attn::StreamValue;

namespace mlir::kv {

/// The selector at hand, for one sequence: everything but tokens and entries.
struct Scoring {
  StreamType query;
  RowsType key;
  bool relu;
  double scale;
  const StreamValue &queries;
  const StreamValue *weights; ///< null: 1
  int64_t firstToken;         ///< of the sequence, in the frame
  ScoreValue &out;            ///< its tokens, all of its entries

  /// Adds the scores of token `t` for entries [begin, begin + keys.elements()),
  /// of which those below `visible` count.
  void score(int64_t t, const StreamValue &keys, int64_t begin, int64_t visible) const;
};

} // namespace mlir::kv

void Scoring::score(int64_t t, const StreamValue &keys, int64_t begin, int64_t visible) const {
  int64_t count = std::min(keys.elements(), visible - begin);
  if (count <= 0)
    return;
  int64_t heads = query.getHeads(), channels = query.getChannels();
  int64_t keyRun = heads / key.getHeads(), groupRun = heads / out.groups;
  std::vector<double> products(count);
  for (int64_t head = 0; head < heads; ++head) {
    attn::dots(queries.row(firstToken + t) + head * channels,
               keys.data.data() + head / keyRun * channels, keys.features, channels,
               products.data(), count);
    double weight = weights ? weights->row(firstToken + t)[head] : 1.0;
    double *row = out.row(t, head / groupRun) + begin;
    for (int64_t i = 0; i < count; ++i) // a NaN passes relu
      row[i] += weight * (relu && products[i] < 0 ? 0.0 : products[i]);
  }
  for (int64_t group = 0; group < out.groups; ++group)
    for (int64_t i = begin; i < begin + count; ++i)
      out.row(t, group)[i] *= scale;
}

/// Marks which of the first `visible` entries have a score for row `t`; `token`
/// is its token in `within`.
static void markPresent(ScoreValue &scores, int64_t t, const SelectionValue *within,
                        int64_t token, int64_t visible) {
  std::vector<int64_t> picked;
  for (int64_t group = 0; group < scores.groups; ++group) {
    uint8_t *present = scores.presentRow(t, group);
    if (!within) {
      std::fill_n(present, visible, 1);
      continue;
    }
    picked.clear();
    within->elements(token, group / (scores.groups / within->groups), visible, picked);
    for (int64_t e : picked)
      present[e] = 1;
  }
}

SelectionValue &Frame::makeSelection(Value result) {
  auto type = cast<SelectionType>(result.getType());
  SelectionValue &made = selections[result];
  made = {type.getGroups(), type.getEvery(), type.getBlock(), {}};
  made.picks.resize(axis(1).positions.size() * type.getGroups());
  return made;
}

/// Picks for the new tokens of one sequence.
LogicalResult Frame::select(TopKOp op, unsigned sequence, SelectionValue &result) {
  constexpr int64_t kTile = 32;
  int64_t every = op.getKey().getType().getEvery();
  int64_t start = slices[sequence]->start, count = slices[sequence]->count;
  int64_t firstToken = axis(1).first[sequence], entries = (start + count) / every;
  auto visible = [&](int64_t t) { return (start + t + 1) / every; };
  ScoreValue scores(count, result.groups, entries);
  const SelectionValue *within = op.getWithin() ? &selection(op.getWithin()) : nullptr;
  Scoring scoring{op.getQuery().getType(),
                  op.getKey().getType(),
                  op.getActivation() == attn::Activation::Relu,
                  op.getScale().convertToDouble(),
                  value(op.getQuery()),
                  op.getWeights() ? &value(op.getWeights()) : nullptr,
                  firstToken,
                  scores};
  std::vector<int64_t> tile;
  for (int64_t begin = 0; begin < entries; begin += kTile) {
    tile.clear();
    for (int64_t e = begin; e < std::min(entries, begin + kTile); ++e)
      tile.push_back(e);
    rebuilt.clear();
    FailureOr<StreamValue> keys = load(op.getKey(), sequence, tile);
    if (failed(keys))
      return failure();
    llvm::parallelFor(0, count, [&](size_t t) { scoring.score(t, *keys, begin, visible(t)); });
  }
  attn::PickRule rule{op.getType().getPicks(), int64_t(op.getBlock()), op.getReduction(),
                      int64_t(op.getPinFirst()), int64_t(op.getPinNewest())};
  attn::FirstNaN nan;
  for (int64_t t = 0; t < count; ++t) {
    markPresent(scores, t, within, firstToken + t, visible(t));
    for (int64_t group = 0; group < result.groups; ++group)
      result.picks[(firstToken + t) * result.groups + group] =
          attn::pickBlocks(scores, t, group, rule, nan);
  }
  if (nan)
    op.emitWarning("a score is NaN and is never picked; the first is that of position ")
        << start + (*nan)[0] << ", group " << (*nan)[1] << ", entry " << (*nan)[2];
  return success();
}

LogicalResult Frame::select(TopKOp op) {
  SelectionValue &result = makeSelection(op.getResult());
  for (unsigned s = 0; s < slices.size(); ++s)
    if (failed(select(op, s, result)))
      return failure();
  return success();
}

void Frame::publishSelection(StringRef name, Value v) {
  const SelectionValue &picked = selection(v);
  int64_t picks = cast<SelectionType>(v.getType()).getPicks(), width = picked.groups * picks;
  for (auto [s, slice] : llvm::enumerate(slices)) {
    std::vector<float> rows(slice->count * width, -1.0f);
    const auto *from = &picked.picks[axis(1).first[s] * picked.groups];
    for (int64_t i = 0; i < slice->count * picked.groups; ++i)
      std::copy(from[i].begin(), from[i].end(), rows.begin() + i * picks);
    trace(name.str(), slice->row, slice->count, width, rows.data());
  }
}
