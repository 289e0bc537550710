//===- EmitElementwise.cpp - map, round and rope ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One block per token; its threads share the channels.
//
//===----------------------------------------------------------------------===//

#include "codegen/NVPTX/Emitters.h"
#include "codegen/NVPTX/RowAccess.h"

using namespace attnc;
using namespace attnc::nvptx;
using namespace mlir;

namespace {

constexpr int64_t kThreads = 128;

EmittedKernel finished(Kernel &k) {
  EmittedKernel made;
  made.threads = k.threads();
  made.dynamicShared = k.sharedBytes();
  made.module = k.finish();
  return made;
}

/// Runs `body` with the head and the channel (i32) of every element.
void forEachElement(Kernel &k, const ViewShape &shape,
                    llvm::function_ref<void(Val h, Val i, Val channel)> body) {
  k.loop(k.tid(), k.i32(shape.channels()), k.threads(), [&](Val c) {
    Val h = c / shape.inner;
    body(h, c - h * shape.inner, c);
  });
}

/// Takes t0 and t1 and gives the block's token (i64).
Val takeToken(Kernel &k) {
  Val t0 = k.integer();
  k.integer(); // t1: the grid has t1 - t0 blocks
  return t0 + k.extend(k.blockX());
}

Val loadOperand(Kernel &k, MapSpec::Operand kind, const ViewArg &x, Val t, Val h, Val i) {
  Val zero = k.i32(0);
  bool perToken = kind == MapSpec::Operand::PerToken;
  bool full = kind == MapSpec::Operand::Full;
  return k.load(x.at(t, perToken ? zero : h, full ? i : zero), k.f32Type(), 4);
}

Val loadConst(Kernel &k, MapSpec::Const kind, Val pointer, Val h, Val i, Val channel) {
  switch (kind) {
  case MapSpec::Const::PerChannel:
    return k.loadF32(pointer, k.extend(channel));
  case MapSpec::Const::PerHead:
    return k.loadF32(pointer, k.extend(h));
  case MapSpec::Const::PerInner:
    return k.loadF32(pointer, k.extend(i));
  case MapSpec::Const::One:
    return k.loadF32(pointer, k.i64(0));
  }
  llvm_unreachable("covered switch");
}

} // namespace

Result<EmittedKernel> nvptx::emitMap(const MapSpec &spec, const EmitTarget &target) {
  Kernel k(target.context, target.name, kThreads);
  llvm::SmallVector<ViewArg> operands;
  for (size_t i = 0; i < spec.operands.size(); ++i)
    operands.push_back(k.view());
  ViewArg y = k.view();
  Vals consts;
  for (size_t i = 0; i < spec.consts.size(); ++i)
    consts.push_back(k.pointer());
  Val t = takeToken(k);

  forEachElement(k, spec.shape, [&](Val h, Val i, Val channel) {
    Vals arguments;
    for (auto [kind, x] : llvm::zip_equal(spec.operands, operands))
      arguments.push_back(loadOperand(k, kind, x, t, h, i));
    for (auto [kind, pointer] : llvm::zip_equal(spec.consts, consts))
      arguments.push_back(loadConst(k, kind, pointer, h, i, channel));
    k.store(k.scalarBody(*spec.body.region, arguments), y.at(t, h, i), 4);
  });
  return finished(k);
}

Result<EmittedKernel> nvptx::emitRound(const RoundSpec &spec, const EmitTarget &target) {
  if (std::string error = checkFormat(spec.format); !error.empty())
    return Error{error};
  Kernel k(target.context, target.name, kThreads);
  ViewArg x = k.view(), y = k.view();
  Val t = takeToken(k);
  forEachElement(k, spec.shape, [&](Val h, Val i, Val) {
    Val value = k.load(x.at(t, h, i), k.f32Type(), 4);
    k.store(roundElement(k, spec.format.elem, value), y.at(t, h, i), 4);
  });
  return finished(k);
}

Result<EmittedKernel> nvptx::emitRope(const RopeSpec &spec, const EmitTarget &target) {
  Kernel k(target.context, target.name, kThreads);
  ViewArg x = k.view(), y = k.view();
  Val cosSin = k.pointer();
  Val t = takeToken(k);
  int64_t pairs = spec.dims / 2, others = spec.shape.inner - spec.dims;

  // A thread reads both channels of a pair before it writes them, so y may be x.
  forEachElement(k, {spec.shape.heads, pairs}, [&](Val h, Val pair, Val) {
    Val a = spec.interleaved ? pair * 2 + spec.first : pair + spec.first;
    Val b = spec.interleaved ? a + 1 : a + pairs;
    Val entry = (t * pairs + k.extend(pair)) * 2;
    Val cos = k.loadF32(cosSin, entry), sin = k.loadF32(cosSin, entry + 1);
    if (spec.inverse)
      sin = k.f32(0) - sin;
    Val u = k.load(x.at(t, h, a), k.f32Type(), 4), v = k.load(x.at(t, h, b), k.f32Type(), 4);
    k.store(u * cos - v * sin, y.at(t, h, a), 4);
    k.store(u * sin + v * cos, y.at(t, h, b), 4);
  });
  if (others > 0)
    forEachElement(k, {spec.shape.heads, others}, [&](Val h, Val i, Val) {
      Val channel = k.select(i < spec.first, i, i + spec.dims);
      k.store(k.load(x.at(t, h, channel), k.f32Type(), 4), y.at(t, h, channel), 4);
    });
  return finished(k);
}
