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
  const SelectionValue *selection; ///< null unless the source is selected
  int64_t queryHeads;

  /// Appends the elements that head `head` of the query of token `t`, at
  /// `position`, sees.
  void visible(int64_t t, int64_t position, int64_t head, std::vector<int64_t> &out) const {
    int64_t end = std::min((position + 1) / every, value.value->elements());
    if (selection)
      return selection->elements(t, head / (queryHeads / selection->groups), end, out);
    for (int64_t e = window ? std::max<int64_t>(end - window, 0) : 0; e < end; ++e)
      out.push_back(e);
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
  void scores(const Source &source, int64_t t, int64_t head, ArrayRef<int64_t> elements,
              double *out, ScalarProgram *program) const;
  void mapScores(const Source &source, int64_t t, int64_t head, ArrayRef<int64_t> elements,
                 double *scores, ScalarProgram &program) const;
};

} // namespace

LogicalResult Rows::prepare() {
  int64_t heads = op.getHeads();
  auto view = [&](unsigned operand) {
    return Heads(e.operand(operand), cast<StreamType>(op->getOperand(operand).getType()), heads);
  };
  unsigned part = 0, keys = op.getQueries().size(), values = keys + op.getKeys().size();
  unsigned selection = values + op.getValues().size();
  for (auto [i, source] : llvm::enumerate(op.getSources())) {
    Source &to = sources.emplace_back(
        Source{{},
               view(values + i),
               source.window,
               cast<StreamType>(source.value.getType()).getEvery(),
               source.selection ? &e.selection(selection++) : nullptr,
               heads});
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

/// Maps the scores of `elements` in place.
void Rows::mapScores(const Source &source, int64_t t, int64_t head, ArrayRef<int64_t> elements,
                     double *scores, ScalarProgram &program) const {
  size_t count = elements.size();
  std::vector<std::vector<double>> values(3 + consts.size());
  values[0].assign(count, double(e.positions()[t]));
  for (int64_t element : elements)
    values[1].push_back(double(element * source.every));
  values[2].assign(count, double(head));
  for (auto [i, constant] : llvm::enumerate(consts))
    values[3 + i].assign(count, constant[head]);
  SmallVector<const double *> args = {scores};
  for (const std::vector<double> &value : values)
    args.push_back(value.data());
  program.run(args, scores, count);
}

/// Computes the scores of `elements` for token `t`.
void Rows::scores(const Source &source, int64_t t, int64_t head, ArrayRef<int64_t> elements,
                  double *out, ScalarProgram *program) const {
  for (auto [i, element] : llvm::enumerate(elements)) {
    double sum = 0;
    for (const auto &[query, key] : source.parts)
      sum += dot(query.row(t, head), key.row(element, head), query.channels);
    out[i] = scale * sum;
  }
  if (program && !elements.empty())
    mapScores(source, t, head, elements, out, *program);
}

void Rows::evaluateHead(int64_t head) {
  StreamValue &result = e.result();
  int64_t channels = op.getType().getChannels();
  std::optional<ScalarProgram> program = scoreMap;
  // What the row sees, source by source; source i ends at ends[i].
  std::vector<int64_t> elements;
  std::vector<double> weights;
  SmallVector<size_t> ends;
  for (int64_t t = 0; t < result.elements(); ++t) {
    elements.clear();
    weights.clear();
    ends.clear();
    for (const Source &source : sources) {
      size_t begin = elements.size();
      source.visible(t, e.positions()[t], head, elements);
      weights.resize(elements.size());
      ends.push_back(elements.size());
      scores(source, t, head, ArrayRef(elements).drop_front(begin), weights.data() + begin,
             program ? &*program : nullptr);
    }
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
    size_t i = 0;
    for (auto [source, end] : llvm::zip_equal(sources, ends))
      for (; i < end; ++i)
        addScaled(out, weights[i] / sum, source.value.row(elements[i], head), channels);
  }
}

LogicalResult AttendOp::evaluate(Evaluation &e) {
  Rows rows(*this, e);
  if (failed(rows.prepare()))
    return failure();
  llvm::parallelFor(0, getHeads(), [&](size_t head) { rows.evaluateHead(head); });
  return success();
}
