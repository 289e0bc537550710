//===- Interpreter.cpp - evaluates a graph over whole sequences -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/Interpreter/Interpreter.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// One run over a model's block: the values that are still to be read.
class Run {
public:
  Run(ModelOp model, ArrayRef<StreamValue> inputs, ::attnc::WeightSource &weights,
      const InterpretHooks &hooks)
      : model(model), weights(weights), hooks(hooks), inputs(inputs.begin(), inputs.end()) {}

  LogicalResult bindInputs();
  LogicalResult evaluate(Operation &op);
  void collect(ReturnOp op, SmallVectorImpl<StreamValue> &outputs);

private:
  const GraphValue &value(Value v) {
    if (auto argument = dyn_cast<BlockArgument>(v))
      return inputs[argument.getArgNumber()];
    return live.find(v)->second;
  }
  std::optional<GraphValue> allocate(Type type) const;
  ArrayRef<int64_t> positionsOf(int64_t every);
  LogicalResult evaluate(Operation &op, EvaluateOpInterface evaluator,
                         MutableArrayRef<GraphValue> results);
  LogicalResult usePicks(Operation &op, SelectionValue &selection,
                         const std::vector<std::vector<int64_t>> &picks);
  void publish(StringRef name, const GraphValue &value) const;
  void release(Operation &op);

  ModelOp model;
  ::attnc::WeightSource &weights;
  const InterpretHooks &hooks;
  std::vector<GraphValue> inputs;
  int64_t tokens = 0;
  std::map<int64_t, std::vector<int64_t>> positions; ///< of elements, by rate
  llvm::DenseMap<Value, GraphValue> live;
  llvm::DenseMap<Value, unsigned> usesLeft;
};

} // namespace

/// Checks the inputs against the model's arguments and counts the tokens.
LogicalResult Run::bindInputs() {
  ArrayRef<Type> types = model.getArgumentTypes();
  if (inputs.size() != types.size())
    return model.emitOpError("takes ") << types.size() << " inputs, found " << inputs.size();
  for (auto [i, held] : llvm::enumerate(inputs)) {
    auto type = cast<StreamType>(types[i]);
    const auto &input = std::get<StreamValue>(held);
    if (input.features != type.getNumFeatures())
      return model.emitOpError("input ") << i << " has " << input.features
                                         << " channels, expected " << type.getNumFeatures();
    if (type.getEvery() == 1)
      tokens = std::max(tokens, input.elements());
  }
  for (auto [i, held] : llvm::enumerate(inputs)) {
    int64_t expected = tokens / cast<StreamType>(types[i]).getEvery();
    const auto &input = std::get<StreamValue>(held);
    if (input.elements() != expected)
      return model.emitOpError("input ") << i << " has " << input.elements()
                                         << " elements, expected " << expected << " for "
                                         << tokens << " tokens";
  }
  return success();
}

/// Positions of the first tokens of all elements of a stream of that rate.
ArrayRef<int64_t> Run::positionsOf(int64_t every) {
  std::vector<int64_t> &list = positions[every];
  if (list.empty())
    for (int64_t e = 0; e < tokens / every; ++e)
      list.push_back(e * every);
  return list;
}

/// Room for a result of `type`.
std::optional<GraphValue> Run::allocate(Type type) const {
  if (auto stream = dyn_cast<StreamType>(type)) {
    int64_t features = stream.getNumFeatures();
    return StreamValue{features, std::vector<double>(tokens / stream.getEvery() * features)};
  }
  if (auto scores = dyn_cast<ScoresType>(type))
    return ScoreValue(tokens, scores.getGroups(), tokens / scores.getEvery());
  if (auto selection = dyn_cast<SelectionType>(type)) {
    SelectionValue value{selection.getGroups(), selection.getEvery(), selection.getBlock(), {}};
    value.picks.resize(tokens * value.groups);
    return value;
  }
  return std::nullopt;
}

