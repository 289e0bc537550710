//===- Absorption.h - moving projections out of an attend ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// An attend with its keys' and values' projections, and what it becomes when
// they move to the query side and behind the sum. Everything here is a
// description; nothing is rewritten until `materialize`.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_SUPPORT_ABSORPTION_H
#define ATTNC_PASSES_SUPPORT_ABSORPTION_H

#include "dialect/Attn/IR/Attn.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace mlir::attn {

/// A projection with one matrix per head of the attend that reads it.
struct HeadProjection {
  LinearOp op;
  int64_t heads = 1;
  std::optional<std::pair<int64_t, int64_t>> rows; ///< of each head's matrix
  int64_t in = 0, out = 0;                         ///< channels per head
  bool shared = false; ///< every head reads the same input

  /// Whether both apply the same matrices (and bias).
  bool sameMatrices(const HeadProjection &other) const;
  /// FLOP of one element.
  double flops() const { return 2.0 * heads * in * out; }
};

/// An attend after some number of absorption steps.
struct AbsorbedAttend {
  struct Part {
    Value query, key;
    /// Projections that moved to the query, in the order of their application.
    SmallVector<HeadProjection> toQuery;
  };
  struct Source {
    SmallVector<Part> parts;
    Value value, selection;
    int64_t window = 0;
  };
  AttendOp op;
  SmallVector<Source> sources;
  /// Projections that moved behind the sum; the last is applied first.
  SmallVector<HeadProjection> after;

  explicit AbsorbedAttend(AttendOp op);

  /// The distinct streams whose rows source `i` reads.
  SmallVector<Value> rowStreams(unsigned i) const;
  /// Channels of a row's scores and of its value, summed: x 2 x heads is the
  /// FLOP of one visible entry.
  int64_t channels(unsigned i) const;
  /// FLOP per token of the projections that moved.
  double projectFlops() const;

  /// One step further; or the reason why there is none, empty if there is
  /// nothing that a step could move.
  std::optional<AbsorbedAttend> step(std::string &reason) const;

  /// Creates the ops before the attend and returns what takes its place.
  Value materialize(OpBuilder &builder) const;
};

} // namespace mlir::attn

#endif // ATTNC_PASSES_SUPPORT_ABSORPTION_H
