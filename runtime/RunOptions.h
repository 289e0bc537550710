//===- RunOptions.h - the options that attnc and attn-run share -------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_RUNTIME_RUNOPTIONS_H
#define ATTNC_RUNTIME_RUNOPTIONS_H

#include "formats/Manifest.h"
#include "formats/Result.h"
#include "runtime/Schedule.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attnc {

/// Everything a command line may carry besides what only attnc knows. Absent
/// options stay empty: defaults differ between commands.
struct RunOptions {
  std::vector<std::string> inputs; ///< the positional arguments

  /// Plan options that were given, by name without dashes, values checked:
  /// storage, absorb, cut, balance, want, replay, page-size, layout.
  std::map<std::string, std::string> plan;

  std::string weights, input, output;
  std::string backend;              ///< empty: cpu
  std::vector<std::string> targets; ///< --target, repeatable
  std::optional<Schedule> schedule;
  int threads = 0;                  ///< 0: one per core
  std::optional<std::pair<int64_t, int64_t>> layers; ///< --layers A:B
  std::string selection;
  std::optional<int64_t> tokens, context;
  bool trace = false, stats = false;

  bool help = false, version = false, quiet = false, verbose = false;
  std::string color = "auto";

  /// Options that this parser does not know, left to the caller in order, with
  /// their values; only filled when parsing was told to keep them.
  std::vector<std::pair<std::string, std::string>> extra;
};

/// Options that the caller handles itself: name with dashes -> takes a value.
using ExtraOptions = std::map<std::string, bool>;

/// Parses arguments (without the program's name). "--name value" and
/// "--name=value" are both accepted. The error is one sentence; it is bad usage.
Result<RunOptions> parseRunOptions(const std::vector<std::string> &arguments,
                                   const ExtraOptions &extra = {});

/// The error, empty if none, of options that contradict the plan of an
/// artifact: its plan options, layers, targets.
std::string checkAgainstManifest(const RunOptions &options,
                                 const Manifest &manifest);

/// The help text of the plan and run options, for --help.
std::string runOptionsHelp();

} // namespace attnc

#endif // ATTNC_RUNTIME_RUNOPTIONS_H
