//===- BuildProgram.cpp - from a kv.step to a launch list -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/Plan/BuildProgram.h"
#include "codegen/Plan/BodyBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using attn::StreamType;

namespace attnc {

/// Adds a launch that publishes the op's result, if it has a name.
void BodyBuilder::publish(Operation &op) {
  auto name = op.getAttrOfType<StringAttr>(attn::kTraceAttr);
  if (!name || op.getNumResults() != 1 || !tokens.contains(op.getResult(0)))
    return;
  Launch launch = makeLaunch("trace", "", &op);
  launch.name = name.str();
  launch.in = {tokens.view(op.getResult(0))};
  body.launches.push_back(std::move(launch));
}

LogicalResult BodyBuilder::build(Block &block) {
  body.input = result(block.getArgument(0), tokens);
  for (Operation &op : block.without_terminator()) {
    LogicalResult emitted =
        TypeSwitch<Operation &, LogicalResult>(op)
            .Case<kv::AppendOp, kv::AttendInitOp, kv::AttendPartialOp, kv::AttendFinishOp>(
                [&](auto typed) { return emit(typed); })
            // What rows are is worked out where they are read.
            .Case<kv::ReadOp, kv::RebuildOp>([](auto) { return success(); })
            .Default([&](Operation &other) { return emitToken(other, tokens, body.launches); });
    if (failed(emitted))
      return failure();
    publish(op);
    tokens.release(op);
  }
  body.output = tokens.view(block.getTerminator()->getOperand(0));
  return success();
}

/// Fails at the first op that a program has no launch for yet.
static LogicalResult checkSelections(kv::StepOp step) {
  WalkResult result = step.walk([](Operation *op) {
    if (!llvm::any_of(op->getResultTypes(), llvm::IsaPred<attn::SelectionType>))
      return WalkResult::advance();
    op->emitOpError("selects entries; the CPU backend does not run selections yet, expected "
                    "attention to all entries or to a window");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Checks that the step is what a program can express and declares its caches.
static LogicalResult declare(ModuleOp module, kv::StepOp step, ProgramContext &context) {
  FunctionType type = step.getFunctionType();
  if (type.getNumInputs() != 1 || type.getNumResults() != 1 ||
      type.getInput(0) != type.getResult(0) || cast<StreamType>(type.getInput(0)).getEvery() != 1)
    return step.emitOpError("expected one stream of hidden states in and one like it out, found ")
           << type;
  if (failed(checkSelections(step)))
    return failure();
  Program &program = context.planned.program;
  program.hidden = cast<StreamType>(type.getInput(0)).getNumFeatures();
  // One body for all sequences: no batch is split.
  program.prefillThreshold = step.getPrefill().empty() ? 1 : step.getThreshold();
  for (auto cache : module.getOps<kv::CacheOp>()) {
    if (cache.getKind() == kv::CacheKind::State || cache.getEvery() != 1)
      return cache.emitOpError("has no kernels; expected a paged cache or a ring with one entry "
                               "per token");
    context.caches[cache.getSymName()] = program.caches.size();
    program.caches.push_back(cache.getDesc());
  }
  return success();
}

LogicalResult buildProgram(ModuleOp module, PlannedProgram &planned) {
  SmallVector<kv::StepOp> steps(module.getOps<kv::StepOp>());
  if (steps.size() != 1)
    return module.emitError("found ") << steps.size() << " kv.step ops; expected one";
  kv::StepOp step = steps.front();
  planned = {};
  ProgramContext context(planned);
  if (failed(declare(module, step, context)))
    return failure();
  if (failed(BodyBuilder(context, planned.program.decode).build(step.getDecode().front())))
    return failure();
  return BodyBuilder(context, planned.program.prefill).build(step.getPrefillBlock());
}

static void setPanels(std::vector<Launch> &launches, Program &program,
                      const std::map<std::string, int64_t> &panels) {
  for (Launch &launch : launches) {
    setPanels(launch.body, program, panels);
    auto it = panels.find(launch.kernel);
    if (launch.op == "project" && it != panels.end())
      program.weights[launch.weights[0]].panel = it->second;
  }
}

void setPanels(Program &program) {
  std::map<std::string, int64_t> panels;
  for (const KernelDesc &kernel : program.kernels)
    if (auto it = kernel.params.find("panel"); it != kernel.params.end())
      panels[kernel.name] = it->second;
  for (Body *body : {&program.decode, &program.prefill})
    setPanels(body->launches, program, panels);
}

} // namespace attnc
