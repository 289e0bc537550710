//===- RowRecorder.h - publishes the rows that a step wrote ------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TOOLS_ATTNC_ROWRECORDER_H
#define ATTNC_TOOLS_ATTNC_ROWRECORDER_H

#include "runtime/StepBackend.h"

namespace attnc {

/// The name under which the segment's rows are published.
std::string rowTraceName(const CacheDesc &cache, const Segment &segment);

/// The name under which it is published, as rows of one 1, which rows these are:
/// a ring has lost the older ones of a chunk longer than itself.
std::string writtenTraceName(const CacheDesc &cache, const Segment &segment);

/// Passes steps on to another backend and, afterwards, reads back from the
/// pages what the step appended: one trace per segment of every cache with one
/// entry per token. What was stored is then compared, not what was meant to be.
class RowRecorder : public StepBackend {
public:
  explicit RowRecorder(StepBackend &backend) : backend(backend) {}

  int64_t hidden() const override { return backend.hidden(); }
  const std::vector<CacheDesc> &caches() const override { return backend.caches(); }
  std::string step(StepBatch &batch, TraceSink *trace) override;

private:
  StepBackend &backend;
};

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_ROWRECORDER_H
