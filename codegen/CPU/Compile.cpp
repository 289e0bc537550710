//===- Compile.cpp - kernel specs to a shared library -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each kernel is a module of its own. Writing and lowering them shares the
// caller's MLIR context and is quick; LLVM's work, most of the time, is done on
// several threads, each kernel in an LLVM context of its own, so that the
// objects depend on nothing but the spec and the target.
//
//===----------------------------------------------------------------------===//
#include "codegen/CPU/Compile.h"
#include "codegen/CPU/Emitters.h"
#include "codegen/CPU/Lower.h"
#include "codegen/CPU/Object.h"

#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <thread>

using namespace mlir;

namespace attnc {
using namespace cpu;
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

/// One kernel on its way to an object.
struct Unit {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::string llvmText, assembly, error;
  std::vector<uint8_t> object;
};

KernelDesc &descOf(std::vector<KernelDesc> &kernels, const std::string &name) {
  for (KernelDesc &desc : kernels)
    if (desc.name == name)
      return desc;
  KernelDesc desc;
  desc.name = name;
  desc.op = name.substr(0, name.find('_'));
  kernels.push_back(desc);
  return kernels.back();
}

void emitKernel(ModuleOp module, const KernelSpec &spec, const CpuTarget &target,
                KernelDesc &desc) {
  const std::string &name = spec.name;
  std::visit(
      Overloaded{
          [&](const ProjectSpec &op) { emitProject(module, name, op, target, desc); },
          [&](const NormSpec &op) { emitNorm(module, name, op, target); },
          [&](const RopeSpec &op) { emitRope(module, name, op, target); },
          [&](const MapSpec &op) { emitMap(module, name, op, target); },
          [&](const RoundSpec &op) { emitRound(module, name, op, target); },
          [&](const AppendSpec &op) { emitAppend(module, name, op, target); },
          [&](const UnpackSpec &op) { emitUnpack(module, name, op, target); },
          [&](const AttendSpec &op) { emitAttend(module, name, op, target, desc); },
          [&](const CombineSpec &op) { emitCombine(module, name, op, target); }},
      spec.op);
}

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

std::string printed(llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, nullptr);
  return text;
}

/// LLVM's share of the work on one kernel.
void finish(Unit &unit, const CpuCompileOptions &options, bool wantsLLVM, bool wantsAssembly) {
  unit.error = optimize(*unit.module, options.target);
  if (!unit.error.empty())
    return;
  if (wantsLLVM)
    unit.llvmText = printed(*unit.module);
  if (options.stopAfterLLVM)
    return;
  if (wantsAssembly) {
    Result<std::string> text = emitAssembly(*unit.module, options.target);
    if (!text) {
      unit.error = text.error();
      return;
    }
    unit.assembly = std::move(*text);
  }
  Result<std::vector<uint8_t>> object = emitObject(*unit.module, options.target);
  if (object)
    unit.object = std::move(*object);
  else
    unit.error = object.error();
}

void inThreads(int threads, size_t count, const std::function<void(size_t)> &work) {
  std::atomic<size_t> next{0};
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  std::vector<std::thread> helpers;
  for (int t = 1; t < threads && size_t(t) < count; ++t)
    helpers.emplace_back(run);
  run();
  for (std::thread &helper : helpers)
    helper.join();
}

/// Writes, lowers and translates every kernel; leaves units without a module if
/// the caller stops after the kernels.
std::string prepare(MLIRContext &context, const std::vector<KernelSpec> &specs,
                    const CpuCompileOptions &options, std::vector<KernelDesc> &kernels,
                    std::vector<Unit> &units) {
  bool wantsKernels = options.wants && options.wants(CpuStage::Kernels);
  for (size_t i = 0; i < specs.size(); ++i) {
    const KernelSpec &spec = specs[i];
    OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
    emitKernel(*module, spec, options.target, descOf(kernels, spec.name));
    if (wantsKernels)
      options.show(CpuStage::Kernels, spec.name, printed(*module));
    if (options.stopAfterKernels)
      continue;
    std::string error = lowerToLLVMDialect(*module);
    if (error.empty()) {
      auto translated =
          translateKernels(*module, {spec.name}, options.target, units[i].context);
      if (translated)
        units[i].module = std::move(*translated);
      else
        error = translated.error();
    }
    if (!error.empty())
      return "kernel '" + spec.name + "': " + error;
  }
  return "";
}

} // namespace

std::string checkCpuKernel(const KernelSpec &spec, const CpuTarget &target) {
  std::string error = std::visit(
      Overloaded{[&](const MapSpec &op) { return checkMap(op, target); },
                 [&](const RoundSpec &op) { return checkRound(op, target); },
                 [&](const AppendSpec &op) { return checkAppend(op, target); },
                 [&](const UnpackSpec &op) { return checkUnpack(op, target); },
                 [&](const AttendSpec &op) { return checkAttend(op, target); },
                 [](const auto &) { return std::string(); }},
      spec.op);
  return error.empty() ? error : "kernel '" + spec.name + "': " + error;
}

std::string compileCpu(MLIRContext &context, const std::vector<KernelSpec> &specs,
                       const CpuCompileOptions &options, std::vector<KernelDesc> &kernels,
                       std::vector<uint8_t> &library) {
  for (const KernelSpec &spec : specs) {
    std::string error = checkCpuKernel(spec, options.target);
    if (!error.empty())
      return error;
  }
  loadKernelDialects(context);
  std::vector<Unit> units(specs.size());
  std::string error = prepare(context, specs, options, kernels, units);
  if (!error.empty() || options.stopAfterKernels)
    return error;

  bool wantsLLVM = options.wants && options.wants(CpuStage::LLVM);
  bool wantsAssembly = options.wants && options.wants(CpuStage::Assembly);
  int threads = options.threads ? options.threads : int(std::thread::hardware_concurrency());
  inThreads(threads, units.size(),
            [&](size_t i) { finish(units[i], options, wantsLLVM, wantsAssembly); });
  std::vector<std::vector<uint8_t>> objects;
  for (size_t i = 0; i < units.size(); ++i) {
    if (!units[i].error.empty())
      return "kernel '" + specs[i].name + "': " + units[i].error;
    if (wantsLLVM)
      options.show(CpuStage::LLVM, specs[i].name, units[i].llvmText);
    if (wantsAssembly && !options.stopAfterLLVM)
      options.show(CpuStage::Assembly, specs[i].name, units[i].assembly);
    objects.push_back(std::move(units[i].object));
  }
  if (options.stopAfterLLVM)
    return "";
  Result<std::vector<uint8_t>> linked = linkLibrary(objects, options.soname);
  if (!linked)
    return linked.error();
  library = std::move(*linked);
  return "";
}

} // namespace attnc
