//===- CachePlanning.h - the caches of a planned module ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_PASSES_CACHEPLANNING_H
#define ATTNC_PASSES_CACHEPLANNING_H

#include "formats/CachePlan.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace mlir::attn {

/// The caches that attn-infer-caches decided on, by layer, paged ones first,
/// then rings, then states;
/// places derived for `layout` with `pageEntries` entries per page (a ring is
/// one page). Emits an error and fails if the plan is malformed or a product
/// of sizes does not fit 64 bits.
FailureOr<std::vector<::attnc::CacheDesc>> planOf(ModuleOp module, int64_t pageEntries = 64,
                                                  StringRef layout = "token");

} // namespace mlir::attn

#endif // ATTNC_PASSES_CACHEPLANNING_H
