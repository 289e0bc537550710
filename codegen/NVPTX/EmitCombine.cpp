//===- EmitCombine.cpp - merging the splits of a softmax state --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One block per token and head: the grid is (tokens, heads). Every thread finds
// the weights of the splits for itself (they are few), then sums its channels.
//
//===----------------------------------------------------------------------===//

#include "codegen/NVPTX/Emitters.h"
#include "codegen/NVPTX/Kernel.h"

#include "formats/KernelAbi.h"

#include <cmath>

using namespace attnc;
using namespace attnc::nvptx;

namespace {

constexpr int64_t kThreads = 128;
const double kLog2E = 1 / std::log(2.0);

Val exp2(Kernel &k, Val x) { return k.device("attn_dev_ex2", {x}); }

/// The states of one (token, head), one per split.
struct States {
  Val max, sum;   ///< arrays
  Val first;      ///< i64: index of split 0
  Val stride;     ///< i64: from split to split
  Val splits;     ///< i32

  Val index(Val split) const { return first + split.kernel().extend(split) * stride; }

  /// Whether a split has seen nothing; then only its sum means anything.
  Val isEmpty(Kernel &k, Val at) const { return k.loadF32(sum, at) == k.f32(0); }
  Val top(Kernel &k, Val at) const {
    return k.select(isEmpty(k, at), k.f32(kEmptyMax), k.loadF32(max, at));
  }
  /// `x` times 2^(max - top); 0 for an empty split, whatever x is.
  Val weighted(Kernel &k, Val at, Val top, Val x) const {
    Val scaled = exp2(k, this->top(k, at) - top) * x;
    return k.select(isEmpty(k, at), k.f32(0), scaled);
  }
};

/// The greatest maximum, the sink's (log2 units) included.
Val findTop(Kernel &k, const States &states, Val sink) {
  Vals top = k.loop(k.i32(0), states.splits, 1, {k.f32(kEmptyMax)},
                    [&](Val split, llvm::ArrayRef<Val> carried) {
                      return Vals{k.maxNaN(carried[0], states.top(k, states.index(split)))};
                    });
  return sink ? k.maxNaN(top[0], sink) : top[0];
}

} // namespace

Result<EmittedKernel> nvptx::emitCombine(const CombineSpec &spec, const EmitTarget &target) {
  Kernel k(target.context, target.name, kThreads);
  Val acc = k.pointer(), max = k.pointer(), sum = k.pointer();
  Val splits = k.truncate(k.integer()), tokens = k.integer();
  Val sinks = k.pointer();
  ViewArg y = k.view();
  Val t0 = k.integer();
  k.integer(); // t1: the grid has t1 - t0 blocks on its first axis
  Val t = t0 + k.extend(k.blockX()), head = k.blockY();

  States states{max, sum, t * spec.heads + k.extend(head), tokens * spec.heads, splits};
  // log2(e) times a logit in base e is a logit in base 2; -inf means no sink.
  Val sink = spec.sink ? k.loadF32(sinks, k.extend(head)) * k.f32(kLog2E) : Val();
  Val top = findTop(k, states, sink);
  Val sunk = sink ? exp2(k, sink - top) : k.f32(0);
  Vals total = k.loop(k.i32(0), splits, 1, {sunk}, [&](Val split, llvm::ArrayRef<Val> carried) {
    Val at = states.index(split);
    return Vals{carried[0] + states.weighted(k, at, top, k.loadF32(sum, at))};
  });
  // A row that has seen nothing is 0, with or without a sink.
  Val factor = k.select(total[0] == k.f32(0), k.f32(0), k.f32(1) / total[0]);

  k.loop(k.tid(), k.i32(spec.dv), kThreads, [&](Val c) {
    Vals value = k.loop(k.i32(0), splits, 1, {k.f32(0)}, [&](Val split, llvm::ArrayRef<Val> sofar) {
      Val at = states.index(split);
      Val part = k.loadF32(acc, at * spec.dv + k.extend(c));
      return Vals{sofar[0] + states.weighted(k, at, top, part)};
    });
    k.store(value[0] * factor, y.at(t, head, c), 4);
  });

  EmittedKernel made;
  made.threads = kThreads;
  made.params["grid_y"] = spec.heads;
  made.module = k.finish();
  return made;
}
