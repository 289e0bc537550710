//===- StepBackend.h - whatever can run a step ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Schedules, the command-line tools and the C interface drive any executor
// through this interface: compiled CPU code, the reference executor of the kv
// dialect, a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_RUNTIME_STEPBACKEND_H
#define ATTNC_RUNTIME_STEPBACKEND_H

#include "formats/CachePlan.h"
#include "formats/StepBatch.h"

#include <string>
#include <vector>

namespace attnc {

/// Receives the values that a step publishes under a name ("layer3.attention").
class TraceSink {
public:
  virtual ~TraceSink() = default;

  /// Rows [row, row + count) of the batch, each of `width` values; row i begins
  /// at data + i * stride. Rows of one name may come in several calls.
  virtual void rows(const std::string &name, int64_t row, int64_t count,
                    int64_t width, const float *data, int64_t stride) = 0;
};

class StepBackend {
public:
  virtual ~StepBackend() = default;

  /// Channels of one row of input and output.
  virtual int64_t hidden() const = 0;
  /// The caches whose pages a batch must bring, in the batch's order.
  virtual const std::vector<CacheDesc> &caches() const = 0;
  /// Runs one step; fills batch.output and the caches. `trace` may be null.
  /// Returns an error text, empty on success; a NaN in the output is an error
  /// that says where.
  virtual std::string step(StepBatch &batch, TraceSink *trace) = 0;
};

} // namespace attnc

#endif // ATTNC_RUNTIME_STEPBACKEND_H
