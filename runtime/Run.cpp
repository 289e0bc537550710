//===- Run.cpp - an artifact, loaded and run --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Run.h"
#include "runtime/Input.h"
#include "runtime/RunOptions.h"
#include "runtime/ThreadPool.h"

#include <cstdio>

namespace attnc {

Result<LoadedArtifact> loadArtifact(const std::string &folder,
                                    WeightSource &weights,
                                    const std::string &target,
                                    ExecutorOptions options) {
  Result<Manifest> manifest = loadManifest(folder);
  if (!manifest)
    return Error{manifest.error()};
  Result<std::unique_ptr<KernelResolver>> kernels =
      openKernelLibrary(folder, *manifest, target);
  if (!kernels)
    return Error{kernels.error()};
  Result<std::unique_ptr<CpuExecutor>> executor = CpuExecutor::create(
      manifest->program, std::move(*kernels), weights, std::move(options));
  if (!executor)
    return Error{executor.error()};
  return LoadedArtifact{std::move(*manifest), std::move(*executor)};
}

std::string writeRunResult(const std::string &path, const RunResult &result,
                           int64_t hidden) {
  std::vector<OutputTensor> tensors;
  int64_t tokens = int64_t(result.hidden.size()) / hidden;
  tensors.push_back(
      {"hidden", DType::F32, {tokens, hidden}, result.hidden.data()});
  for (const auto &[name, trace] : result.traces)
    tensors.push_back(
        {name, DType::F32, {tokens, trace.width}, trace.rows.data()});
  return writeSafetensors(path, std::move(tensors));
}

namespace {
int usageError(const std::string &program, const std::string &error) {
  std::fprintf(stderr, "error: %s: %s\n", program.c_str(), error.c_str());
  return 2;
}

int failure(const std::string &error) {
  std::fprintf(stderr, "error: %s\n", error.c_str());
  return 1;
}

/// What is wrong with the usage, before anything is opened.
std::string checkUsage(const RunOptions &options) {
  if (options.inputs.size() != 1)
    return "found " + std::to_string(options.inputs.size()) +
           " arguments; expected one artifact folder";
  if (!options.backend.empty() && options.backend != "cpu")
    return "--backend: found '" + options.backend +
           "'; an artifact runs on the backend cpu here";
  for (const auto &[value, name] :
       {std::pair(options.weights, "--weights"),
        std::pair(options.output, "--output")})
    if (value.empty())
      return std::string(name) + " is missing; expected it";
  if (options.input.empty() && !options.tokens)
    return "--input is missing; expected it (or --tokens for random input)";
  if (!options.selection.empty())
    return "--selection: the plan computes no selection; expected none";
  return "";
}

std::string targetOf(const RunOptions &options) {
  for (const std::string &target : options.targets)
    if (target != "cpu")
      return target;
  return "";
}

int execute(const RunOptions &options, const Manifest &manifest,
            const std::string &folder) {
  setDefaultThreads(options.threads);
  Result<std::unique_ptr<WeightSource>> weights = openWeights(options.weights);
  if (!weights)
    return failure(weights.error());
  std::string spec = options.input;
  if (spec.empty())
    spec = "random:1:" + std::to_string(*options.tokens);
  Result<Input> input = openInput(spec, manifest.program.hidden);
  if (!input)
    return failure(input.error());
  if (options.tokens)
    if (std::string error = limitTokens(*input, *options.tokens);
        !error.empty())
      return failure(error);
  Result<LoadedArtifact> artifact =
      loadArtifact(folder, **weights, targetOf(options));
  if (!artifact)
    return failure(artifact.error());
  Result<RunResult> result =
      runSchedule(*artifact->executor, *input,
                  options.schedule.value_or(Schedule{}), {options.trace, false});
  if (!result)
    return failure(result.error());
  if (std::string error =
          writeRunResult(options.output, *result, input->hidden);
      !error.empty())
    return failure(error);
  if (options.stats)
    std::fputs(artifact->executor->statsText().c_str(), stderr);
  if (!options.quiet)
    std::printf("%s: %lld tokens in %lld steps, %lld bytes of cache; wrote %s\n",
                manifest.name.c_str(), (long long)input->tokens,
                (long long)result->steps, (long long)result->cacheBytes,
                options.output.c_str());
  return 0;
}
} // namespace

int runArtifactCommand(const std::vector<std::string> &arguments,
                       const std::string &program) {
  Result<RunOptions> options = parseRunOptions(arguments);
  if (!options)
    return usageError(program, options.error());
  if (options->help) {
    std::printf("usage: %s DIR --weights W --input X --output Y [options]\n\n"
                "Runs a compiled artifact folder.\n\n%s",
                program.c_str(), runOptionsHelp().c_str());
    return 0;
  }
  if (options->version) {
    std::printf("%s 0.1.0 (artifact format %lld)\n", program.c_str(),
                (long long)Manifest::currentVersion);
    return 0;
  }
  if (std::string error = checkUsage(*options); !error.empty())
    return usageError(program, error);
  const std::string &folder = options->inputs[0];
  Result<Manifest> manifest = loadManifest(folder);
  if (!manifest)
    return failure(manifest.error());
  if (std::string error = checkAgainstManifest(*options, *manifest);
      !error.empty())
    return usageError(program, error);
  return execute(*options, *manifest, folder);
}

} // namespace attnc
