//===- ReferenceExecutor.h - runs a kv.step in f64 ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The meaning of a plan, apart from code: walks the bodies of a kv.step over a
// ragged batch, on real pages and rings. Per-token ops run through the
// interpreter's evaluators, attention folds softmax states in f64, rebuilt rows
// are computed a tile at a time. Rows that no query sees are never read.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_DIALECT_KV_REFERENCE_REFERENCEEXECUTOR_H
#define ATTNC_DIALECT_KV_REFERENCE_REFERENCEEXECUTOR_H

#include "dialect/Kv/IR/Kv.h"
#include "formats/Result.h"
#include "formats/StepBatch.h"
#include "formats/WeightSource.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace mlir::kv {

/// Receives values that a step publishes: rows [row, row + count) of the batch,
/// `width` numbers each, one after another. Of a selection, `width` is groups *
/// k: for each group the numbers of the picks, ascending, then -1.
using ReferenceTrace = std::function<void(const std::string &name, int64_t row, int64_t count,
                                          int64_t width, const float *data)>;

class ReferenceExecutor {
public:
  /// Prepares the one kv.step of `module`, which must pass kv-verify-form.
  /// Module and weights outlive the executor.
  static ::attnc::Result<std::unique_ptr<ReferenceExecutor>>
  create(ModuleOp module, ::attnc::WeightSource &weights);

  /// Channels of one row of input and output.
  int64_t hidden() const { return hiddenSize; }
  /// The caches whose pages a batch brings, in the batch's order.
  const std::vector<::attnc::CacheDesc> &caches() const { return cacheList; }

  /// Runs one step. Returns an error text, empty on success; a NaN in the output
  /// is an error that says where.
  std::string step(const ::attnc::StepBatch &batch, const ReferenceTrace &trace = nullptr);

private:
  ReferenceExecutor(StepOp stepOp, ::attnc::WeightSource &weights)
      : stepOp(stepOp), weights(weights) {}
  std::string prepare(ModuleOp module);

  StepOp stepOp;
  ::attnc::WeightSource &weights;
  int64_t hiddenSize = 0;
  std::vector<::attnc::CacheDesc> cacheList;
  llvm::StringMap<unsigned> cacheNumbers; ///< by symbol
};

} // namespace mlir::kv

#endif // ATTNC_DIALECT_KV_REFERENCE_REFERENCEEXECUTOR_H
