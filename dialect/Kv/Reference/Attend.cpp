//===- Attend.cpp - softmax states in f64 ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// States are in base e here. A maximum starts at the lowest finite number, so
// no difference of maxima is NaN and a row that sees nothing has sum 0.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/Interpreter/Kernels.h"
#include "dialect/Attn/Interpreter/ScalarProgram.h"
#include "dialect/Kv/Reference/Frame.h"

#include "llvm/Support/Parallel.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::kv;
using attn::StreamType;
using attn::StreamValue;

SoftmaxState::SoftmaxState(int64_t tokens, int64_t heads, int64_t channels)
    : heads(heads), channels(channels), acc(tokens * heads * channels),
      max(tokens * heads, std::numeric_limits<double>::lowest()), sum(tokens * heads) {}

/// Entries folded at a time. Small enough that states are rescaled in tests too.
static constexpr int64_t tileEntries = 32;

namespace mlir::kv {

/// A key part or the value for the entries of a tile: head h of entry
/// tile[i] is at row(i, h).
struct TileRows {
  const double *data = nullptr;
  int64_t features = 0, channels = 0, run = 1; ///< run: query heads per head

  const double *row(int64_t i, int64_t queryHead) const {
    return data + i * features + queryHead / run * channels;
  }
};

/// One op's way of folding: everything but tokens and entries.
struct Folding {
  SmallVector<TileRows> keys;
  TileRows value;
  SmallVector<std::pair<const double *, int64_t>> queries; ///< data, channels
  int64_t heads, every, window;
  double scale;
  std::optional<attn::ScalarProgram> scoreMap;
  SmallVector<const float *> consts;
  bool readsRows;
  int64_t ringRows = 0; ///< of the ring that the rows come from; 0: pages

  /// The entries that the query at `position` sees; its sequence had `start`
  /// tokens before this step.
  EntryRange visible(int64_t start, int64_t position) const;

  /// Folds `entries`, those of the tile from its row `first` on, into the state
  /// of one token and head.
  void fold(SoftmaxState &state, int64_t token, int64_t position, int64_t head, int64_t first,
            ArrayRef<int64_t> entries, attn::ScalarProgram *program) const;

private:
  void mapScores(int64_t position, int64_t head, ArrayRef<int64_t> entries, double *scores,
                 attn::ScalarProgram &program) const;
};

} // namespace mlir::kv

void Folding::mapScores(int64_t position, int64_t head, ArrayRef<int64_t> entries,
                        double *scores, attn::ScalarProgram &program) const {
  int64_t count = entries.size();
  std::vector<std::vector<double>> values(3 + consts.size());
  values[0].assign(count, double(position));
  for (int64_t e : entries)
    values[1].push_back(double(e * every));
  values[2].assign(count, double(head));
  for (auto [i, constant] : llvm::enumerate(consts))
    values[3 + i].assign(count, constant[head]);
  SmallVector<const double *> args = {scores};
  for (const std::vector<double> &value : values)
    args.push_back(value.data());
  program.run(args, scores, count);
}

void Folding::fold(SoftmaxState &state, int64_t token, int64_t position, int64_t head,
                   int64_t first, ArrayRef<int64_t> entries,
                   attn::ScalarProgram *program) const {
  double scores[tileEntries];
  int64_t count = entries.size();
  for (int64_t i = 0; i < count; ++i) {
    double score = 0;
    for (auto [query, key] : llvm::zip_equal(queries, keys))
      score += attn::dot(query.first + (token * heads + head) * query.second,
                         key.row(first + i, head), query.second);
    scores[i] = scale * score;
  }
  if (program)
    mapScores(position, head, entries, scores, *program);
  int64_t row = token * heads + head;
  double max = state.max[row];
  for (int64_t i = 0; i < count; ++i)
    max = std::max(max, scores[i]);
  double shrink = std::exp(state.max[row] - max), *acc = &state.acc[row * state.channels];
  if (shrink != 1)
    for (int64_t c = 0; c < state.channels; ++c)
      acc[c] *= shrink;
  state.sum[row] *= shrink;
  state.max[row] = max;
  for (int64_t i = 0; i < count; ++i) {
    double weight = std::exp(scores[i] - max);
    state.sum[row] += weight;
    attn::addScaled(acc, weight, value.row(first + i, head), state.channels);
  }
}

