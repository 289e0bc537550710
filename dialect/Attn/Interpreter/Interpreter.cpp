//===- Interpreter.cpp - evaluates a graph over whole sequences -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/Interpreter/Interpreter.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// One run over a model's block: the values that are still to be read.
class Run {
public:
  Run(ModelOp model, ArrayRef<StreamValue> inputs, ::attnc::WeightSource &weights, TraceFn trace)
      : model(model), inputs(inputs), weights(weights), trace(trace) {}

  LogicalResult bindInputs();
  LogicalResult evaluate(Operation &op);
  void collect(ReturnOp op, SmallVectorImpl<StreamValue> &outputs);

private:
  const StreamValue &value(Value v) {
    if (auto argument = dyn_cast<BlockArgument>(v))
      return inputs[argument.getArgNumber()];
    return live.find(v)->second;
  }
  ArrayRef<int64_t> positionsOf(int64_t every);
  void release(Operation &op);

  ModelOp model;
  ArrayRef<StreamValue> inputs;
  ::attnc::WeightSource &weights;
  TraceFn trace;
  int64_t tokens = 0;
  std::map<int64_t, std::vector<int64_t>> positions; ///< of elements, by rate
  llvm::DenseMap<Value, StreamValue> live;
  llvm::DenseMap<Value, unsigned> usesLeft;
};

} // namespace

/// Checks the inputs against the model's arguments and counts the tokens.
LogicalResult Run::bindInputs() {
  ArrayRef<Type> types = model.getArgumentTypes();
  if (inputs.size() != types.size())
    return model.emitOpError("takes ") << types.size() << " inputs, found " << inputs.size();
  for (auto [i, input] : llvm::enumerate(inputs)) {
    auto type = cast<StreamType>(types[i]);
    if (input.features != type.getNumFeatures())
      return model.emitOpError("input ") << i << " has " << input.features
                                         << " channels, expected " << type.getNumFeatures();
    if (type.getEvery() == 1)
      tokens = std::max(tokens, input.elements());
  }
  for (auto [i, input] : llvm::enumerate(inputs)) {
    int64_t expected = tokens / cast<StreamType>(types[i]).getEvery();
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

LogicalResult Run::evaluate(Operation &op) {
  auto evaluator = dyn_cast<EvaluateOpInterface>(op);
  if (!evaluator)
    return op.emitOpError("has no evaluation");
  SmallVector<StreamValue> produced;
  for (Type type : op.getResultTypes()) {
    auto stream = dyn_cast<StreamType>(type);
    if (!stream)
      return op.emitOpError("has no evaluation of a result of type ") << type;
    int64_t features = stream.getNumFeatures();
    produced.push_back({features, std::vector<double>(tokens / stream.getEvery() * features)});
  }
  SmallVector<const StreamValue *> operands;
  for (Value operand : op.getOperands()) {
    if (!isa<StreamType>(operand.getType()))
      return op.emitOpError("has no evaluation of an operand of type ") << operand.getType();
    operands.push_back(&value(operand));
  }
  SmallVector<StreamValue *> results;
  for (StreamValue &result : produced)
    results.push_back(&result);
  int64_t every = cast<StreamType>(op.getResultTypes().front()).getEvery();
  Evaluation evaluation(&op, operands, results, positionsOf(every), weights);
  if (failed(evaluator.evaluate(evaluation)))
    return failure();
  if (auto name = op.getAttrOfType<StringAttr>(kTraceAttr); name && trace)
    trace(name, produced.front());
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    if (result.use_empty())
      continue;
    usesLeft[result] = std::distance(result.use_begin(), result.use_end());
    live[result] = std::move(produced[i]);
  }
  release(op);
  return success();
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
    outputs.push_back(value(result));
}

LogicalResult mlir::attn::interpret(ModelOp model, ArrayRef<StreamValue> inputs,
                                    ::attnc::WeightSource &weights,
                                    SmallVectorImpl<StreamValue> &outputs, TraceFn trace) {
  Run run(model, inputs, weights, trace);
  if (failed(run.bindInputs()))
    return failure();
  for (Operation &op : model.getBlock().without_terminator())
    if (failed(run.evaluate(op)))
      return failure();
  run.collect(cast<ReturnOp>(model.getBlock().getTerminator()), outputs);
  return success();
}
