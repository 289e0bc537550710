//===- ReferenceExecutor.cpp - batches, and the ops of a body ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Kv/Reference/ReferenceExecutor.h"
#include "dialect/Kv/Reference/Frame.h"

#include "mlir/IR/Diagnostics.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kv;
using attn::StreamType;
using attn::StreamValue;

//===----------------------------------------------------------------------===//
// Set-up and steps
//===----------------------------------------------------------------------===//

::attnc::Result<std::unique_ptr<ReferenceExecutor>>
ReferenceExecutor::create(ModuleOp module, ::attnc::WeightSource &weights) {
  SmallVector<StepOp> steps(module.getOps<StepOp>());
  if (steps.size() != 1)
    return ::attnc::Error{"found " + std::to_string(steps.size()) +
                          " kv.step ops in the module; expected one"};
  std::unique_ptr<ReferenceExecutor> executor(new ReferenceExecutor(steps.front(), weights));
  if (std::string error = executor->prepare(module); !error.empty())
    return ::attnc::Error{error};
  return executor;
}

std::string ReferenceExecutor::prepare(ModuleOp module) {
  FunctionType type = stepOp.getFunctionType();
  if (type.getNumInputs() != 1 || type.getNumResults() != 1 ||
      type.getInput(0) != type.getResult(0) || cast<StreamType>(type.getInput(0)).getEvery() != 1)
    return "found a step @" + stepOp.getSymName().str() +
           " of other than one stream to one like it; expected hidden states in and out";
  hiddenSize = cast<StreamType>(type.getInput(0)).getNumFeatures();
  for (CacheOp cache : module.getOps<CacheOp>()) {
    cacheNumbers[cache.getSymName()] = cacheList.size();
    cacheList.push_back(cache.getDesc());
  }
  return "";
}

/// The first NaN of the output, in words; empty if there is none.
static std::string findNaN(const ::attnc::StepBatch &batch, int64_t hidden) {
  for (auto [s, slice] : llvm::enumerate(batch.sequences))
    for (int64_t t = 0; t < slice.count; ++t)
      for (int64_t i = 0; i < hidden; ++i)
        if (std::isnan(batch.output[(slice.row + t) * hidden + i]))
          return "NaN in the output of sequence " + std::to_string(s) + ", position " +
                 std::to_string(slice.start + t) + ", channel " + std::to_string(i);
  return "";
}

