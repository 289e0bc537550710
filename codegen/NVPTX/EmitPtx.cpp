//===- EmitPtx.cpp - LLVM IR of a kernel becomes PTX -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/EmitPtx.h"

#include "codegen/NVPTX/ExpandIntrinsics.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"

#include <mutex>

using namespace attnc;
using namespace attnc::nvptx;

namespace {

/// 32-bit pointers to shared memory save registers (48 instead of 56 in a small
/// attend kernel). LLVM has a command-line flag for them and nothing else.
bool useShortPointers() {
  auto &options = llvm::cl::getRegisteredOptions();
  auto found = options.find("nvptx-short-ptr");
  if (found == options.end())
    return false;
  return !found->second->addOccurrence(0, "nvptx-short-ptr", "true");
}

/// Initialises the back end, once in a process. Returns whether it is there.
bool initializeBackEnd() {
  static std::once_flag once;
  static bool ready = false;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    ready = useShortPointers();
  });
  return ready;
}

/// What a kernel may not hold, see DeviceIntrinsics.h.
std::string checkCommonIr(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    for (const llvm::Instruction &inst : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(&inst);
      if (!call)
        continue;
      if (call->isInlineAsm())
        return "kernel '" + function.getName().str() + "' holds assembly";
      const llvm::Function *callee = call->getCalledFunction();
      if (!callee)
        return "kernel '" + function.getName().str() + "' holds an indirect call";
      if (callee->getName().starts_with("llvm.nvvm."))
        return "kernel '" + function.getName().str() + "' calls " + callee->getName().str() +
               "; it should call a device function";
    }
  return "";
}

/// Runs passes that `build` adds.
template <typename Build>
void runPasses(llvm::Module &module, llvm::TargetMachine &machine, Build build) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes = build(builder);
  passes.run(module, modules);
}

std::string checkIr(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  return llvm::verifyModule(module, &stream) ? "invalid LLVM IR: " + text : "";
}

} // namespace

std::unique_ptr<llvm::TargetMachine> nvptx::createTargetMachine(const Chip &chip,
                                                                std::string &error) {
  const char *triple = "nvptx64-nvidia-cuda";
  if (!initializeBackEnd()) {
    error = "this LLVM has no NVPTX back end with short pointers";
    return nullptr;
  }
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  std::string features = "+ptx" + std::to_string(chip.ptxVersion);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, chip.name, features, llvm::TargetOptions(), std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

std::string nvptx::optimizeKernel(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  if (std::string error = checkIr(module); !error.empty())
    return error;
  runPasses(module, machine, [](llvm::PassBuilder &builder) {
    return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  });
  return checkCommonIr(module);
}

std::string nvptx::emitPtx(llvm::Module &module, llvm::TargetMachine &machine, const Chip &chip,
                           std::string &ptx) {
  if (std::string error = expandDeviceIntrinsics(module, chip); !error.empty())
    return error;
  runPasses(module, machine, [](llvm::PassBuilder &builder) {
    llvm::FunctionPassManager functions;
    functions.addPass(llvm::InstSimplifyPass());
    functions.addPass(llvm::ADCEPass());
    llvm::ModulePassManager modules;
    modules.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
    return modules;
  });
  if (std::string error = checkIr(module); !error.empty())
    return error;

  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return "this LLVM cannot print PTX";
  passes.run(module);
  ptx = text.str().str();
  return checkPtx(ptx, chip);
}

std::string nvptx::checkPtx(const std::string &ptx, const Chip &chip) {
  std::string version, target;
  for (llvm::StringRef line : llvm::split(llvm::StringRef(ptx), '\n')) {
    line = line.trim();
    if (line.consume_front(".version "))
      version = line.trim().str();
    else if (line.consume_front(".target "))
      target = line.trim().str();
    else if (line.starts_with(".extern .func"))
      return "the PTX calls a function without a body: " + line.str();
  }
  if (llvm::StringRef(target).contains("debug"))
    return "the PTX carries debug information ('.target " + target + "')";
  if (target != chip.name)
    return "the PTX is for target '" + target + "', expected '" + chip.name + "'";
  if (version != ptxVersionText(chip.ptxVersion))
    return "the PTX has version '" + version + "', expected '" + ptxVersionText(chip.ptxVersion) +
           "'";
  return "";
}
