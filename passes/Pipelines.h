//===- Pipelines.h - from a graph to a plan ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
//   graph ── attn-decouple-rope ── attn-share-streams ── attn-choose-storage
//         ── attn-split-forms ── attn-absorb-weights (decode, then prefill)
//         ── attn-share-streams ── attn-infer-caches ── attn-materialize-storage
//         ── plan ── convert-attn-to-kv ── step
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_PIPELINES_H
#define ATTNC_PASSES_PIPELINES_H

#include "passes/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::attn {

/// What a user may choose about a plan (contract: the plan options).
struct PlanOptions {
  Storage storage = Storage::Published;
  Absorb absorb = Absorb::Cost;
  Cut cut = Cut::Cost;
  int64_t balance = 200;  ///< FLOP that cost as much as a stored byte
  int64_t context = 4096; ///< tokens at which the prefill form is weighed
  int64_t chunk = 512;    ///< new tokens at which the prefill form is weighed
  int64_t pageEntries = 64; ///< entries per page of every paged cache
  std::string layout = "token"; ///< how rows lie in a page
  int64_t threshold = 0; ///< new tokens that a prefill body serves; 0: by cost
  bool verifyEach = false; ///< check the form between stages
};

std::optional<Storage> parseStorage(StringRef text);
std::optional<Absorb> parseAbsorb(StringRef text);
std::optional<Cut> parseCut(StringRef text);
StringRef stringify(Storage storage);
StringRef stringify(Absorb absorb);
StringRef stringify(Cut cut);

/// Adds the passes from a graph to a plan: both forms of each model, kept
/// streams rounded and marked with `attn.keep`, ready for convert-attn-to-kv.
void buildPlanPipeline(OpPassManager &manager, const PlanOptions &options,
                       PassReport *report = nullptr);

/// Runs that pipeline on `module`.
LogicalResult planModule(ModuleOp module, const PlanOptions &options, PassReport &report);

/// Adds the passes from a plan to caches and a step.
void buildLowerPipeline(OpPassManager &manager, const PlanOptions &options,
                        PassReport *report = nullptr);

/// Runs that pipeline on a planned `module`.
LogicalResult lowerModule(ModuleOp module, const PlanOptions &options, PassReport &report);

/// Makes the first pipeline known to command lines as `attn-plan`.
void registerPipelines();

} // namespace mlir::attn

#endif // ATTNC_PASSES_PIPELINES_H
