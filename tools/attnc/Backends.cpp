//===- Backends.cpp - everything that can run a compiled model ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/Backends.h"

#include "dialect/Attn/Interpreter/Interpreter.h"
#include "dialect/Kv/Reference/ReferenceExecutor.h"
#include "passes/Support/Keep.h"
#include "runtime/Run.h"
#include "runtime/ThreadPool.h"
#include "tools/attnc/Artifact.h"
#include "tools/attnc/CompileArtifact.h"
#include "tools/attnc/RowRecorder.h"

using namespace attnc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Workload
//===----------------------------------------------------------------------===//

Result<Workload> attnc::openWorkload(Compilation &compilation, const Invocation &invocation) {
  InputDefaults defaults = compilation.defaults();
  std::string weights = invocation.weights.empty() ? defaults.weights : invocation.weights;
  if (weights.empty())
    return Error{compilation.info().file + ": no --weights, and no model.safetensors beside it; "
                 "expected a .safetensors file, a folder with shards, or random:SEED"};
  std::string rows = invocation.input.empty() ? defaults.input : invocation.input;
  if (rows.empty()) {
    if (!invocation.tokens)
      return Error{compilation.info().file + ": no --input, and no input.safetensors beside it; "
                   "expected a file, random:SEED:TOKENS, or --tokens N"};
    rows = "random:1:" + std::to_string(*invocation.tokens);
  }
  setDefaultThreads(invocation.threads);
  Workload work;
  Result<Input> input = openInput(rows, compilation.info().hidden);
  if (!input)
    return Error{input.error()};
  work.input = std::move(*input);
  if (invocation.tokens)
    if (std::string error = limitTokens(work.input, *invocation.tokens); !error.empty())
      return Error{error};
  Result<std::unique_ptr<WeightSource>> source = openWeights(weights);
  if (!source)
    return Error{source.error()};
  work.weights = std::move(*source);
  return work;
}

//===----------------------------------------------------------------------===//
// Interpreter
//===----------------------------------------------------------------------===//

/// Publishes, in a copy of `model`, what every rounded kept stream holds, and
/// what it was before rounding ("exact:" and the name).
static void traceKeptRows(attn::ModelOp model) {
  auto publish = [&](Operation *op, const std::string &name) {
    if (op && op->getNumResults() == 1 && !op->hasAttr(attn::kTraceAttr))
      op->setAttr(attn::kTraceAttr, StringAttr::get(op->getContext(), name));
  };
  model.walk([&](attn::RoundOp round) {
    if (!attn::isKept(round.getResult()))
      return;
    FailureOr<attn::Keep> keep = attn::getKeep(round.getResult());
    if (failed(keep))
      return;
    std::string name = keep->cache + "/" + keep->name;
    publish(round, name);
    publish(round.getInput().getDefiningOp(), "exact:" + name);
  });
}

static void append(RunResult &result, const std::string &name, const attn::StreamValue &value) {
  RunResult::Trace &trace = result.traces[name];
  trace.width = value.features;
  trace.rows.insert(trace.rows.end(), value.data.begin(), value.data.end());
}

/// Adds a selection as the executors publish it: for each token and group the
/// numbers of the picks, ascending, then -1 up to the `picks` of its type.
static void append(RunResult &result, const std::string &name, const attn::SelectionValue &value,
                   int64_t picks) {
  RunResult::Trace &trace = result.traces[name];
  trace.width = value.groups * picks;
  for (const std::vector<int64_t> &row : value.picks) {
    trace.rows.insert(trace.rows.end(), row.begin(), row.end());
    trace.rows.insert(trace.rows.end(), picks - int64_t(row.size()), -1.0f);
  }
}

/// The picks of the selection that `model` publishes as `name`.
static int64_t picksOf(attn::ModelOp model, StringRef name) {
  int64_t picks = 0;
  model.walk([&](Operation *op) {
    auto traced = op->getAttrOfType<StringAttr>(attn::kTraceAttr);
    if (traced && traced.getValue() == name && op->getNumResults() == 1)
      if (auto type = dyn_cast<attn::SelectionType>(op->getResult(0).getType()))
        picks = type.getPicks();
  });
  return picks;
}