EntryRange Folding::visible(int64_t start, int64_t position) const {
  EntryRange seen{0, (position + 1) / every};
  if (window)
    seen.begin = std::max<int64_t>(0, seen.end - window);
  if (!readsRows) {
    seen.begin = std::max(seen.begin, start / every);
  } else if (ringRows) {
    seen.begin = std::max(seen.begin, start - ringRows);
    seen.end = std::min(seen.end, start);
  }
  return seen;
}

/// Points at rows of `type` (a stream, or rows of such elements).
static TileRows tileRows(const double *data, Type type, int64_t queryHeads) {
  auto rows = dyn_cast<RowsType>(type);
  StreamType element = rows ? rows.getStream() : cast<StreamType>(type);
  return {data, element.getNumFeatures(), element.getChannels(),
          queryHeads / element.getHeads()};
}

LogicalResult Frame::prepare(AttendPartialOp op, Folding &folding) {
  folding.heads = op.getHeads();
  folding.every = op.getEvery();
  folding.window = op.getWindow();
  folding.scale = op.getScale().convertToDouble();
  folding.readsRows = op.readsRows();
  for (ReadOp read : readsOf(op.getValue())) {
    const ::attnc::CacheDesc &cache = caches[cacheOf(read.getCacheAttr())];
    if (cache.kind == ::attnc::CacheKind::Ring)
      folding.ringRows = cache.rows;
  }
  for (Value query : op.getQueries())
    folding.queries.push_back(
        {value(query).data.data(), cast<StreamType>(query.getType()).getChannels()});
  if (op.getScoreMap().empty())
    return success();
  FailureOr<attn::ScalarProgram> program = attn::ScalarProgram::compile(op.getScoreMap());
  if (failed(program))
    return failure();
  folding.scoreMap = *program;
  attn::Evaluation evaluation(op, {}, {}, {}, weights);
  if (op.getConsts())
    for (auto symbol : op.getConsts()->getAsRange<FlatSymbolRefAttr>())
      if (!folding.consts.emplace_back(evaluation.weight(symbol)))
        return failure();
  return success();
}

/// Fills in the folding's rows of a tile; `loaded` holds those that are not the
/// chunk's own.
LogicalResult Frame::loadTile(AttendPartialOp op, unsigned sequence, ArrayRef<int64_t> tile,
                              Folding &folding, SmallVectorImpl<StreamValue> &loaded) {
  const Axis &entries = axis(folding.every);
  SmallVector<Value> sources(op.getKeys());
  sources.push_back(op.getValue());
  loaded.clear();
  loaded.reserve(sources.size());
  rebuilt.clear();
  folding.keys.clear();
  for (Value source : sources) {
    const double *data;
    if (folding.readsRows) {
      FailureOr<StreamValue> rows = load(source, sequence, tile);
      if (failed(rows))
        return failure();
      data = loaded.emplace_back(std::move(*rows)).data.data();
    } else {
      data = value(source).row(entries.first[sequence] + tile.front() -
                               entries.firstEntry[sequence]);
    }
    folding.keys.push_back(tileRows(data, source.getType(), folding.heads));
  }
  folding.value = folding.keys.pop_back_val();
  return success();
}

