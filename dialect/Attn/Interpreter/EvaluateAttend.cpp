//===- EvaluateAttend.cpp - the meaning of attn.attend in f64 ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whole sequences, from the definition: all scores of a row, their maximum,
// then the weighted sum.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/Interpreter/Evaluation.h"
#include "dialect/Attn/Interpreter/Kernels.h"
#include "dialect/Attn/Interpreter/ScalarProgram.h"

#include "llvm/Support/Parallel.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// A stream as the attention reads it: `channels` of the head that a query head
/// shares.
struct Heads {
  const StreamValue *value;
  int64_t channels, run; ///< query heads per head of this stream

  Heads(const StreamValue &value, StreamType type, int64_t queryHeads)
      : value(&value), channels(type.getChannels()), run(queryHeads / type.getHeads()) {}

  const double *row(int64_t e, int64_t queryHead) const {
    return value->row(e) + queryHead / run * channels;
  }
};

struct Source {
  SmallVector<std::pair<Heads, Heads>> parts; ///< (query, key)
  Heads value;
  int64_t window, every;

  /// Elements [first, second) that a query at `position` sees.
  std::pair<int64_t, int64_t> visible(int64_t position) const {
    int64_t end = std::min((position + 1) / every, value.value->elements());
    return {window ? std::max<int64_t>(end - window, 0) : 0, end};
  }
};

/// Everything that a row needs besides its own token and head.
struct Rows {
  AttendOp op;
  Evaluation &e;
  double scale;
  SmallVector<Source> sources;
  const float *sink = nullptr;
  std::optional<ScalarProgram> scoreMap;
  SmallVector<const float *> consts;

  Rows(AttendOp op, Evaluation &e) : op(op), e(e), scale(op.getScale().convertToDouble()) {}
  LogicalResult prepare();
  void evaluateHead(int64_t head);

private:
  void scores(const Source &source, int64_t t, int64_t head, std::vector<double> &out,
              ScalarProgram *program) const;
  void mapScores(const Source &source, int64_t t, int64_t head, int64_t first, double *scores,
                 int64_t count, ScalarProgram &program) const;
};

} // namespace

LogicalResult Rows::prepare() {
  int64_t heads = op.getHeads();
  auto view = [&](unsigned operand) {
    return Heads(e.operand(operand), cast<StreamType>(op->getOperand(operand).getType()), heads);
  };
  unsigned part = 0, keys = op.getQueries().size(), values = keys + op.getKeys().size();
  for (auto [i, source] : llvm::enumerate(op.getSources())) {
    if (source.selection)
      return op.emitOpError("source ") << i << " reads a selection, which has no evaluation";
    Heads value = view(values + i);
    Source &to = sources.emplace_back(Source{
        {}, value, source.window, cast<StreamType>(source.value.getType()).getEvery()});
    for (size_t p = 0; p < source.queries.size(); ++p, ++part)
      to.parts.push_back({view(part), view(keys + part)});
  }
  if (op.getSink() && !(sink = e.weight(op.getSinkAttr())))
    return failure();
  if (op.getScoreMap().empty())
    return success();
  FailureOr<ScalarProgram> program = ScalarProgram::compile(op.getScoreMap());
  if (failed(program))
    return failure();
  scoreMap = *program;
  if (op.getConsts())
    for (auto symbol : op.getConsts()->getAsRange<FlatSymbolRefAttr>())
      if (!consts.emplace_back(e.weight(symbol)))
        return failure();
  return success();
}

/// Maps `count` scores of elements from `first` on, in place.
void Rows::mapScores(const Source &source, int64_t t, int64_t head, int64_t first, double *scores,
                     int64_t count, ScalarProgram &program) const {
  std::vector<std::vector<double>> values(3 + consts.size());
  values[0].assign(count, double(e.positions()[t]));
  values[1].resize(count);
  for (int64_t i = 0; i < count; ++i)
    values[1][i] = double((first + i) * source.every);
  values[2].assign(count, double(head));
  for (auto [i, constant] : llvm::enumerate(consts))
    values[3 + i].assign(count, constant[head]);
  SmallVector<const double *> args = {scores};
  for (const std::vector<double> &value : values)
    args.push_back(value.data());
  program.run(args, scores, count);
}

/// Appends the scores of the elements that token `t` sees.
void Rows::scores(const Source &source, int64_t t, int64_t head, std::vector<double> &out,
                  ScalarProgram *program) const {
  auto [begin, end] = source.visible(e.positions()[t]);
  size_t old = out.size();
  for (int64_t k = begin; k < end; ++k) {
    double sum = 0;
    for (const auto &[query, key] : source.parts)
      sum += dot(query.row(t, head), key.row(k, head), query.channels);
    out.push_back(scale * sum);
  }
  if (program && begin < end)
    mapScores(source, t, head, begin, out.data() + old, end - begin, *program);
}

void Rows::evaluateHead(int64_t head) {
  StreamValue &result = e.result();
  int64_t channels = op.getType().getChannels();
  std::optional<ScalarProgram> program = scoreMap;
  std::vector<double> weights;
  for (int64_t t = 0; t < result.elements(); ++t) {
    weights.clear();
    for (const Source &source : sources)
      scores(source, t, head, weights, program ? &*program : nullptr);
    // A sink is one more score, without a value.
    double none = -std::numeric_limits<double>::infinity(), sum = 0;
    double max = sink ? sink[head] : none;
    for (double weight : weights)
      max = std::isnan(weight) ? weight : std::max(max, weight); // keeps NaN
    double *out = result.row(t) + head * channels;
    std::fill_n(out, channels, 0.0);
    if (max == none)
      continue;
    for (double &weight : weights)
      sum += weight = std::exp(weight - max);
    if (sink)
      sum += std::exp(sink[head] - max);
    const double *weight = weights.data();
    for (const Source &source : sources) {
      auto [begin, end] = source.visible(e.positions()[t]);
      for (int64_t k = begin; k < end; ++k)
        addScaled(out, *weight++ / sum, source.value.row(k, head), channels);
    }
  }
}

LogicalResult AttendOp::evaluate(Evaluation &e) {
  Rows rows(*this, e);
  if (failed(rows.prepare()))
    return failure();
  llvm::parallelFor(0, getHeads(), [&](size_t head) { rows.evaluateHead(head); });
  return success();
}
