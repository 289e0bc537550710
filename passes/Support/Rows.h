//===- Rows.h - kept streams put together into rows ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Kept streams of one rate, lifetime and set of readers form one row. Names come
// from how a stream is read, never from the model.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_SUPPORT_ROWS_H
#define ATTNC_PASSES_SUPPORT_ROWS_H

#include "passes/Support/FoldState.h"
#include "passes/Support/Keep.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::attn {

/// A kept stream and the ops that read it, in the order in which it was found.
struct KeptStream {
  Value stream;
  ::attnc::CacheKind kind = ::attnc::CacheKind::Paged;
  int64_t rows = 0;
  llvm::SetVector<Operation *> readers;
  /// Whether it is read as keys or values itself, or what those are computed
  /// from again.
  bool isKey = false, isValue = false, feedsKey = false, feedsValue = false;
  /// A key that is only one of the parts of its source.
  bool isPart = false;
};

/// Decides names, layers and places in rows of all kept streams of `model`.
/// Cache names in `taken` are avoided, and those given are added.
SmallVector<Keep> formRows(ModelOp model, ArrayRef<KeptStream> streams, llvm::StringSet<> &taken);

/// Decides where the state of `op` lives: a cache of its own, named after what
/// reads the old elements of what it makes.
Keep placeState(CompressOp op, const FoldState &state, llvm::StringSet<> &taken);

} // namespace mlir::attn

#endif // ATTNC_PASSES_SUPPORT_ROWS_H
