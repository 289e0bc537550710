//===- Combine.cpp - the combine kernel of CPU code -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Emitters.h"
#include "codegen/CPU/Kernel.h"
#include "codegen/CPU/Pieces/Elements.h"
#include "codegen/CPU/Pieces/Exp2.h"
#include "formats/KernelAbi.h"

#include <cmath>

using namespace mlir;

namespace attnc::cpu {
namespace {

/// The splits of one row: split s has its sum at sum[s * stride].
struct Splits {
  Emit &e;
  Mem acc, max, sum;
  Val count, stride;
  int64_t dv;

  /// A split without entries has sum 0, and nothing else of it is defined. NaN
  /// is not 0.
  Val used(Val s) const {
    return e.wrap(e.b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::UNE,
                                            sum.load(s * stride), e.f32(0)));
  }
  Vals fold(ArrayRef<Val> start, function_ref<Vals(Val, ArrayRef<Val>)> body) const {
    return e.loop(e.index(0), count, 1, start, [&](Val s, ArrayRef<Val> so) {
      return e.choose(
          used(s), [&] { return body(s, so); }, [&] { return Vals(so); });
    });
  }
  Val weight(Val s, Val greatest) const { return exp2(max.load(s * stride) - greatest); }
};

/// y[c ..] = sum over splits of weight * acc / total, `vectors` vectors of `n`.
void mergeChannels(const Splits &splits, Val greatest, Val total, Mem y, Val c, int64_t n,
                   int64_t vectors) {
  Emit &e = splits.e;
  Val zero = e.splat(e.f32(0), n);
  Vals sums = splits.fold(Vals(vectors, zero), [&](Val s, ArrayRef<Val> so) {
    Val weight = e.splat(splits.weight(s, greatest), n);
    Mem acc = splits.acc.at(s * splits.stride * splits.dv);
    Vals next;
    for (int64_t i = 0; i < vectors; ++i)
      next.push_back(e.fma(weight, acc.load(c + i * n, n), so[i]));
    return next;
  });
  Val nothing = e.splat(equal(total, e.f32(0)), n), divisor = e.splat(total, n);
  for (int64_t i = 0; i < vectors; ++i)
    y.store(e.select(nothing, zero, sums[i] / divisor), c + i * n);
}

void mergeRow(const Splits &splits, const Val *sink, Mem y) {
  Emit &e = splits.e;
  Val least = e.f32(kEmptyMax);
  Val greatest = splits.fold({least}, [&](Val s, ArrayRef<Val> so) {
    return Vals{e.maxSecondNaN(so[0], splits.max.load(s * splits.stride))};
  })[0];
  Val start = e.f32(0);
  if (sink) {
    Val logit = *sink * e.f32(1 / std::log(2.0));
    greatest = e.maxSecondNaN(greatest, logit);
    start = exp2(logit - greatest);
  }
  Val total = splits.fold({start}, [&](Val s, ArrayRef<Val> so) {
    return Vals{so[0] + splits.weight(s, greatest) * splits.sum.load(s * splits.stride)};
  })[0];

  constexpr int64_t vectors = 8;
  int64_t n = e.lanes(), whole = splits.dv / (vectors * n) * (vectors * n);
  if (whole)
    e.loop(e.index(0), e.index(whole), vectors * n, [&](Val c) {
      mergeChannels(splits, greatest, total, y, c, n, vectors);
    });
  forChunks(e, splits.dv - whole, [&](Val c, int64_t few) {
    mergeChannels(splits, greatest, total, y, c + whole, few, 1);
  });
}

} // namespace

void emitCombine(ModuleOp module, const std::string &name, const CombineSpec &spec,
                 const CpuTarget &target) {
  KernelScope kernel(module, name + bodySuffix, target);
  Emit &e = kernel.e;
  Mem acc = kernel.floats(), max = kernel.floats(), sum = kernel.floats();
  Val count = kernel.integer(), tokens = kernel.integer();
  Mem sinks = kernel.floats();
  ViewArg y = kernel.view();
  Val from = kernel.integer(), to = kernel.integer();
  e.loop(from, to, 1, [&](Val t) {
    e.loop(e.index(0), e.index(spec.heads), 1, [&](Val h) {
      Val row = t * spec.heads + h;
      Splits splits{e, acc.at(row * spec.dv), max.at(row), sum.at(row),
                    count, tokens * spec.heads, spec.dv};
      Val sink;
      if (spec.sink)
        sink = sinks.load(h);
      mergeRow(splits, spec.sink ? &sink : nullptr, y.row(t, h));
    });
  });
}

} // namespace attnc::cpu