/// Takes the picks of a selection from outside.
LogicalResult Run::usePicks(Operation &op, SelectionValue &selection,
                            const std::vector<std::vector<int64_t>> &picks) {
  if (picks.size() != selection.picks.size())
    return op.emitOpError("is given picks for ")
           << picks.size() << " rows, expected " << selection.picks.size()
           << ", one per token and group";
  int64_t limit = llvm::divideCeil(selection.entries(), selection.block);
  for (const std::vector<int64_t> &row : picks) {
    if (std::adjacent_find(row.begin(), row.end(), std::greater_equal<int64_t>()) != row.end())
      return op.emitOpError("is given picks that do not ascend");
    if (!row.empty() && (row.front() < 0 || row.back() >= limit))
      return op.emitOpError("is given pick ")
             << (row.front() < 0 ? row.front() : row.back()) << ", expected 0 to " << limit - 1;
  }
  selection.picks = picks;
  return success();
}

LogicalResult Run::evaluate(Operation &op, EvaluateOpInterface evaluator,
                            MutableArrayRef<GraphValue> results) {
  auto name = op.getAttrOfType<StringAttr>(kTraceAttr);
  auto *selection = std::get_if<SelectionValue>(&results.front());
  if (selection && name && hooks.givenPicks)
    if (const auto *picks = hooks.givenPicks(name))
      return usePicks(op, *selection, *picks);
  SmallVector<const GraphValue *> operands;
  for (Value operand : op.getOperands())
    operands.push_back(&value(operand));
  auto stream = dyn_cast<StreamType>(op.getResultTypes().front());
  Evaluation evaluation(&op, weights, positionsOf(stream ? stream.getEvery() : 1), operands,
                        results);
  return evaluator.evaluate(evaluation);
}

LogicalResult Run::evaluate(Operation &op) {
  auto evaluator = dyn_cast<EvaluateOpInterface>(op);
  if (!evaluator)
    return op.emitOpError("has no evaluation");
  SmallVector<GraphValue> produced;
  for (Type type : op.getResultTypes()) {
    std::optional<GraphValue> value = allocate(type);
    if (!value)
      return op.emitOpError("has no evaluation of a result of type ") << type;
    produced.push_back(std::move(*value));
  }
  if (failed(evaluate(op, evaluator, produced)))
    return failure();
  if (auto name = op.getAttrOfType<StringAttr>(kTraceAttr))
    publish(name, produced.front());
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    if (result.use_empty())
      continue;
    usesLeft[result] = std::distance(result.use_begin(), result.use_end());
    live[result] = std::move(produced[i]);
  }
  release(op);
  return success();
}

void Run::publish(StringRef name, const GraphValue &value) const {
  if (const auto *stream = std::get_if<StreamValue>(&value); stream && hooks.trace)
    hooks.trace(name, *stream);
  if (const auto *selection = std::get_if<SelectionValue>(&value);
      selection && hooks.traceSelection)
    hooks.traceSelection(name, *selection);
}

/// Frees the operands that `op` was the last to read.
void Run::release(Operation &op) {
  for (Value operand : op.getOperands()) {
    auto left = usesLeft.find(operand);
    if (left == usesLeft.end() || --left->second != 0)
      continue;
    usesLeft.erase(left);
    live.erase(operand);
  }
}

void Run::collect(ReturnOp op, SmallVectorImpl<StreamValue> &outputs) {
  outputs.clear();
  for (Value result : op.getValues())
    outputs.push_back(std::get<StreamValue>(value(result)));
}

LogicalResult mlir::attn::interpret(ModelOp model, ArrayRef<StreamValue> inputs,
                                    ::attnc::WeightSource &weights,
                                    SmallVectorImpl<StreamValue> &outputs,
                                    const InterpretHooks &hooks) {
  Run run(model, inputs, weights, hooks);
  if (failed(run.bindInputs()))
    return failure();
  for (Operation &op : model.getBlock().without_terminator())
    if (failed(run.evaluate(op)))
      return failure();
  run.collect(cast<ReturnOp>(model.getBlock().getTerminator()), outputs);
  return success();
}

LogicalResult mlir::attn::interpret(ModelOp model, ArrayRef<StreamValue> inputs,
                                    ::attnc::WeightSource &weights,
                                    SmallVectorImpl<StreamValue> &outputs, TraceFn trace) {
  InterpretHooks hooks;
  if (trace)
    hooks.trace = trace;
  return interpret(model, inputs, weights, outputs, hooks);
}
