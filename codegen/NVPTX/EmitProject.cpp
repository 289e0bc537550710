//===- EmitProject.cpp - projections on the matrix units --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// y[t, g, o] = sum_i x[t, g, i] M[g, o, i] for a block of 64 tokens and 64
// outputs of one group: the grid is (groups * ceil(out / 64), ceil(tokens / 64)).
// Weights are bf16 rows (docs/gpu.md, "Weights"); x is rounded to bf16 on its
// way to shared memory; sums are f32. While 64 input channels are multiplied,
// the next 64 are loaded.
//
//===----------------------------------------------------------------------===//

#include "codegen/NVPTX/Emitters.h"
#include "codegen/NVPTX/RowAccess.h"

#include "llvm/Support/MathExtras.h"

using namespace attnc;
using namespace attnc::nvptx;

namespace {

constexpr int64_t kThreads = 128; // two warps along tokens, two along outputs
constexpr int64_t kTokens = 64, kOutputs = 64, kDepth = 64;
constexpr int64_t kPitch = kDepth * 2 + 16; // bytes; see AttendTile::pitch
constexpr int64_t kStage = (kTokens + kOutputs) * kPitch;

class ProjectKernel {
public:
  ProjectKernel(const ProjectSpec &spec, const EmitTarget &target)
      : spec(spec), k(target.context, target.name, kThreads) {
    rowLength = llvm::alignTo(spec.in, 8);
    sharedAt = k.reserveShared(2 * kStage);
  }
  EmittedKernel emit();

private:
  void loadStage(Val depth, Val stage);
  void loadInputs(Val depth, Val to);
  void loadWeights(Val depth, Val to);
  void multiply(Val stage, Vals &sums);
  void store(const Vals &sums);

