//===- Scope.h - the values of a list of launches and their buffers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A value is a view of a buffer. Buffers are given back after the last reader of
// the last view, so that a deep model needs a handful of them.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_PLAN_SCOPE_H
#define ATTNC_CODEGEN_PLAN_SCOPE_H

#include "formats/Program.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace attnc {

class Scope {
public:
  /// `sizes` are the buffers of a body, per token or per entry of a tile.
  Scope(std::vector<int64_t> &sizes, bool tile) : sizes(sizes), tile(tile) {}

  /// A fresh buffer for [heads, inner] per token, for as long as a value is
  /// bound to it; without one, until the next call of release().
  View allocate(int64_t heads, int64_t inner);

  /// Makes `view` what `value` is.
  void bind(mlir::Value value, const View &view);

  /// The same for a value that stays readable to the end.
  void hold(mlir::Value value, const View &view);

  bool contains(mlir::Value value) const { return values.count(value); }
  const View &view(mlir::Value value) const { return values.find(value)->second; }

  /// Tells that `op` has run: frees what it was the last to read, results
  /// that nobody reads, and buffers without a value.
  void release(mlir::Operation &op);

private:
  void drop(mlir::Value value);

  std::vector<int64_t> &sizes;
  bool tile;
  std::vector<int64_t> holders; ///< values bound to each buffer
  std::vector<bool> busy;
  llvm::DenseMap<mlir::Value, View> values;
  llvm::DenseMap<mlir::Value, int64_t> usesLeft;
};

/// The same elements as [heads, inner], if strides can say so.
bool reshape(View &view, int64_t heads, int64_t inner);

} // namespace attnc

#endif // ATTNC_CODEGEN_PLAN_SCOPE_H
