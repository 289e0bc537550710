//===- CompileArtifact.cpp - code for targets, as an artifact folder ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/CompileArtifact.h"

#include "codegen/CPU/Compile.h"
#include "codegen/NVPTX/Compile.h"
#include "tools/attnc/Artifact.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdio>

using namespace attnc;

namespace {

bool isCpu(const std::string &target) { return target.compare(0, 3, "cpu") == 0; }

std::string fileName(std::string target) {
  for (char &c : target)
    if (c == ':' || c == '/')
      c = '-';
  return target;
}

const char *suffixOf(CpuStage stage) {
  switch (stage) {
  case CpuStage::Kernels:
    return ".mlir";
  case CpuStage::LLVM:
    return ".ll";
  case CpuStage::Assembly:
    return ".s";
  }
  return "";
}

std::string addCpu(Compilation &compilation, const std::string &request, const EmitChoice &emit,
                   std::vector<KernelDesc> &kernels, ArtifactWriter &writer) {
  Result<cpu::CpuTarget> target = cpu::resolveCpuTarget(request);
  if (!target)
    return target.error();
  CpuCompileOptions options;
  options.target = *target;
  options.wants = [&](CpuStage stage) {
    return stage == CpuStage::Kernels ? emit.ir
           : stage == CpuStage::LLVM  ? emit.llvm
                                      : emit.assembly;
  };
  std::string failed;
  std::string folder = "ir/" + fileName(target->name) + "/";
  options.show = [&](CpuStage stage, const std::string &kernel, const std::string &text) {
    std::string error =
        writer.add({folder + kernel + suffixOf(stage), "ir", target->name, "", {}}, text);
    if (failed.empty())
      failed = error;
  };
  std::vector<uint8_t> library;
  std::string error = compileCpu(*compilation.step()->getContext(),
                                 compilation.program().kernels, options, kernels, library);
  if (error.empty())
    error = failed;
  if (!error.empty())
    return error;
  return writer.add(
      {"cpu/" + fileName(target->name) + ".so", "cpu", target->name, "", target->required},
      {reinterpret_cast<const char *>(library.data()), library.size()});
}

void printResources(const std::vector<NvptxKernel> &kernels) {
  std::printf("%-56s %6s %8s %10s %8s\n", "kernel", "target", "threads", "registers", "shared");
  for (const NvptxKernel &k : kernels)
    std::printf("%-56s %6s %8lld %10s %8lld\n", k.name.c_str(), k.chip.c_str(),
                (long long)k.threads, k.cubin.empty() ? "-" : std::to_string(k.registers).c_str(),
                (long long)k.dynamicShared);
}

std::string addNvptx(Compilation &compilation, const std::string &chip, const EmitChoice &emit,
                     ArtifactWriter &writer) {
  NvptxTargetOptions options;
  options.chip = chip;
  options.keepMlir = emit.ir;
  options.keepIr = emit.llvm;
  std::vector<NvptxKernel> kernels;
  if (std::string error = compileNvptx(compilation.program().kernels, options,
                                       *compilation.step()->getContext(), kernels);
      !error.empty())
    return error;
  if (emit.check)
    printResources(kernels);
  std::string error;
  auto add = [&](const std::string &path, const char *kind, std::string_view bytes) {
    if (error.empty())
      error = writer.add({path, kind, chip, "", {}}, bytes);
  };
  for (const NvptxKernel &k : kernels) {
    std::string name = chip + "/" + k.name;
    add("ptx/" + name + ".ptx", "ptx", k.ptx);
    if (!k.cubin.empty())
      add("cubin/" + name + ".cubin", "cubin",
          {reinterpret_cast<const char *>(k.cubin.data()), k.cubin.size()});
    if (emit.ir)
      add("ir/" + name + ".mlir", "ir", k.mlir);
    if (emit.llvm)
      add("ir/" + name + ".ll", "ir", k.ir);
  }
  return error;
}

/// Refuses a target that no code generator knows, before anything is compiled.
std::string checkTarget(const std::string &target) {
  if (isCpu(target) || target.compare(0, 3, "sm_") == 0)
    return "";
  return "--target: found '" + target + "'; expected cpu, cpu:NAME, or sm_NN";
}

} // namespace

std::string attnc::compileArtifact(Compilation &compilation,
                                   const std::vector<std::string> &targets,
                                   const std::string &path, const EmitChoice &emit) {
  for (const std::string &target : targets)
    if (std::string error = checkTarget(target); !error.empty())
      return error;
  if (std::string error = compilation.build(); !error.empty())
    return error;
  Result<std::unique_ptr<ArtifactWriter>> writer = ArtifactWriter::begin(path);
  if (!writer)
    return writer.error();
  Program program = compilation.program().program;
  for (const std::string &target : targets) {
    std::string error = isCpu(target)
                            ? addCpu(compilation, target, emit, program.kernels, **writer)
                            : addNvptx(compilation, target, emit, **writer);
    if (!error.empty())
      return error;
  }
  setPanels(program);
  Manifest manifest;
  manifest.name = compilation.info().name;
  manifest.modelType = compilation.info().modelType;
  manifest.sourceDigest = compilation.info().sourceDigest;
  manifest.plan = compilation.planText();
  manifest.program = std::move(program);
  return (*writer)->finish(std::move(manifest));
}

std::string attnc::printKernels(Compilation &compilation, const std::vector<std::string> &targets,
                                const std::string &stage) {
  if (std::string error = checkTarget(targets.front()); !error.empty())
    return error;
  if (std::string error = compilation.build(); !error.empty())
    return error;
  bool wantsLlvm = stage == "llvm";
  mlir::MLIRContext &context = *compilation.step()->getContext();
  if (!isCpu(targets.front())) {
    NvptxTargetOptions options;
    options.chip = targets.front();
    options.assemble = false;
    options.keepMlir = !wantsLlvm;
    options.keepIr = wantsLlvm;
    std::vector<NvptxKernel> kernels;
    std::string error = compileNvptx(compilation.program().kernels, options, context, kernels);
    for (const NvptxKernel &k : kernels)
      llvm::outs() << (wantsLlvm ? k.ir : k.mlir) << '\n';
    return error;
  }
  Result<cpu::CpuTarget> target = cpu::resolveCpuTarget(targets.front());
  if (!target)
    return target.error();
  CpuCompileOptions options;
  options.target = *target;
  options.stopAfterKernels = !wantsLlvm;
  options.stopAfterLLVM = wantsLlvm;
  options.wants = [&](CpuStage s) { return s == (wantsLlvm ? CpuStage::LLVM : CpuStage::Kernels); };
  options.show = [](CpuStage, const std::string &, const std::string &text) {
    llvm::outs() << text << '\n';
  };
  std::vector<KernelDesc> kernels = compilation.program().program.kernels;
  std::vector<uint8_t> library;
  return compileCpu(context, compilation.program().kernels, options, kernels, library);
}
