//===- Rope.cpp - the rope kernel of CPU code -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Emitters.h"
#include "codegen/CPU/Kernel.h"
#include "codegen/CPU/Pieces/Elements.h"

using namespace mlir;

namespace attnc::cpu {
namespace {

SmallVector<int64_t> everySecond(int64_t n, int64_t first) {
  SmallVector<int64_t> from;
  for (int64_t i = 0; i < n; ++i)
    from.push_back(2 * i + first);
  return from;
}

SmallVector<int64_t> interleave(int64_t n) {
  SmallVector<int64_t> from;
  for (int64_t i = 0; i < n; ++i) {
    from.push_back(i);
    from.push_back(n + i);
  }
  return from;
}

/// Rotates `n` pairs from pair `pair` on. Reads before it writes: x may be y.
void rotate(Emit &e, const RopeSpec &spec, Mem x, Mem y, Mem table, Val pair, int64_t n) {
  Val turns = table.load(pair * 2, 2 * n);
  Val cos = e.shuffle(turns, everySecond(n, 0)), sin = e.shuffle(turns, everySecond(n, 1));
  if (spec.inverse)
    sin = e.constant(sin.type(), 0) - sin;
  if (spec.interleaved) {
    Val both = x.load(pair * 2, 2 * n);
    Val even = e.shuffle(both, everySecond(n, 0)), odd = e.shuffle(both, everySecond(n, 1));
    Val a = even * cos - odd * sin, b = even * sin + odd * cos;
    y.store(e.shuffle(a, b, interleave(n)), pair * 2);
    return;
  }
  Val second = pair + spec.dims / 2;
  Val low = x.load(pair, n), high = x.load(second, n);
  y.store(low * cos - high * sin, pair);
  y.store(low * sin + high * cos, second);
}

} // namespace

void emitRope(ModuleOp module, const std::string &name, const RopeSpec &spec,
              const CpuTarget &target) {
  KernelScope kernel(module, name + bodySuffix, target);
  Emit &e = kernel.e;
  ViewArg x = kernel.view(), y = kernel.view();
  Mem tables = kernel.floats();
  Val from = kernel.integer(), to = kernel.integer();
  int64_t after = spec.first + spec.dims;
  e.loop(from, to, 1, [&](Val t) {
    Mem table = tables.at(t * spec.dims);
    e.loop(e.index(0), e.index(spec.shape.heads), 1, [&](Val h) {
      Mem in = x.row(t, h), out = y.row(t, h);
      auto copy = [&](int64_t first, int64_t count) {
        forChunks(e, count, [&](Val c, int64_t n) {
          out.at(first).store(in.at(first).load(c, n), c);
        });
      };
      copy(0, spec.first);
      copy(after, spec.shape.inner - after);
      forChunks(
          e, spec.dims / 2,
          [&](Val pair, int64_t n) {
            rotate(e, spec, in.at(spec.first), out.at(spec.first), table, pair, n);
          },
          e.lanes() / 2);
    });
  });
}

} // namespace attnc::cpu