/// Folds what a sequence's new tokens see, a tile after another.
LogicalResult Frame::foldSequence(AttendPartialOp op, unsigned sequence, Folding &folding,
                                  SoftmaxState &state) {
  int64_t start = slices[sequence]->start, count = slices[sequence]->count;
  int64_t firstToken = axis(1).first[sequence];
  // Later tokens see later entries.
  EntryRange all{folding.visible(start, start).begin,
                 folding.visible(start, start + count - 1).end};
  SmallVector<StreamValue> loaded;
  std::vector<int64_t> tile;
  for (int64_t begin = all.begin; begin < all.end; begin += tileEntries) {
    int64_t end = std::min(all.end, begin + tileEntries);
    tile.clear();
    for (int64_t e = begin; e < end; ++e)
      tile.push_back(e);
    if (failed(loadTile(op, sequence, tile, folding, loaded)))
      return failure();
    llvm::parallelFor(0, folding.heads, [&](size_t head) {
      std::optional<attn::ScalarProgram> program = folding.scoreMap;
      for (int64_t t = 0; t < count; ++t) {
        EntryRange seen = folding.visible(start, start + t);
        seen.begin = std::max(seen.begin, begin);
        seen.end = std::min(seen.end, end);
        if (!seen.empty())
          folding.fold(state, firstToken + t, start + t, head, seen.begin - begin,
                       ArrayRef(tile).slice(seen.begin - begin, seen.end - seen.begin),
                       program ? &*program : nullptr);
      }
    });
  }
  return success();
}

/// Folds what a sequence's new tokens select: no other row is read.
LogicalResult Frame::foldSelected(AttendPartialOp op, unsigned sequence, Folding &folding,
                                  SoftmaxState &state) {
  const attn::SelectionValue &picked = selection(op.getSelection());
  int64_t start = slices[sequence]->start, firstToken = axis(1).first[sequence];
  int64_t run = folding.heads / picked.groups;
  std::optional<attn::ScalarProgram> program = folding.scoreMap;
  SmallVector<StreamValue> loaded;
  std::vector<int64_t> entries;
  for (int64_t t = 0; t < slices[sequence]->count; ++t)
    for (int64_t group = 0; group < picked.groups; ++group) {
      entries.clear();
      picked.elements(firstToken + t, group, folding.visible(start, start + t).end, entries);
      for (size_t begin = 0; begin < entries.size(); begin += tileEntries) {
        ArrayRef<int64_t> tile = ArrayRef(entries).drop_front(begin).take_front(tileEntries);
        if (failed(loadTile(op, sequence, tile, folding, loaded)))
          return failure();
        for (int64_t head = group * run; head < (group + 1) * run; ++head)
          folding.fold(state, firstToken + t, start + t, head, 0, tile,
                       program ? &*program : nullptr);
      }
    }
  return success();
}

LogicalResult Frame::attend(AttendPartialOp op) {
  Folding folding;
  if (failed(prepare(op, folding)))
    return failure();
  std::unique_ptr<SoftmaxState> &old = states[op.getState()];
  std::unique_ptr<SoftmaxState> state =
      op.getState().hasOneUse() ? std::move(old) : std::make_unique<SoftmaxState>(*old);
  for (unsigned s = 0; s < slices.size(); ++s)
    if (failed(op.getSelection() ? foldSelected(op, s, folding, *state)
                                 : foldSequence(op, s, folding, *state)))
      return failure();
  states[op.getResult()] = std::move(state);
  return success();
}

void Frame::finishState(AttendFinishOp op, const float *sink) {
  const SoftmaxState &state = *states.find(op.getState())->second;
  StreamValue result{state.heads * state.channels, std::vector<double>(state.acc.size())};
  for (size_t row = 0; row < state.sum.size(); ++row) {
    double sum = state.sum[row], shrink = 1;
    if (sink) {
      double logit = sink[row % state.heads], max = std::max(state.max[row], logit);
      shrink = std::exp(state.max[row] - max);
      sum = sum * shrink + std::exp(logit - max);
    }
    if (sum == 0)
      continue;
    for (int64_t c = 0; c < state.channels; ++c)
      result.data[row * state.channels + c] = state.acc[row * state.channels + c] * shrink / sum;
  }
  live[op.getResult()] = std::move(result);
}
