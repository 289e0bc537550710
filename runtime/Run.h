//===- Run.h - an artifact, loaded and run ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_RUNTIME_RUN_H
#define ATTNC_RUNTIME_RUN_H

#include "formats/Manifest.h"
#include "formats/Result.h"
#include "runtime/Executor.h"
#include "runtime/Schedule.h"
#include "runtime/Weights.h"

#include <memory>
#include <string>

namespace attnc {

/// An artifact folder, ready to step.
struct LoadedArtifact {
  Manifest manifest;
  std::unique_ptr<CpuExecutor> executor;
};

/// Loads FOLDER: manifest, kernels for `target` (empty: any that run here),
/// weights.
Result<LoadedArtifact> loadArtifact(const std::string &folder,
                                    WeightSource &weights,
                                    const std::string &target = "",
                                    ExecutorOptions options = {});

/// Writes `hidden` and the traces of a run as safetensors.
std::string writeRunResult(const std::string &path, const RunResult &result,
                           int64_t hidden);

/// `attnc run DIR` and `attn-run DIR`: the arguments after the command. Prints
/// to stdout and stderr, returns the exit code.
int runArtifactCommand(const std::vector<std::string> &arguments,
                       const std::string &program);

} // namespace attnc

#endif // ATTNC_RUNTIME_RUN_H
