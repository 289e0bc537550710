//===- Scope.cpp - the values of a list of launches and their buffers -------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/Plan/Scope.h"

namespace attnc {

/// The free buffer that fits best: the smallest that is large enough, else the
/// largest, which grows; -1 if none is free.
static int64_t findFree(const std::vector<int64_t> &sizes, const std::vector<bool> &busy,
                        int64_t size) {
  int64_t best = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (busy[i])
      continue;
    if (best < 0) {
      best = i;
      continue;
    }
    bool fits = sizes[i] >= size, bestFits = sizes[best] >= size;
    if (fits != bestFits ? fits : fits ? sizes[i] < sizes[best] : sizes[i] > sizes[best])
      best = i;
  }
  return best;
}

View Scope::allocate(int64_t heads, int64_t inner) {
  int64_t size = heads * inner;
  busy.resize(sizes.size());
  holders.resize(sizes.size());
  int64_t buffer = findFree(sizes, busy, size);
  if (buffer < 0) {
    buffer = sizes.size();
    sizes.push_back(size);
    busy.push_back(false);
    holders.push_back(0);
  }
  sizes[buffer] = std::max(sizes[buffer], size);
  busy[buffer] = true;
  View view;
  view.buffer = buffer;
  view.tile = tile;
  view.tokenStride = size;
  view.headStride = inner;
  view.heads = heads;
  view.inner = inner;
  return view;
}

void Scope::hold(mlir::Value value, const View &view) {
  values[value] = view;
  ++holders[view.buffer];
}

void Scope::bind(mlir::Value value, const View &view) {
  hold(value, view);
  usesLeft[value] = std::distance(value.use_begin(), value.use_end());
}

void Scope::drop(mlir::Value value) {
  auto it = values.find(value);
  --holders[it->second.buffer];
  values.erase(it);
  usesLeft.erase(value);
}

void Scope::release(mlir::Operation &op) {
  for (mlir::Value result : op.getResults())
    if (result.use_empty() && values.count(result))
      drop(result);
  for (mlir::Value operand : op.getOperands()) {
    auto left = usesLeft.find(operand);
    if (left != usesLeft.end() && --left->second == 0)
      drop(operand);
  }
  for (size_t i = 0; i < holders.size(); ++i)
    busy[i] = holders[i] > 0;
}

bool reshape(View &view, int64_t heads, int64_t inner) {
  if (view.heads == heads && view.inner == inner)
    return true;
  if (view.heads != 1 && view.headStride != view.inner)
    return false;
  view.heads = heads;
  view.inner = inner;
  view.headStride = inner;
  return true;
}

} // namespace attnc
