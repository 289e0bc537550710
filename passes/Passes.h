//===- Passes.h - passes on attn graphs ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Each pass is described in Passes.td. A pass made here with a report records
// its decisions there; without one it emits them as remarks.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_PASSES_H
#define ATTNC_PASSES_PASSES_H

#include "dialect/Kv/IR/Kv.h"
#include "passes/Support/Report.h"

#include "mlir/Pass/Pass.h"

namespace mlir::attn {

/// Whether a form keeps up-projected keys and values, or attends over what they
/// are projected from.
enum class Absorb { Cost, Always, Never };
/// What the cut that decides the caches minimises.
enum class Cut { Cost, Bytes, Flops };
/// How kept streams are stored: f32 without any rounding, bf16, or the formats
/// of the graph's own attn.round ops (bf16 where there is none).
enum class Storage { Exact, BF16, Published };
/// The two forms of a graph: few new tokens against a long history, many.
enum class Form { Decode, Prefill };
/// How far a module has come; see attn-verify-form.
enum class Stage { Graph, Decoupled, Planned };

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

// With a report, which must outlive the pass.
std::unique_ptr<Pass> createDecoupleRope(const DecoupleRopeOptions &options, PassReport *report);
std::unique_ptr<Pass> createShareStreams(const ShareStreamsOptions &options, PassReport *report);
std::unique_ptr<Pass> createChooseStorage(const ChooseStorageOptions &options, PassReport *report);
std::unique_ptr<Pass> createAbsorbWeights(const AbsorbWeightsOptions &options, PassReport *report);
std::unique_ptr<Pass> createInferCaches(const InferCachesOptions &options, PassReport *report);
std::unique_ptr<Pass> createMaterializeStorage(const MaterializeStorageOptions &options,
                                               PassReport *report);
std::unique_ptr<Pass> createConvertAttnToKv(const ConvertAttnToKvOptions &options,
                                            PassReport *report);

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTNC_PASSES_PASSES_H