std::string ReferenceExecutor::step(const ::attnc::StepBatch &batch, const ReferenceTrace &trace) {
  if (batch.caches.size() != cacheList.size())
    return "the batch brings " + std::to_string(batch.caches.size()) + " caches; expected " +
           std::to_string(cacheList.size());
  std::string message;
  ScopedDiagnosticHandler handler(stepOp.getContext(), [&](Diagnostic &diagnostic) {
    if (message.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  Frame decode(cacheList, cacheNumbers, weights, batch, trace);
  Frame prefill(cacheList, cacheNumbers, weights, batch, trace);
  int64_t threshold = stepOp.getThreshold(), decodes = 0, prefills = 0;
  for (const ::attnc::SequenceSlice &slice : batch.sequences) {
    if (slice.count <= 0)
      continue;
    bool few = slice.count < threshold;
    (few ? decode : prefill).add(slice);
    ++(few ? decodes : prefills);
  }
  if ((decodes && failed(decode.run(stepOp.getDecode().front()))) ||
      (prefills && failed(prefill.run(stepOp.getPrefillBlock()))))
    return message.empty() ? "the reference executor failed" : message;
  return findNaN(batch, hiddenSize);
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

const Axis &Frame::axis(int64_t every) {
  auto [it, isNew] = axes.try_emplace(every);
  Axis &axis = it->second;
  if (!isNew)
    return axis;
  for (const ::attnc::SequenceSlice *slice : slices) {
    int64_t begin = slice->start / every, end = (slice->start + slice->count) / every;
    axis.first.push_back(axis.positions.size());
    axis.firstEntry.push_back(begin);
    axis.count.push_back(end - begin);
    for (int64_t e = begin; e < end; ++e)
      axis.positions.push_back(e * every);
  }
  return axis;
}

static unsigned countUses(Value value) {
  return std::distance(value.use_begin(), value.use_end());
}

/// Gathers the sequences' rows of the batch's input.
void Frame::bindInput(Block &body) {
  BlockArgument argument = body.getArgument(0);
  int64_t features = cast<StreamType>(argument.getType()).getNumFeatures();
  StreamValue input{features, {}};
  for (const ::attnc::SequenceSlice *slice : slices) {
    const float *from = batch.input + slice->row * features;
    input.data.insert(input.data.end(), from, from + slice->count * features);
  }
  usesLeft[argument] = countUses(argument);
  live[argument] = std::move(input);
}

LogicalResult Frame::run(Block &body) {
  bindInput(body);
  for (Operation &op : body) {
    if (auto ret = dyn_cast<ReturnOp>(op))
      return finish(ret);
    if (failed(execute(op)))
      return failure();
    publish(op);
    release(op);
  }
  return success();
}

LogicalResult Frame::execute(Operation &op) {
  // What rows are is worked out where they are read.
  if (isa<ReadOp, RebuildOp>(op))
    return success();
  if (auto appendOp = dyn_cast<AppendOp>(op))
    return append(appendOp);
  if (auto init = dyn_cast<AttendInitOp>(op)) {
    StateType type = init.getType();
    states[init.getState()] = std::make_unique<SoftmaxState>(
        axis(1).positions.size(), type.getHeads(), type.getChannels());
    return success();
  }
  if (auto partial = dyn_cast<AttendPartialOp>(op))
    return attend(partial);
  if (auto topK = dyn_cast<TopKOp>(op))
    return select(topK);
  if (auto pooling = dyn_cast<CompressOp>(op))
    return compress(pooling);
  if (auto expand = dyn_cast<attn::ExpandOp>(op)) {
    // In this order: a new value may move the others.
    attn::SelectionValue &expanded = makeSelection(expand.getResult());
    expanded.picks = selection(expand.getInput()).picks;
    return success();
  }
  if (auto finishOp = dyn_cast<AttendFinishOp>(op)) {
    const float *sink = nullptr;
    attn::Evaluation evaluation(&op, {}, {}, {}, weights);
    if (finishOp.getSinkAttr() && !(sink = evaluation.weight(finishOp.getSinkAttr())))
      return failure();
    finishState(finishOp, sink);
    return success();
  }
  return evaluate(op);
}

LogicalResult kv::evaluatePerToken(Operation &op, ArrayRef<const StreamValue *> operands,
                                   int64_t elements, ArrayRef<int64_t> positions,
                                   ::attnc::WeightSource &weights,
                                   SmallVectorImpl<StreamValue> &results) {
  auto evaluator = dyn_cast<attn::EvaluateOpInterface>(op);
  if (!evaluator || isa<attn::HistoryOpInterface>(op) ||
      !llvm::all_of(op.getResultTypes(), llvm::IsaPred<StreamType>))
    return op.emitOpError("has no meaning inside a step; expected kv ops and attn ops that read "
                          "no history");
  for (Type type : op.getResultTypes()) {
    int64_t features = cast<StreamType>(type).getNumFeatures();
    results.push_back({features, std::vector<double>(elements * features)});
  }
  SmallVector<StreamValue *> pointers;
  for (StreamValue &result : results)
    pointers.push_back(&result);
  attn::Evaluation evaluation(&op, SmallVector<const StreamValue *>(operands), pointers, positions,
                              weights);
  return evaluator.evaluate(evaluation);
}

LogicalResult Frame::evaluate(Operation &op) {
  SmallVector<const StreamValue *> operands;
  for (Value operand : op.getOperands())
    operands.push_back(&value(operand));
  int64_t every = 1;
  if (op.getNumResults())
    if (auto type = dyn_cast<StreamType>(op.getResult(0).getType()))
      every = type.getEvery();
  const Axis &elements = axis(every);
  SmallVector<StreamValue> results;
  if (failed(evaluatePerToken(op, operands, elements.positions.size(), elements.positions, weights,
                              results)))
    return failure();
  for (auto [result, computed] : llvm::zip_equal(op.getResults(), results))
    live[result] = std::move(computed);
  return success();
}

/// Hands the op's result to the trace, if it has a name.
void Frame::publish(Operation &op) {
  auto name = op.getAttrOfType<StringAttr>(attn::kTraceAttr);
  if (!name || !trace || op.getNumResults() != 1)
    return;
  if (selections.count(op.getResult(0)))
    return publishSelection(name, op.getResult(0));
  if (!live.count(op.getResult(0)))
    return;
  const StreamValue &result = value(op.getResult(0));
  int64_t every = cast<StreamType>(op.getResult(0).getType()).getEvery();
  const Axis &elements = axis(every);
  std::vector<float> rows;
  for (auto [s, slice] : llvm::enumerate(slices)) {
    int64_t count = elements.count[s];
    if (count == 0)
      continue;
    const double *from = result.row(elements.first[s]);
    rows.assign(from, from + count * result.features);
    trace(name.str(), every == 1 ? slice->row : elements.firstEntry[s], count, result.features,
          rows.data());
  }
}

/// Frees the operands that `op` was the last to read, and unread results.
void Frame::release(Operation &op) {
  for (Value result : op.getResults())
    if (!(usesLeft[result] = countUses(result))) {
      live.erase(result);
      selections.erase(result);
    }
  for (Value operand : op.getOperands()) {
    auto left = usesLeft.find(operand);
    if (left == usesLeft.end() || --left->second != 0)
      continue;
    usesLeft.erase(left);
    live.erase(operand);
    states.erase(operand);
    selections.erase(operand);
  }
}

LogicalResult Frame::finish(ReturnOp op) {
  const StreamValue &output = value(op.getValues()[0]);
  const double *from = output.data.data();
  for (const ::attnc::SequenceSlice *slice : slices) {
    float *to = batch.output + slice->row * output.features;
    for (int64_t i = 0; i < slice->count * output.features; ++i)
      to[i] = float(*from++);
  }
  return success();
}
