//===- bench-project.cpp - speed of compiled projections --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One iteration is one projection of T tokens, 7168 -> 1536 channels, f32, cut
// into items as the executor cuts them. peer/ lines are OpenBLAS, where it was
// found; run them with OPENBLAS_CORETYPE=SkylakeX, or it may not see AVX-512 on
// machines that are newer than it.
//
//===----------------------------------------------------------------------===//
#include "bench/Measure.h"
#include "runtime/ThreadPool.h"
#include "test/unit/CpuKernels.h"

#ifdef ATTNC_HAVE_CBLAS
#include <cblas.h>
extern "C" void openblas_set_num_threads(int threads);
#endif

#include <algorithm>

using namespace attnc;
using namespace attnc::bench;

namespace {

constexpr int64_t in = 7168, out = 1536;

std::vector<float> someNumbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t random = 1;
  for (float &x : values)
    x = float((random = random * 1664525 + 1013904223) >> 8) / float(1 << 24) - 0.5f;
  return values;
}

double flops(int64_t tokens) { return 2.0 * double(tokens * in * out); }
double bytes(int64_t tokens) { return 4.0 * double(in * out + tokens * (in + out)); }

void runProject(benchmark::State &state, int64_t tokens, int threads) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ProjectSpec spec;
  spec.in = in;
  spec.out = out;
  test::LoadedKernels kernels(context, {{"project", spec}});
  if (!kernels.error.empty())
    return state.SkipWithError(kernels.error.c_str());
  KernelFn project = kernels.find("project");
  int64_t panels = out / kernels.desc("project").params.at("panel");
  int64_t tile = kernels.desc("project").params.at("tokens");
  std::vector<float> x = someNumbers(tokens * in), w = someNumbers(in * out);
  std::vector<float> y(size_t(tokens * out));
  ThreadPool pool(threads);
  int64_t tiles = (tokens + tile - 1) / tile;
  measure(
      state, threads,
      [&] {
        pool.parallelFor(panels * tiles, [&](int64_t item, int) {
          test::Arguments args;
          args.view(x.data(), in, in).view(y.data(), out, out).pointer(w.data());
          args.pointer(nullptr).integer(item / tiles);
          int64_t first = item % tiles * tile;
          args.integer(first).integer(std::min(tokens, first + tile)).call(project);
        });
      },
      flops(tokens), tokens == 1 ? bytes(tokens) : 0);
}

#ifdef ATTNC_HAVE_CBLAS
void runBlas(benchmark::State &state, int64_t tokens, int threads) {
  std::vector<float> x = someNumbers(tokens * in), w = someNumbers(in * out);
  std::vector<float> y(size_t(tokens * out));
  openblas_set_num_threads(threads);
  measure(
      state, threads,
      [&] {
        if (tokens == 1)
          cblas_sgemv(CblasRowMajor, CblasNoTrans, out, in, 1, w.data(), in, x.data(), 1, 0,
                      y.data(), 1);
        else
          cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, int(tokens), out, in, 1,
                      x.data(), in, w.data(), in, 0, y.data(), out);
      },
      flops(tokens), tokens == 1 ? bytes(tokens) : 0);
}
#endif

} // namespace

int main(int argc, char **argv) {
  for (int64_t tokens : {1, 4, 64, 512}) {
    std::string shape = "/7168x1536/t" + std::to_string(tokens);
    add("project" + shape, [=](benchmark::State &state, int threads) {
      runProject(state, tokens, threads);
    });
#ifdef ATTNC_HAVE_CBLAS
    add("peer" + shape, [=](benchmark::State &state, int threads) {
      runBlas(state, tokens, threads);
    });
#endif
  }
  return runBenches(argc, argv);
}
