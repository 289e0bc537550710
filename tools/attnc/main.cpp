//===- main.cpp - attnc: from a config to kernels -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/Commands.h"
#include "tools/attnc/Diagnostics.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

using namespace attnc;

namespace {

struct Command {
  const char *name;
  int (*run)(const Invocation &);
  const char *usage;
  const char *summary;
  size_t minInputs, maxInputs;
  ExtraOptions options; ///< beyond the plan and run options
};

const size_t kMany = 1000;

const std::vector<Command> &commands() {
  static const std::vector<Command> list = {
      {"report", runReport, "IN... [--context N] [--json]",
       "the cache plan and the work per token; several inputs side by side", 1, kMany,
       {{"--json", false}}},
      {"compile", runCompile,
       "IN -o DIR [--target T]... [--emit ir|llvm|ptx|asm] [--stop-after STAGE] "
       "[--check-kernels] [--verify-each]",
       "writes an artifact folder; STAGE: graph, plan, kv, kernels, llvm", 1, 1,
       {{"-o", true}, {"--emit", true}, {"--stop-after", true}, {"--check-kernels", false},
        {"--verify-each", false}}},
      {"run", runRun, "IN|DIR --weights W --input X --output Y [--trace] [--stats]", "executes", 1,
       1, {}},
      {"verify", runVerify, "IN [--weights W] [--input X] [--tokens N] [--layers A:B] [--stats]",
       "runs and compares with the interpreter, layer by layer", 1, 1, {}},
      {"explain", runExplain, "IN [--layer N] [--pass P]",
       "the graph, what each pass changed and why (or why not)", 1, 1,
       {{"--layer", true}, {"--pass", true}}},
      {"compare", runCompare, "IN IN", "two plans or two models: bytes, work, structure", 2, 2, {}},
  };
  return list;
}

void printHelp() {
  std::printf("attnc: an MLIR compiler for attention graphs\n\nusage: attnc COMMAND ...\n\n");
  for (const Command &c : commands())
    std::printf("  attnc %s %s\n      %s\n", c.name, c.usage, c.summary);
  std::printf("\nIN: a model's config.json (Hugging Face or inference style), MLIR text in the attn\n"
              "dialect, or a folder with config.json, whose model.safetensors and\n"
              "input.safetensors are then the defaults of --weights and --input.\n"
              "DIR: an artifact folder.\n\n%s\n"
              "global options:\n"
              "  --help, --version, -q, -v, --color=auto|always|never\n\n"
              "exit status: 0 success, 1 bad input or failed check, 2 bad usage\n",
              runOptionsHelp().c_str());
}

int badUsage(const std::string &text) {
  printError(text);
  std::fprintf(stderr, "run 'attnc --help' for the commands and options\n");
  return kBadUsage;
}

/// Moves the options that only attnc has from `extra` into their fields.
std::string takeExtras(Invocation &invocation) {
  for (const auto &[name, value] : invocation.extra) {
    if (name == "--json")
      invocation.json = true;
    else if (name == "-o")
      invocation.outputFolder = value;
    else if (name == "--emit")
      invocation.emit = value;
    else if (name == "--stop-after")
      invocation.stopAfter = value;
    else if (name == "--check-kernels")
      invocation.checkKernels = true;
    else if (name == "--verify-each")
      invocation.verifyEach = true;
    else if (name == "--pass")
      invocation.pass = value;
    else if (name == "--layer") {
      char *end = nullptr;
      long long layer = std::strtoll(value.c_str(), &end, 10);
      if (value.empty() || *end || layer < 0 || layer > 1000000)
        return "--layer: found '" + value + "'; expected a layer number";
      invocation.layer = layer;
    }
  }
  return "";
}

int run(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty())
    return badUsage("no command; expected report, compile, run, verify, explain or compare");
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    printHelp();
    return kSuccess;
  }
  if (arguments[0] == "--version") {
    std::printf("attnc %s\n", ATTNC_VERSION);
    return kSuccess;
  }
  const Command *command = nullptr;
  for (const Command &c : commands())
    if (arguments[0] == c.name)
      command = &c;
  if (!command)
    return badUsage("unknown command '" + arguments[0] +
                    "'; expected report, compile, run, verify, explain or compare");

  arguments.erase(arguments.begin());
  Result<RunOptions> options = parseRunOptions(arguments, command->options);
  if (!options)
    return badUsage(options.error());
  Invocation invocation;
  static_cast<RunOptions &>(invocation) = *options;
  invocation.arguments = arguments;
  if (invocation.help) {
    printHelp();
    return kSuccess;
  }
  if (std::string error = takeExtras(invocation); !error.empty())
    return badUsage(error);
  messageStyle() = {wantsColor(invocation.color), invocation.quiet};
  if (invocation.inputs.size() < command->minInputs || invocation.inputs.size() > command->maxInputs)
    return badUsage(std::string(command->name) + ": found " +
                    std::to_string(invocation.inputs.size()) + " inputs; expected attnc " +
                    command->name + " " + command->usage);
  return command->run(invocation);
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception &e) {
    // Running out of memory, say: one message, and no partial output.
    printError(e.what());
    return kFailure;
  }
}
