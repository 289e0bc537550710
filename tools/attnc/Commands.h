//===- Commands.h - the commands of attnc ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TOOLS_ATTNC_COMMANDS_H
#define ATTNC_TOOLS_ATTNC_COMMANDS_H

#include "runtime/RunOptions.h"

#include <string>

namespace attnc {

/// What a command line said: the shared options, and those only attnc has.
struct Invocation : RunOptions {
  std::vector<std::string> arguments; ///< as given, after the command
  bool json = false;                ///< report
  std::string outputFolder;         ///< compile -o
  std::string emit, stopAfter;      ///< compile
  bool checkKernels = false;        ///< compile
  bool verifyEach = false;          ///< compile
  std::optional<int64_t> layer;     ///< explain
  std::string pass;                 ///< explain
};

/// Exit codes of the contract.
enum ExitCode { kSuccess = 0, kFailure = 1, kBadUsage = 2 };

int runReport(const Invocation &invocation);
int runCompile(const Invocation &invocation);
int runRun(const Invocation &invocation);
int runVerify(const Invocation &invocation);
int runExplain(const Invocation &invocation);
int runCompare(const Invocation &invocation);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_COMMANDS_H
