//===- Norm.cpp - the norm kernel of CPU code -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Emitters.h"
#include "codegen/CPU/Kernel.h"
#include "codegen/CPU/Pieces/Elements.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attnc::cpu {
namespace {

/// The sum of the squares of `count` values. Many short sums, added pairwise,
/// lose less than one long one.
Val sumOfSquares(Emit &e, Mem x, int64_t count) {
  constexpr int64_t chains = 4;
  int64_t n = e.lanes(), whole = count / (chains * n) * (chains * n);
  Val total = e.f32(0);
  if (whole) {
    Vals zeros(chains, e.splat(e.f32(0), n));
    Vals sums = e.loop(e.index(0), e.index(whole), chains * n, zeros,
                       [&](Val c, ArrayRef<Val> so) {
                         Vals next;
                         for (int64_t i = 0; i < chains; ++i) {
                           Val v = x.load(c + i * n, n);
                           next.push_back(e.fma(v, v, so[i]));
                         }
                         return next;
                       });
    total = e.addLanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
  for (int64_t c = whole; c < count;) {
    while (n > count - c)
      n /= 2;
    Val v = x.load(e.index(c), n);
    total = total + e.addLanes(v * v);
    c += n;
  }
  return total;
}

void scaleRow(Emit &e, Mem x, Mem y, Val factor, const Mem *gamma, int64_t count) {
  forChunks(e, count, [&](Val c, int64_t n) {
    Val v = x.load(c, n) * e.splat(factor, n);
    y.store(gamma ? v * gamma->load(c, n) : v, c);
  });
}

/// 1 / sqrt(mean + eps).
Val factorOf(Emit &e, Val sum, int64_t count, double eps) {
  Val mean = sum / e.f32(double(count)) + e.f32(eps);
  return e.f32(1) / e.wrap(e.b.create<math::SqrtOp>(e.loc, mean));
}

} // namespace

void emitNorm(ModuleOp module, const std::string &name, const NormSpec &spec,
              const CpuTarget &target) {
  KernelScope kernel(module, name + bodySuffix, target);
  Emit &e = kernel.e;
  ViewArg x = kernel.view(), y = kernel.view();
  Mem gamma = kernel.floats();
  Val from = kernel.integer(), to = kernel.integer();
  Val zero = e.index(0), heads = e.index(spec.shape.heads);
  int64_t inner = spec.shape.inner;
  e.loop(from, to, 1, [&](Val t) {
    if (spec.perHead) {
      e.loop(zero, heads, 1, [&](Val h) {
        Val factor = factorOf(e, sumOfSquares(e, x.row(t, h), inner), inner, spec.eps);
        scaleRow(e, x.row(t, h), y.row(t, h), factor, spec.weight ? &gamma : nullptr, inner);
      });
      return;
    }
    Vals sum = e.loop(zero, heads, 1, {e.f32(0)}, [&](Val h, ArrayRef<Val> so) {
      return Vals{so[0] + sumOfSquares(e, x.row(t, h), inner)};
    });
    Val factor = factorOf(e, sum[0], spec.shape.channels(), spec.eps);
    e.loop(zero, heads, 1, [&](Val h) {
      Mem weights = gamma.at(h * inner);
      scaleRow(e, x.row(t, h), y.row(t, h), factor, spec.weight ? &weights : nullptr, inner);
    });
  });
}

} // namespace attnc::cpu
