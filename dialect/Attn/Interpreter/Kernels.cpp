//===- Kernels.cpp - the interpreter's inner loops in f64 -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A projection is blocked so that a panel of the matrix, turned to
// [channel][lane] doubles, stays in the cache while all tokens pass over it.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/Interpreter/Kernels.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cstring>
#include <vector>

#if defined(__x86_64__) && defined(__linux__)
#define ATTNC_CLONES __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define ATTNC_CLONES
#endif

using namespace mlir::attn;

namespace {

constexpr int64_t kLanes = 16;  ///< outputs of a panel
constexpr int64_t kTokens = 4;  ///< tokens per register tile
constexpr int64_t kDepth = 512; ///< channels per pass: a panel of 64 KiB

/// Lanes of a register tile; the compiler splits it to the machine's width.
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double)), aligned(8)));

} // namespace

/// panel[i][lane] = M[o + lane][i0 + i], zero beyond the last output.
static void packPanel(const MatrixView &m, int64_t o, int64_t i0, int64_t depth, double *panel) {
  int64_t lanes = std::min(kLanes, m.out - o);
  if (lanes < kLanes)
    std::fill(panel, panel + depth * kLanes, 0.0);
  const float *corner = m.data + o * m.outStride + i0 * m.inStride;
  for (int64_t lane = 0; lane < lanes; ++lane)
    for (int64_t i = 0; i < depth; ++i)
      panel[i * kLanes + lane] = corner[lane * m.outStride + i * m.inStride];
}

/// acc[t][lane] += sum_i panel[i][lane] * x[t][i] for `tokens` tokens; x and acc
/// are strided by token. The order of a sum is that of i for any `tokens`.
ATTNC_CLONES static void foldPanel(const double *panel, int64_t depth, const double *x,
                                   int64_t xStride, double *acc, int64_t tokens) {
  int64_t t = 0;
  for (; t + kTokens <= tokens; t += kTokens) {
    const double *x0 = x + t * xStride, *x1 = x0 + xStride, *x2 = x1 + xStride,
                 *x3 = x2 + xStride;
    Lanes *out = reinterpret_cast<Lanes *>(acc + t * kLanes);
    Lanes a0 = out[0], a1 = out[1], a2 = out[2], a3 = out[3];
    for (int64_t i = 0; i < depth; ++i) {
      Lanes row = *reinterpret_cast<const Lanes *>(panel + i * kLanes);
      a0 += row * x0[i];
      a1 += row * x1[i];
      a2 += row * x2[i];
      a3 += row * x3[i];
    }
    out[0] = a0, out[1] = a1, out[2] = a2, out[3] = a3;
  }
  for (; t < tokens; ++t) {
    Lanes *out = reinterpret_cast<Lanes *>(acc + t * kLanes);
    Lanes a = *out;
    for (int64_t i = 0; i < depth; ++i)
      a += *reinterpret_cast<const Lanes *>(panel + i * kLanes) * x[t * xStride + i];
    *out = a;
  }
}

void mlir::attn::matmul(const MatrixView &m, const double *x, int64_t xStride, double *y,
                        int64_t yStride, int64_t tokens) {
  auto onePanel = [&](int64_t p) {
    int64_t o = p * kLanes, lanes = std::min(kLanes, m.out - o);
    std::vector<double> panel(kDepth * kLanes), acc(tokens * kLanes);
    for (int64_t i0 = 0; i0 < m.in; i0 += kDepth) {
      int64_t depth = std::min(kDepth, m.in - i0);
      packPanel(m, o, i0, depth, panel.data());
      foldPanel(panel.data(), depth, x + i0, xStride, acc.data(), tokens);
    }
    for (int64_t t = 0; t < tokens; ++t)
      std::memcpy(y + t * yStride + o, acc.data() + t * kLanes, lanes * sizeof(double));
  };
  int64_t panels = (m.out + kLanes - 1) / kLanes;
  // Below about a million multiplications, starting threads costs more.
  if (double(m.out) * double(m.in) * double(tokens) < 1e6)
    for (int64_t p = 0; p < panels; ++p)
      onePanel(p);
  else
    llvm::parallelFor(0, panels, onePanel);
}

ATTNC_CLONES double mlir::attn::dot(const double *a, const double *b, int64_t n) {
  Lanes sums = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    sums += *reinterpret_cast<const Lanes *>(a + i) * *reinterpret_cast<const Lanes *>(b + i);
  double sum = 0;
  for (; i < n; ++i)
    sum += a[i] * b[i];
  for (int64_t lane = 0; lane < kLanes; ++lane)
    sum += sums[lane];
  return sum;
}

ATTNC_CLONES void mlir::attn::dots(const double *a, const double *b, int64_t stride, int64_t n,
                                  double *out, int64_t count) {
  int64_t j = 0, whole = n / kLanes * kLanes;
  // Four rows at a time, so that `a` is loaded once for them.
  for (; j + 4 <= count; j += 4) {
    const double *rows[4] = {b + j * stride, b + (j + 1) * stride, b + (j + 2) * stride,
                             b + (j + 3) * stride};
    Lanes s0 = {}, s1 = {}, s2 = {}, s3 = {};
    for (int64_t i = 0; i < whole; i += kLanes) {
      Lanes x = *reinterpret_cast<const Lanes *>(a + i);
      s0 += x * *reinterpret_cast<const Lanes *>(rows[0] + i);
      s1 += x * *reinterpret_cast<const Lanes *>(rows[1] + i);
      s2 += x * *reinterpret_cast<const Lanes *>(rows[2] + i);
      s3 += x * *reinterpret_cast<const Lanes *>(rows[3] + i);
    }
    const Lanes *sums[4] = {&s0, &s1, &s2, &s3};
    for (int64_t r = 0; r < 4; ++r) {
      double sum = 0;
      for (int64_t i = whole; i < n; ++i)
        sum += a[i] * rows[r][i];
      for (int64_t lane = 0; lane < kLanes; ++lane)
        sum += (*sums[r])[lane];
      out[j + r] = sum;
    }
  }
  for (; j < count; ++j)
    out[j] = dot(a, b + j * stride, n);
}

ATTNC_CLONES void mlir::attn::addScaled(double *y, double a, const double *x, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    y[i] += a * x[i];
}
