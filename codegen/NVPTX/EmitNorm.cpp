//===- EmitNorm.cpp - root-mean-square normalisation ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One block per normalised vector: the grid is (tokens, vectors of a token).
// Each thread squares its share, the lanes of a warp add theirs, then the warps.
//
//===----------------------------------------------------------------------===//

#include "codegen/NVPTX/Emitters.h"
#include "codegen/NVPTX/Kernel.h"

using namespace attnc;
using namespace attnc::nvptx;

namespace {

constexpr int64_t kThreads = 128;

/// The sum of `part` over the block, the same bits in every thread.
Val sumOverBlock(Kernel &k, Val part) {
  int64_t place = k.reserveShared(kThreads / 32 * 4);
  Val tid = k.tid();
  Val sum = k.sumOverLanes(part, 31);
  k.when((tid & 31) == 0,
         [&] { k.store(sum, k.shared((tid >> 5) * 4 + place), 4); });
  k.barrier();
  Val total = k.f32(0);
  for (int64_t warp = 0; warp < kThreads / 32; ++warp)
    total = total + k.load(k.shared(k.i32(place + warp * 4)), k.f32Type(), 4);
  return total;
}

} // namespace

Result<EmittedKernel> nvptx::emitNorm(const NormSpec &spec, const EmitTarget &target) {
  Kernel k(target.context, target.name, kThreads);
  ViewArg x = k.view(), y = k.view();
  Val gamma = k.pointer();
  Val t0 = k.integer();
  k.integer(); // t1: the grid has t1 - t0 blocks on its first axis
  Val t = t0 + k.extend(k.blockX());
  Val head = k.blockY();
  int64_t length = spec.perHead ? spec.shape.inner : spec.shape.channels();

  // Element c of this block's vector.
  auto at = [&](const ViewArg &view, Val c) {
    if (spec.perHead)
      return view.at(t, head, c);
    Val h = c / spec.shape.inner;
    return view.at(t, h, c - h * spec.shape.inner);
  };
  Vals squares = k.loop(k.tid(), k.i32(length), kThreads, {k.f32(0)},
                        [&](Val c, llvm::ArrayRef<Val> sum) {
                          Val value = k.load(at(x, c), k.f32Type(), 4);
                          return Vals{k.fma(value, value, sum[0])};
                        });
  Val mean = sumOverBlock(k, squares[0]) / k.f32(static_cast<double>(length));
  Val factor = k.f32(1) / k.sqrt(mean + k.f32(spec.eps));
  k.loop(k.tid(), k.i32(length), kThreads, [&](Val c) {
    Val value = k.load(at(x, c), k.f32Type(), 4) * factor;
    if (spec.weight)
      value = value * k.loadF32(gamma, k.extend(c));
    k.store(value, at(y, c), 4);
  });

  EmittedKernel made;
  made.threads = kThreads;
  made.dynamicShared = k.sharedBytes();
  made.params["grid_y"] = spec.perHead ? spec.shape.heads : 1;
  made.module = k.finish();
  return made;
}
