//===- Picking.h - which elements a selection picks ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The rule of attn.top_k and attn.block_top_k, shared with whatever else selects.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_DIALECT_ATTN_INTERPRETER_PICKING_H
#define ATTNC_DIALECT_ATTN_INTERPRETER_PICKING_H

#include "dialect/Attn/Interpreter/Evaluation.h"

#include <array>
#include <optional>

namespace mlir::attn {

/// How many blocks are picked, and by what. Blocks of one element are elements.
struct PickRule {
  int64_t picks;
  int64_t block = 1;
  Reduction reduction = Reduction::Max;
  int64_t pinFirst = 0, pinNewest = 0;
};

/// Where the first NaN of a selection is, by (token, group, first element of the
/// block).
using FirstNaN = std::optional<std::array<int64_t, 3>>;

/// The blocks picked for row `t` of `scores` and `group`, ascending. `nan`
/// receives the first NaN, if it has none yet.
std::vector<int64_t> pickBlocks(const ScoreValue &scores, int64_t t, int64_t group,
                                const PickRule &rule, FirstNaN &nan);

} // namespace mlir::attn

#endif // ATTNC_DIALECT_ATTN_INTERPRETER_PICKING_H
