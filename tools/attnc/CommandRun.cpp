//===- CommandRun.cpp - attnc run ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Run.h"
#include "tools/attnc/Backends.h"
#include "tools/attnc/Compilation.h"
#include "tools/attnc/Diagnostics.h"

#include <cstdio>
#include <filesystem>

using namespace attnc;

static int fail(const std::string &error) {
  printError(error);
  return kFailure;
}

static int badUsage(const std::string &error) {
  printError(error);
  return kBadUsage;
}

/// Runs an artifact: what attn-run does, with the same words.
static int runArtifact(const Invocation &invocation) {
  return runArtifactCommand(invocation.arguments, "attnc run");
}

/// Runs a model: compiles it for the backend that was asked for, then steps.
static int runModel(const Invocation &invocation) {
  const std::string &path = invocation.inputs[0];
  Result<std::unique_ptr<Compilation>> compilation = Compilation::create(path, invocation, "exact");
  if (!compilation)
    return fail(compilation.error());
  Result<Workload> work = openWorkload(**compilation, invocation);
  if (!work)
    return fail(work.error());
  Result<RunOutcome> outcome = execute(**compilation, *work, invocation, {invocation.trace, false});
  if (!outcome)
    return fail(outcome.error());
  if (std::string error = writeRunResult(invocation.output, outcome->result, work->input.hidden);
      !error.empty())
    return fail(error);
  if (invocation.stats)
    std::fputs(outcome->stats.c_str(), stderr);
  if (!invocation.quiet)
    std::printf("%s: %lld tokens in %lld steps, %lld bytes of cache; wrote %s\n",
                (*compilation)->info().name.c_str(), (long long)work->input.tokens,
                (long long)outcome->result.steps, (long long)outcome->result.cacheBytes,
                invocation.output.c_str());
  return kSuccess;
}

int attnc::runRun(const Invocation &invocation) {
  if (invocation.output.empty())
    return badUsage("--output is missing; expected a file to write");
  std::error_code ec;
  if (std::filesystem::exists(invocation.inputs[0] + "/manifest.json", ec))
    return runArtifact(invocation);
  return runModel(invocation);
}
