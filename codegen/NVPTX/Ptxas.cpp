//===- Ptxas.cpp - assembling PTX with NVIDIA's ptxas -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/Ptxas.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace attnc;
using namespace attnc::nvptx;

namespace {

std::string ptxasIn(const std::string &toolkit) {
  llvm::SmallString<128> path(toolkit);
  llvm::sys::path::append(path, "bin", "ptxas");
  return llvm::sys::fs::can_execute(path) ? path.str().str() : "";
}

/// A file that is gone when the object is.
class TemporaryFile {
public:
  explicit TemporaryFile(const char *suffix) {
    llvm::SmallString<128> made;
    if (!llvm::sys::fs::createTemporaryFile("attnc", suffix, made)) {
      name = made.str().str();
      remover.setFile(name);
    }
  }
  const std::string &path() const { return name; }
  bool write(const std::string &text) const {
    std::error_code failed;
    llvm::raw_fd_ostream stream(name, failed);
    stream << text;
    stream.close();
    return !failed && !stream.has_error();
  }
  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(name, false, false);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

private:
  std::string name;
  llvm::FileRemover remover;
};

/// The number before `label` in "... 128 bytes stack frame, ...".
int64_t numberBefore(llvm::StringRef line, llvm::StringRef label) {
  size_t at = line.find(label);
  if (at == llvm::StringRef::npos)
    return 0;
  llvm::StringRef head = line.take_front(at).rtrim();
  size_t begin = head.find_last_not_of("0123456789");
  int64_t number = 0;
  head.drop_front(begin == llvm::StringRef::npos ? 0 : begin + 1).getAsInteger(10, number);
  return number;
}

} // namespace

std::string nvptx::findPtxas(const std::string &toolkit) {
  if (!toolkit.empty())
    return ptxasIn(toolkit);
  if (const char *home = std::getenv("CUDA_HOME"))
    if (std::string found = ptxasIn(home); !found.empty())
      return found;
  auto onPath = llvm::sys::findProgramByName("ptxas");
  return onPath ? *onPath : "";
}

std::map<std::string, Resources> nvptx::parsePtxasOutput(const std::string &text) {
  std::map<std::string, Resources> resources;
  std::string kernel;
  for (llvm::StringRef line : llvm::split(llvm::StringRef(text), '\n')) {
    if (line.contains("Compiling entry function")) {
      kernel = line.split('\'').second.split('\'').first.str();
      continue;
    }
    if (kernel.empty())
      continue;
    Resources &figures = resources[kernel];
    if (line.contains("bytes stack frame")) {
      figures.stack = numberBefore(line, "bytes stack frame");
      figures.spillStores = numberBefore(line, "bytes spill stores");
      figures.spillLoads = numberBefore(line, "bytes spill loads");
    } else if (line.contains("Used ")) {
      figures.registers = numberBefore(line, "registers");
      figures.staticShared = numberBefore(line, "bytes smem");
    }
  }
  return resources;
}

std::string nvptx::assemble(const std::string &ptxas, const std::string &ptx, const Chip &chip,
                            std::vector<uint8_t> &cubin,
                            std::map<std::string, Resources> &resources) {
  TemporaryFile source("ptx"), object("cubin"), log("log");
  if (source.path().empty() || object.path().empty() || log.path().empty() || !source.write(ptx))
    return "cannot write temporary files for ptxas";
  std::string arch = std::string("-arch=") + chip.name;
  llvm::StringRef arguments[] = {ptxas, "-v", "-O3", arch, source.path(), "-o", object.path()};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(log.path()),
                                                llvm::StringRef(log.path())};
  std::string message;
  int status =
      llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects, 0, 0, &message);
  std::string output = log.read();
  if (status != 0)
    return ptxas + " refused the code" + (message.empty() ? "" : " (" + message + ")") + ": " +
           output;
  resources = parsePtxasOutput(output);
  std::string bytes = object.read();
  if (bytes.empty() || resources.empty())
    return ptxas + " reported success and wrote nothing: " + output;
  cubin.assign(bytes.begin(), bytes.end());
  return "";
}
