//===- Compile.cpp - kernel specs become PTX and cubins ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writing and lowering MLIR takes milliseconds a kernel and happens in one
// thread, because all kernels share the context of the specs' bodies. LLVM and
// ptxas take the rest of the time and run in parallel, each kernel by itself.
//
//===----------------------------------------------------------------------===//

#include "codegen/NVPTX/Compile.h"

#include "codegen/NVPTX/EmitPtx.h"
#include "codegen/NVPTX/Emitters.h"
#include "codegen/NVPTX/LowerKernel.h"
#include "codegen/NVPTX/Ptxas.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <atomic>
#include <thread>

using namespace attnc;
using namespace attnc::nvptx;

Result<EmittedKernel> nvptx::emitKernel(const KernelSpec &spec, const Chip &chip,
                                        mlir::MLIRContext *context) {
  EmitTarget target{spec.name, chip, context};
  struct Dispatch {
    const EmitTarget &target;
    Result<EmittedKernel> operator()(const ProjectSpec &s) { return emitProject(s, target); }
    Result<EmittedKernel> operator()(const NormSpec &s) { return emitNorm(s, target); }
    Result<EmittedKernel> operator()(const RopeSpec &s) { return emitRope(s, target); }
    Result<EmittedKernel> operator()(const MapSpec &s) { return emitMap(s, target); }
    Result<EmittedKernel> operator()(const RoundSpec &s) { return emitRound(s, target); }
    Result<EmittedKernel> operator()(const AppendSpec &s) { return emitAppend(s, target); }
    Result<EmittedKernel> operator()(const UnpackSpec &s) { return emitUnpack(s, target); }
    Result<EmittedKernel> operator()(const AttendSpec &s) { return emitAttend(s, target); }
    Result<EmittedKernel> operator()(const CombineSpec &s) { return emitCombine(s, target); }
  };
  Result<EmittedKernel> made = std::visit(Dispatch{target}, spec.op);
  if (!made)
    return Error{"kernel " + spec.name + ": " + made.error()};
  return made;
}

namespace {

/// One kernel on its way.
struct Job {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  NvptxKernel *kernel = nullptr;
  std::string error;
};

std::string printed(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// The part that needs the MLIR context.
std::string begin(const KernelSpec &spec, const Chip &chip, const NvptxTargetOptions &options,
                  mlir::MLIRContext &context, Job &job) {
  Result<EmittedKernel> emitted = emitKernel(spec, chip, &context);
  if (!emitted)
    return emitted.error();
  NvptxKernel &kernel = *job.kernel;
  kernel.name = spec.name;
  kernel.chip = chip.name;
  kernel.threads = emitted->threads;
  kernel.dynamicShared = emitted->dynamicShared;
  kernel.params = emitted->params;
  if (options.keepMlir)
    kernel.mlir = printed(*emitted->module);
  std::string error = lowerKernelToLlvmDialect(*emitted->module);
  if (error.empty()) {
    job.context = std::make_unique<llvm::LLVMContext>();
    job.module = translateKernel(*emitted->module, *job.context, error);
  }
  return error.empty() ? "" : "kernel " + spec.name + ": " + error;
}

/// Checks what ptxas found against what the chip has and what we promise.
std::string checkResources(const Resources &found, const NvptxKernel &kernel, const Chip &chip) {
  if (found.spillStores || found.spillLoads || found.stack)
    return "spills: " + std::to_string(found.spillStores) + " bytes stored, " +
           std::to_string(found.spillLoads) + " loaded, " + std::to_string(found.stack) +
           " bytes of stack; expected none";
  if (found.registers * kernel.threads > 65536)
    return std::to_string(found.registers) + " registers for each of " +
           std::to_string(kernel.threads) + " threads exceed the 65536 of a multiprocessor";
  int64_t shared = found.staticShared + kernel.dynamicShared;
  if (found.staticShared > kStaticShared || shared > chip.maxShared)
    return std::to_string(shared) + " bytes of shared memory; " + chip.name + " has " +
           std::to_string(chip.maxShared);
  return "";
}

/// The part that runs beside other kernels.
std::string finish(Job &job, const Chip &chip, const NvptxTargetOptions &options,
                   const std::string &ptxas) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(chip, error);
  if (!machine)
    return error;
  NvptxKernel &kernel = *job.kernel;
  if (error = optimizeKernel(*job.module, *machine); !error.empty())
    return error;
  if (options.keepIr) {
    llvm::raw_string_ostream stream(kernel.ir);
    job.module->print(stream, nullptr);
  }
  if (error = emitPtx(*job.module, *machine, chip, kernel.ptx); !error.empty())
    return error;
  if (ptxas.empty())
    return "";
  std::map<std::string, Resources> resources;
  if (error = assemble(ptxas, kernel.ptx, chip, kernel.cubin, resources); !error.empty())
    return error;
  auto found = resources.find(kernel.name);
  if (found == resources.end())
    return "ptxas reported no figures";
  kernel.registers = found->second.registers;
  return checkResources(found->second, kernel, chip);
}

/// Runs `work(i)` for i < count in up to `threads` threads.
template <typename Work> void inParallel(size_t count, unsigned threads, Work work) {
  std::atomic<size_t> next{0};
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads && i < count; ++i)
    others.emplace_back(run);
  run();
  for (std::thread &other : others)
    other.join();
}

} // namespace

std::string attnc::compileNvptx(const std::vector<KernelSpec> &specs,
                                const NvptxTargetOptions &options, mlir::MLIRContext &context,
                                std::vector<NvptxKernel> &out) {
  Result<Chip> chip = findChip(options.chip);
  if (!chip)
    return chip.error();
  std::string ptxas = options.assemble ? findPtxas(options.toolkit) : "";
  loadKernelDialects(context);

  out.assign(specs.size(), NvptxKernel());
  std::vector<Job> jobs(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    jobs[i].kernel = &out[i];
    if (std::string error = begin(specs[i], *chip, options, context, jobs[i]); !error.empty())
      return error;
  }
  inParallel(jobs.size(), options.threads, [&](size_t i) {
    jobs[i].error = finish(jobs[i], *chip, options, ptxas);
    jobs[i].module.reset();
    jobs[i].context.reset();
  });
  for (const Job &job : jobs)
    if (!job.error.empty())
      return "kernel " + job.kernel->name + ": " + job.error;
  return "";
}