static Result<RunResult> interpretModel(attn::ModelOp model, Workload &work, bool trace) {
  RunResult result;
  std::string error;
  ScopedDiagnosticHandler handler(model->getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && error.empty())
      error = diagnostic.str();
    return success();
  });
  int64_t first = 0;
  for (int64_t length : work.input.lengths) {
    attn::StreamValue input;
    input.features = work.input.hidden;
    input.data.assign(work.input.row(first), work.input.row(first) + length * work.input.hidden);
    first += length;
    SmallVector<attn::StreamValue> outputs;
    auto sink = [&](StringRef name, const attn::StreamValue &value) {
      if (trace)
        append(result, name.str(), value);
    };
    auto selections = [&](StringRef name, const attn::SelectionValue &value) {
      if (trace)
        append(result, name.str(), value, picksOf(model, name));
    };
    attn::InterpretHooks hooks;
    hooks.trace = sink;
    hooks.traceSelection = selections;
    if (length && failed(attn::interpret(model, input, *work.weights, outputs, hooks)))
      return Error{error.empty() ? "the interpreter failed" : error};
    if (length)
      result.hidden.insert(result.hidden.end(), outputs[0].data.begin(), outputs[0].data.end());
  }
  result.steps = work.input.lengths.size();
  return result;
}

Result<RunResult> attnc::interpretGraph(Compilation &compilation, Workload &work) {
  return interpretModel(findModel(compilation.graph()), work, true);
}

Result<RunResult> attnc::interpretPlanned(Compilation &compilation, Workload &work,
                                          const ExecuteOptions &options) {
  if (std::string error = compilation.plan(); !error.empty())
    return Error{error};
  OwningOpRef<ModuleOp> copy = compilation.planned().clone();
  attn::ModelOp model = findModel(*copy);
  if (options.rows)
    traceKeptRows(model);
  return interpretModel(model, work, options.trace || options.rows);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// The reference executor as a backend of schedules.
class ReferenceBackend : public StepBackend {
public:
  explicit ReferenceBackend(kv::ReferenceExecutor &executor) : executor(executor) {}

  int64_t hidden() const override { return executor.hidden(); }
  const std::vector<CacheDesc> &caches() const override { return executor.caches(); }
  std::string step(StepBatch &batch, TraceSink *trace) override {
    if (!trace)
      return executor.step(batch);
    return executor.step(batch, [&](const std::string &name, int64_t row, int64_t count,
                                    int64_t width, const float *data) {
      trace->rows(name, row, count, width, data, width);
    });
  }

private:
  kv::ReferenceExecutor &executor;
};
} // namespace

static Result<RunResult> runSteps(StepBackend &backend, Workload &work,
                                  const Invocation &invocation, const ExecuteOptions &options) {
  RowRecorder recorder(backend);
  ScheduleOptions schedule;
  schedule.trace = options.trace || options.rows;
  schedule.poison = true;
  return runSchedule(options.rows ? static_cast<StepBackend &>(recorder) : backend, work.input,
                     invocation.schedule.value_or(Schedule{}), schedule);
}

static Result<RunOutcome> runReference(Compilation &compilation, Workload &work,
                                       const Invocation &invocation,
                                       const ExecuteOptions &options) {
  if (std::string error = compilation.lower(); !error.empty())
    return Error{error};
  Result<std::unique_ptr<kv::ReferenceExecutor>> executor =
      kv::ReferenceExecutor::create(compilation.step(), *work.weights);
  if (!executor)
    return Error{executor.error()};
  ReferenceBackend backend(**executor);
  Result<RunResult> result = runSteps(backend, work, invocation, options);
  if (!result)
    return Error{result.error()};
  return RunOutcome{std::move(*result), ""};
}

static Result<RunOutcome> runCpu(Compilation &compilation, Workload &work,
                                 const Invocation &invocation, const ExecuteOptions &options) {
  Result<std::unique_ptr<TemporaryFolder>> folder = TemporaryFolder::create();
  if (!folder)
    return Error{folder.error()};
  std::string target = invocation.targets.empty() ? "cpu" : invocation.targets.back();
  std::string path = (*folder)->path() + "/artifact";
  if (std::string error = compileArtifact(compilation, {target}, path); !error.empty())
    return Error{error};
  Result<LoadedArtifact> artifact = loadArtifact(path, *work.weights);
  if (!artifact)
    return Error{artifact.error()};
  Result<RunResult> result = runSteps(*artifact->executor, work, invocation, options);
  if (!result)
    return Error{result.error()};
  return RunOutcome{std::move(*result), artifact->executor->statsText()};
}

Result<RunOutcome> attnc::execute(Compilation &compilation, Workload &work,
                                  const Invocation &invocation, const ExecuteOptions &options) {
  const std::string &backend = invocation.backend;
  if (backend.empty() || backend == "cpu")
    return runCpu(compilation, work, invocation, options);
  if (backend == "reference")
    return runReference(compilation, work, invocation, options);
  if (backend == "interpreter") {
    Result<RunResult> result = interpretPlanned(compilation, work, options);
    if (!result)
      return Error{result.error()};
    return RunOutcome{std::move(*result), ""};
  }
  return Error{"--backend: found '" + backend +
               "', which is not built; expected cpu, reference or interpreter"};
}
