//===- Kernels.h - the interpreter's inner loops in f64 ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Plain loops over doubles. Each result is one sum in a fixed order, so it does
// not depend on how many tokens are computed together or on threads.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_DIALECT_ATTN_INTERPRETER_KERNELS_H
#define ATTNC_DIALECT_ATTN_INTERPRETER_KERNELS_H

#include <cstdint>

namespace mlir::attn {

/// A matrix M[o][i] = data[o * outStride + i * inStride].
struct MatrixView {
  const float *data;
  int64_t out, in;
  int64_t outStride, inStride;
};

/// y[t * yStride + o] = sum_i M[o][i] * x[t * xStride + i] for t < tokens.
void matmul(const MatrixView &m, const double *x, int64_t xStride, double *y, int64_t yStride,
            int64_t tokens);

/// sum_i a[i] * b[i].
double dot(const double *a, const double *b, int64_t n);

/// out[j] = dot(a, b + j * stride, n) for j < count, to the last bit.
void dots(const double *a, const double *b, int64_t stride, int64_t n, double *out, int64_t count);

/// y[i] += a * x[i].
void addScaled(double *y, double a, const double *x, int64_t n);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_INTERPRETER_KERNELS_H
