//===- CommandCompile.cpp - attnc compile ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/CompileArtifact.h"
#include "tools/attnc/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdio>

using namespace attnc;

namespace {

int fail(const std::string &error) {
  printError(error);
  return kFailure;
}

int badUsage(const std::string &error) {
  printError(error);
  return kBadUsage;
}

void print(mlir::ModuleOp module) {
  module->print(llvm::outs());
  llvm::outs() << '\n';
}

/// Prints the module of a stage before kernels.
int showStage(Compilation &compilation, const std::string &stage) {
  std::string error;
  if (stage == "plan")
    error = compilation.plan();
  else if (stage == "kv")
    error = compilation.lower();
  if (!error.empty())
    return fail(error);
  print(stage == "graph"  ? compilation.graph()
        : stage == "plan" ? compilation.planned()
                          : compilation.step());
  return kSuccess;
}

std::string readEmit(const std::string &text, EmitChoice &emit) {
  if (text == "ir")
    emit.ir = true;
  else if (text == "llvm")
    emit.llvm = true;
  else if (text == "ptx")
    emit.ptx = true;
  else if (text == "asm")
    emit.assembly = true;
  else if (!text.empty())
    return "--emit: found '" + text + "'; expected ir, llvm, ptx or asm";
  return "";
}

} // namespace

int attnc::runCompile(const Invocation &invocation) {
  const std::string &stage = invocation.stopAfter;
  bool early = stage == "graph" || stage == "plan" || stage == "kv";
  bool kernels = stage == "kernels" || stage == "llvm";
  if (!stage.empty() && !early && !kernels)
    return badUsage("--stop-after: found '" + stage +
                    "'; expected graph, plan, kv, kernels or llvm");
  EmitChoice emit;
  if (std::string error = readEmit(invocation.emit, emit); !error.empty())
    return badUsage(error);
  emit.check = invocation.checkKernels;
  if (stage.empty() && invocation.outputFolder.empty())
    return badUsage("-o is missing; expected a folder to write");

  auto compilation = Compilation::create(invocation.inputs[0], invocation, "published");
  if (!compilation)
    return fail(compilation.error());
  if (early)
    return showStage(**compilation, stage);
  std::vector<std::string> targets = invocation.targets;
  if (targets.empty())
    targets.push_back("cpu");
  std::string error = kernels
                          ? printKernels(**compilation, targets, stage)
                          : compileArtifact(**compilation, targets, invocation.outputFolder, emit);
  if (!error.empty())
    return fail(error);
  if (!kernels && !invocation.quiet)
    std::printf("%s: %zu kernels for %zu target%s; wrote %s\n",
                (*compilation)->info().name.c_str(), (*compilation)->program().kernels.size(),
                targets.size(), targets.size() == 1 ? "" : "s", invocation.outputFolder.c_str());
  return kSuccess;
}
