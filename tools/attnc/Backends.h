//===- Backends.h - everything that can run a compiled model ------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TOOLS_ATTNC_BACKENDS_H
#define ATTNC_TOOLS_ATTNC_BACKENDS_H

#include "runtime/Schedule.h"
#include "runtime/Weights.h"
#include "tools/attnc/Compilation.h"

namespace attnc {

/// Weights and rows of a run.
struct Workload {
  std::unique_ptr<WeightSource> weights;
  Input input;
};

/// Opens what --weights, --input and --tokens say, or the defaults of an input
/// folder; without any input, random rows.
Result<Workload> openWorkload(Compilation &compilation, const Invocation &invocation);

/// What a run gave, and the counts of its kernels where the backend has them.
struct RunOutcome {
  RunResult result;
  std::string stats;
};

struct ExecuteOptions {
  bool trace = false;
  bool rows = false; ///< also publish the rows that were stored (RowRecorder)
};

/// Compiles for the backend of `invocation` and runs the workload by its
/// schedule. The backend `interpreter` evaluates the planned graph.
Result<RunOutcome> execute(Compilation &compilation, Workload &work, const Invocation &invocation,
                           const ExecuteOptions &options);

/// Evaluates the graph as it was imported, sequence by sequence, with traces.
Result<RunResult> interpretGraph(Compilation &compilation, Workload &work);

/// Evaluates the decode form's graph, rounds included, sequence by sequence.
/// With `rows`, also what every kept stream holds.
Result<RunResult> interpretPlanned(Compilation &compilation, Workload &work,
                                   const ExecuteOptions &options);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_BACKENDS_H
