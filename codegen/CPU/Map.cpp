//===- Map.cpp - the map and round kernels of CPU code ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Emitters.h"
#include "codegen/CPU/Kernel.h"
#include "codegen/CPU/Pieces/Elements.h"
#include "codegen/CPU/Pieces/Region.h"

using namespace mlir;

namespace attnc::cpu {
namespace {

Val loadOperand(Emit &e, const ViewArg &view, MapSpec::Operand kind, Val t, Val h, Val c,
                int64_t n) {
  switch (kind) {
  case MapSpec::Operand::Full:
    return view.row(t, h).load(c, n);
  case MapSpec::Operand::PerHead:
    return e.splat(view.row(t, h).load(e.index(0)), n);
  case MapSpec::Operand::PerToken:
    break;
  }
  return e.splat(view.row(t).load(e.index(0)), n);
}

Val loadConst(Emit &e, Mem values, MapSpec::Const kind, int64_t inner, Val h, Val c, int64_t n) {
  switch (kind) {
  case MapSpec::Const::PerChannel:
    return values.load(h * inner + c, n);
  case MapSpec::Const::PerHead:
    return e.splat(values.load(h), n);
  case MapSpec::Const::PerInner:
    return values.load(c, n);
  case MapSpec::Const::One:
    break;
  }
  return e.splat(values.load(e.index(0)), n);
}

/// body(token, head) for the tokens of an item.
void forHeads(Emit &e, Val from, Val to, int64_t heads, function_ref<void(Val, Val)> body) {
  e.loop(from, to, 1, [&](Val t) {
    e.loop(e.index(0), e.index(heads), 1, [&](Val h) { body(t, h); });
  });
}

} // namespace

std::string checkMap(const MapSpec &spec, const CpuTarget &) { return checkBody(spec.body); }

void emitMap(ModuleOp module, const std::string &name, const MapSpec &spec,
             const CpuTarget &target) {
  KernelScope kernel(module, name + bodySuffix, target);
  Emit &e = kernel.e;
  SmallVector<ViewArg> operands;
  for (size_t i = 0; i < spec.operands.size(); ++i)
    operands.push_back(kernel.view());
  ViewArg y = kernel.view();
  SmallVector<Mem> consts;
  for (size_t i = 0; i < spec.consts.size(); ++i)
    consts.push_back(kernel.floats());
  Val from = kernel.integer(), to = kernel.integer();
  forHeads(e, from, to, spec.shape.heads, [&](Val t, Val h) {
    forChunks(e, spec.shape.inner, [&](Val c, int64_t n) {
      Vals arguments;
      for (auto [view, kind] : llvm::zip(operands, spec.operands))
        arguments.push_back(loadOperand(e, view, kind, t, h, c, n));
      for (auto [values, kind] : llvm::zip(consts, spec.consts))
        arguments.push_back(loadConst(e, values, kind, spec.shape.inner, h, c, n));
      y.row(t, h).store(spec.body.region ? apply(e, spec.body, arguments) : arguments[0], c);
    });
  });
}

std::string checkRound(const RoundSpec &spec, const CpuTarget &target) {
  return checkFormat(spec.format, target);
}

void emitRound(ModuleOp module, const std::string &name, const RoundSpec &spec,
               const CpuTarget &target) {
  KernelScope kernel(module, name + bodySuffix, target);
  Emit &e = kernel.e;
  ViewArg x = kernel.view(), y = kernel.view();
  Val from = kernel.integer(), to = kernel.integer();
  forHeads(e, from, to, spec.shape.heads, [&](Val t, Val h) {
    forChunks(e, spec.shape.inner, [&](Val c, int64_t n) {
      y.row(t, h).store(roundTo(e, spec.format, x.row(t, h).load(c, n)), c);
    });
  });
}

} // namespace attnc::cpu
