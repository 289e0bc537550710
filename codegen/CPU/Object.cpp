//===- Object.cpp - from LLVM IR to a shared library ------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Object.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace attnc::cpu {
namespace {

/// What an object may leave to the process that loads it.
constexpr const char *libcSymbols[] = {"memset", "memcpy", "memmove",
                                       "_GLOBAL_OFFSET_TABLE_"};

Error errorFrom(llvm::Error error, const char *what) {
  return Error{std::string(what) + ": " + toString(std::move(error))};
}

/// The width in bits of the widest vector in `module`, and where it is.
std::pair<uint64_t, std::string> widestVector(const Module &module) {
  std::pair<uint64_t, std::string> widest{0, ""};
  for (const Function &function : module)
    for (const Instruction &inst : instructions(function))
      if (auto *type = dyn_cast<FixedVectorType>(inst.getType())) {
        uint64_t bits = type->getPrimitiveSizeInBits().getFixedValue();
        if (bits > widest.first)
          widest = {bits, function.getName().str()};
      }
  return widest;
}

std::string checkSymbols(ArrayRef<uint8_t> object) {
  MemoryBufferRef buffer(
      StringRef(reinterpret_cast<const char *>(object.data()), object.size()), "kernels.o");
  auto file = object::ObjectFile::createObjectFile(buffer);
  if (!file)
    return errorFrom(file.takeError(), "the object of the CPU kernels is unreadable").message;
  for (const object::SymbolRef &symbol : (*file)->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags || !name) {
      consumeError(flags.takeError());
      consumeError(name.takeError());
      return "the object of the CPU kernels has an unreadable symbol";
    }
    bool undefined = *flags & object::SymbolRef::SF_Undefined;
    if (undefined && !name->empty() && !is_contained(libcSymbols, *name))
      return "the CPU kernels call '" + name->str() +
             "', which no library of the runtime provides";
  }
  return "";
}

/// Path of a linker: the one found when this was configured, else ld on PATH.
Result<std::string> findLinker() {
  if (sys::fs::can_execute(ATTNC_LINKER))
    return std::string(ATTNC_LINKER);
  for (const char *name : {"ld.lld-19", "ld.lld", "ld"})
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  return Error{"no linker found for the CPU kernels; expected " ATTNC_LINKER
               ", or ld.lld-19, ld.lld or ld on PATH"};
}

} // namespace

std::string optimize(Module &module, const CpuTarget &target) {
  auto [bits, where] = widestVector(module);
  if (bits > uint64_t(32 * target.lanes))
    return "function '" + where + "' has a vector of " + std::to_string(bits) +
           " bits; target " + target.name + " has " + std::to_string(32 * target.lanes);
  std::unique_ptr<TargetMachine> machine = createTargetMachine(target);
  // Loops come unrolled and vectorised as far as it pays; more of it costs code
  // size, time and registers.
  PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder passes(machine.get(), tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(OptimizationLevel::O3).run(module, modules);
  return "";
}

Result<std::string> emitAssembly(const Module &module, const CpuTarget &target) {
  std::unique_ptr<TargetMachine> machine = createTargetMachine(target);
  std::unique_ptr<Module> copy = CloneModule(module);
  SmallString<0> text;
  raw_svector_ostream os(text);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr, CodeGenFileType::AssemblyFile))
    return Error{"target " + target.name + " cannot write assembly"};
  passes.run(*copy);
  return text.str().str();
}

Result<std::vector<uint8_t>> emitObject(Module &module, const CpuTarget &target) {
  std::unique_ptr<TargetMachine> machine = createTargetMachine(target);
  SmallVector<char, 0> bytes;
  raw_svector_ostream os(bytes);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr, CodeGenFileType::ObjectFile))
    return Error{"target " + target.name + " cannot write objects"};
  passes.run(module);
  std::vector<uint8_t> object(bytes.begin(), bytes.end());
  std::string error = checkSymbols(object);
  if (!error.empty())
    return Error{error};
  return object;
}

Result<std::vector<uint8_t>>
linkLibrary(const std::vector<std::vector<uint8_t>> &objects, const std::string &soname) {
  Result<std::string> linker = findLinker();
  if (!linker)
    return Error{linker.error()};
  SmallString<128> folder;
  if (std::error_code code = sys::fs::createUniqueDirectory("attnc-link", folder))
    return Error{"no temporary folder for linking: " + code.message()};
  auto cleanUp = make_scope_exit([&] { sys::fs::remove_directories(folder); });

  std::vector<std::string> arguments = {*linker, "-shared", "-soname", soname,
                                        "--build-id=none", "-z", "noexecstack", "-z",
                                        "now", "-o", (folder + "/out.so").str()};
  for (size_t i = 0; i < objects.size(); ++i) {
    arguments.push_back((folder + "/" + std::to_string(i) + ".o").str());
    std::error_code code;
    raw_fd_ostream file(arguments.back(), code);
    file.write(reinterpret_cast<const char *>(objects[i].data()), objects[i].size());
    file.close();
    if (code || file.has_error())
      return Error{"cannot write '" + arguments.back() + "' for linking"};
  }
  std::string log = (folder + "/log").str(), message;
  SmallVector<StringRef> words(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log), StringRef(log)};
  int status = sys::ExecuteAndWait(*linker, words, std::nullopt, redirects, 0, 0, &message);
  if (status != 0) {
    if (auto text = MemoryBuffer::getFile(log))
      message += (*text)->getBuffer().split('\n').first;
    return Error{"linking the CPU kernels with " + *linker + " failed: " + message};
  }
  auto library = MemoryBuffer::getFile((folder + "/out.so").str());
  if (!library)
    return Error{"linking the CPU kernels with " + *linker + " left no library"};
  StringRef data = (*library)->getBuffer();
  return std::vector<uint8_t>(data.bytes_begin(), data.bytes_end());
}

} // namespace attnc::cpu