  const ProjectSpec &spec;
  Kernel k;
  int64_t rowLength = 0, sharedAt = 0;
  ViewArg x, y;
  Val weights, bias, t0, t1;
  Val group, firstOutput; ///< i32
  Val firstToken;         ///< i64
  Val lane, warp;
};

/// Row `i` of the stage holds channels [depth, depth + 64) of token i, zeros
/// where there is no such token or channel.
void ProjectKernel::loadInputs(Val depth, Val to) {
  Val head = spec.sharedInput ? k.i32(0) : group;
  Val channel = depth + lane * 2;
  for (int64_t i = 0; i < kTokens / 4; ++i) {
    Val row = warp * (kTokens / 4) + i;
    Val token = firstToken + k.extend(row);
    Val known = k.min(token, t1 - 1);
    auto element = [&](Val c) {
      Val from = k.min(c, k.i32(spec.in - 1));
      Val value = k.load(x.at(known, head, from), k.f32Type(), 4);
      return k.select((token < t1) & (c < spec.in), value, k.f32(0));
    };
    Val first = element(channel);
    Val packed = packBF16(k, first, element(channel + 1));
    k.store(packed, k.shared(to + row * kPitch + lane * 4), 4);
  }
}

/// Row `i` of the stage holds channels [depth, depth + 64) of output i.
void ProjectKernel::loadWeights(Val depth, Val to) {
  // 64 rows of 8 chunks of 16 bytes: four chunks per thread.
  Val chunk = lane & 7;
  Val channel = depth + chunk * 8;
  for (int64_t i = 0; i < 4; ++i) {
    Val row = warp * 16 + (lane >> 3) + i * 4;
    Val output = firstOutput + row;
    Val exists = (output < spec.out) & (channel < rowLength);
    Val known = k.select(exists, output, k.i32(0));
    Val from = k.select(exists, channel, k.i32(0));
    Val number = (k.extend(group) * spec.out + k.extend(known)) * rowLength + k.extend(from);
    k.device("attn_dev_cp_async_16",
             {k.shared(to + row * kPitch + chunk * 16), k.offset(weights, number * 2),
              k.select(exists, k.i32(16), k.i32(0))});
  }
}

void ProjectKernel::loadStage(Val depth, Val stage) {
  Val to = stage * kStage + sharedAt;
  loadWeights(depth, to + kTokens * kPitch);
  loadInputs(depth, to);
  k.device("attn_dev_cp_async_commit");
}

/// Each warp has 32 tokens (two blocks of 16) and 32 outputs (four of 8).
void ProjectKernel::multiply(Val stage, Vals &sums) {
  Val base = stage * kStage + sharedAt;
  Val a = base + ((warp >> 1) * 32 + (lane & 15)) * kPitch + (lane >> 4) * 16;
  Val b = base + ((warp & 1) * 32 + (lane & 7) + (lane >> 4) * 8 + kTokens) * kPitch +
          ((lane >> 3) & 1) * 16;
  for (int64_t step = 0; step < kDepth / 16; ++step) {
    Val left[2];
    for (int64_t m : {0, 1})
      left[m] = k.device("attn_dev_ldmatrix_x4", {k.shared(a + (m * 16 * kPitch + step * 32))});
    for (int64_t pair : {0, 1}) {
      Val right =
          k.device("attn_dev_ldmatrix_x4", {k.shared(b + (pair * 16 * kPitch + step * 32))});
      for (int64_t n : {0, 1})
        for (int64_t m : {0, 1}) {
          Val &sum = sums[m * 4 + pair * 2 + n];
          sum = k.device("attn_dev_mma_m16n8k16_bf16",
                         {left[m], k.lanes(right, {n * 2, n * 2 + 1}), sum});
        }
    }
  }
}

void ProjectKernel::store(const Vals &sums) {
  Val tokenBase = firstToken + k.extend((warp >> 1) * 32 + (lane >> 2));
  Val outputBase = firstOutput + (warp & 1) * 32 + (lane & 3) * 2;
  for (int64_t n = 0; n < 4; ++n)
    for (int64_t which : {0, 1}) {
      Val output = outputBase + (n * 8 + which);
      k.when(output < spec.out, [&] {
        Val add = k.f32(0);
        if (spec.bias)
          add = k.loadF32(bias, k.extend(group * spec.out + output));
        for (int64_t m : {0, 1})
          for (int64_t half : {0, 1}) {
            Val token = tokenBase + (m * 16 + half * 8);
            Val value = k.lane(sums[m * 4 + n], half * 2 + which) + add;
            k.when(token < t1, [&] { k.store(value, y.at(token, group, output), 4); });
          }
      });
    }
}

EmittedKernel ProjectKernel::emit() {
  x = k.view();
  y = k.view();
  weights = k.pointer();
  bias = k.pointer();
  t0 = k.integer();
  t1 = k.integer();
  int64_t panels = llvm::divideCeil(spec.out, kOutputs);
  Val block = k.blockX();
  group = block / panels;
  firstOutput = (block - group * panels) * kOutputs;
  firstToken = t0 + k.extend(k.blockY()) * kTokens;
  lane = k.tid() & 31;
  warp = k.tid() >> 5;

  Val zero = k.f32(0), zeros = k.lanes({zero, zero, zero, zero});
  int64_t steps = llvm::divideCeil(spec.in, kDepth);
  loadStage(k.i32(0), k.i32(0));
  // The barrier tells that a stage has arrived for all, and that all are done
  // with the one before it, which is then filled again.
  Vals sums = k.loop(k.i32(0), k.i32(steps), 1, Vals(8, zeros),
                     [&](Val step, llvm::ArrayRef<Val> carried) {
                       k.device("attn_dev_cp_async_wait", {k.i32(0)});
                       k.barrier();
                       Val next = step + 1;
                       k.when(next < steps, [&] { loadStage(next * kDepth, next & 1); });
                       Vals sums(carried.begin(), carried.end());
                       multiply(step & 1, sums);
                       return sums;
                     });
  store(sums);

  EmittedKernel made;
  made.threads = kThreads;
  made.dynamicShared = k.sharedBytes();
  made.params = {{"grid_x", spec.groups * panels},
                 {"block_tokens", kTokens},
                 {"row_length", rowLength}};
  made.module = k.finish();
  return made;
}

} // namespace

Result<EmittedKernel> nvptx::emitProject(const ProjectSpec &spec, const EmitTarget &target) {
  return ProjectKernel(spec, target).emit();
}
