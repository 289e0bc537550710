//===- WeightPack.cpp - weights as kernels want them ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/WeightPack.h"
#include "runtime/ThreadPool.h"

#include <algorithm>

namespace attnc {

static PackedWeight packVector(const WeightUse &use, const float *values,
                               int64_t count) {
  PackedWeight packed;
  packed.out = count;
  auto *to = static_cast<float *>(packed.storage.reserve(count * 4));
  for (int64_t i = 0; i < count; ++i)
    to[i] = float(double(values[i]) + use.add);
  return packed;
}

/// One panel: outputs [first, first + panel) of a group, zero beyond the last.
static void packPanel(const WeightUse &use, const float *group, int64_t cols,
                      const PackedWeight &shape, int64_t first, float *to) {
  int64_t width = std::min(shape.panel, shape.out - first);
  const float *rows = group + use.rowBegin * cols;
  if (use.transpose) {
    // y_o = sum_i T[begin + i][o] x_i: the tensor's rows are the inputs.
    for (int64_t i = 0; i < shape.in; ++i) {
      std::copy_n(rows + i * cols + first, width, to + i * shape.panel);
      std::fill_n(to + i * shape.panel + width, shape.panel - width, 0.0f);
    }
    return;
  }
  // A few columns of all rows at a time, so that both sides of the transposition
  // stay in the first cache.
  constexpr int64_t block = 64;
  for (int64_t begin = 0; begin < shape.in; begin += block)
    for (int64_t o = 0; o < shape.panel; ++o)
      for (int64_t i = begin; i < std::min(shape.in, begin + block); ++i)
        to[i * shape.panel + o] =
            o < width ? rows[(first + o) * cols + i] : 0.0f;
}

static PackedWeight packPanels(const WeightUse &use, const float *values,
                               int64_t count, ThreadPool &pool) {
  int64_t cols = use.shape.back(), groupRows = count / cols / use.groups;
  PackedWeight packed;
  packed.in = use.transpose ? use.rowCount : cols;
  packed.out = use.transpose ? cols : use.rowCount;
  packed.panel = use.panel;
  int64_t perGroup = (packed.out + use.panel - 1) / use.panel;
  packed.panels = perGroup * use.groups;
  int64_t panelSize = packed.in * use.panel;
  auto *to =
      static_cast<float *>(packed.storage.reserve(packed.panels * panelSize * 4));
  pool.parallelFor(packed.panels, [&](int64_t number, int) {
    const float *group = values + number / perGroup * groupRows * cols;
    packPanel(use, group, cols, packed, number % perGroup * use.panel,
              to + number * panelSize);
  });
  return packed;
}

Result<PackedWeight> packWeight(const WeightUse &use, WeightSource &source,
                                ThreadPool &pool) {
  std::string error;
  const float *values = source.get(use.tensor, use.shape, error);
  if (!values)
    return Error{error};
  int64_t count = 1;
  for (int64_t dim : use.shape)
    count *= dim;
  if (use.pack == WeightUse::Pack::Vector)
    return packVector(use, values, count);
  return packPanels(use, values, count, pool);
}

} // namespace attnc
