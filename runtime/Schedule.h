//===- Schedule.h - in which steps a prompt is processed --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The results of a model must not depend on how its tokens are cut into steps.
// Schedules are the ways in which the tools cut them, from one step for all to
// batches shared with other sequences that come and go.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_RUNTIME_SCHEDULE_H
#define ATTNC_RUNTIME_SCHEDULE_H

#include "formats/Result.h"
#include "runtime/Input.h"
#include "runtime/StepBackend.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

struct Schedule {
  /// prefill: all tokens at once. decode: one by one. chunk: K at a time.
  /// mixed: random chunk sizes. batch: 2 to 7 further sequences, which start,
  /// pause and stop at random, share every step.
  enum class Kind : uint8_t { Prefill, Decode, Chunk, Mixed, Batch };
  Kind kind = Kind::Prefill;
  int64_t chunk = 0; ///< chunk:K
  uint64_t seed = 0; ///< mixed:SEED, batch:SEED
};

/// "prefill", "decode", "chunk:5", "mixed:3", "batch:1".
Result<Schedule> parseSchedule(std::string_view text);
std::string stringify(const Schedule &schedule);

struct ScheduleOptions {
  bool trace = false;
  /// Fill fresh pages with 0xFF bytes (NaN in every format), so that reading
  /// what was never written shows.
  bool poison = false;
};

/// What a run computed, in the order of the input's rows.
struct RunResult {
  std::vector<float> hidden; ///< [tokens, hidden]
  struct Trace {
    int64_t width = 0;
    std::vector<float> rows; ///< [tokens, width]
  };
  std::map<std::string, Trace> traces;
  int64_t steps = 0;
  int64_t cacheBytes = 0; ///< most bytes of pages and rings in use at a time
};

/// Runs `input` through `backend` with pages of its own.
Result<RunResult> runSchedule(StepBackend &backend, const Input &input,
                              const Schedule &schedule,
                              const ScheduleOptions &options = {});

} // namespace attnc

#endif // ATTNC_RUNTIME_SCHEDULE_H
