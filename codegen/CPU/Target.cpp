//===- Target.cpp - the processor that CPU code is made for -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <algorithm>
#include <mutex>

using namespace llvm;

namespace attnc::cpu {
namespace {

/// Extensions from which LLVM may pick instructions for our kernels. Features
/// outside this list describe tuning, or units that our code never touches.
constexpr const char *extensions[] = {
    "sse3",     "ssse3",    "sse4.1",     "sse4.2",     "popcnt",
    "avx",      "avx2",     "fma",        "f16c",       "bmi",
    "bmi2",     "lzcnt",    "movbe",      "avx512f",    "avx512bw",
    "avx512cd", "avx512dq", "avx512vl",   "avx512vbmi", "avx512vbmi2",
    "avx512ifma", "avx512vnni", "avx512bitalg", "avx512vpopcntdq",
    "avx512bf16", "avx512fp16", "avxvnni", "gfni", "neon", "fullfp16", "bf16"};

const Target *nativeTarget(std::string &triple) {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    InitializeNativeTargetAsmParser();
  });
  triple = sys::getDefaultTargetTriple();
  std::string error;
  return TargetRegistry::lookupTarget(triple, error);
}

/// The names nearest to `name`, for an error text.
std::string suggestions(const MCSubtargetInfo &info, StringRef name) {
  SmallVector<std::pair<unsigned, StringRef>> ranked;
  for (const SubtargetSubTypeKV &known : info.getAllProcessorDescriptions())
    ranked.push_back({StringRef(known.Key).edit_distance(name), known.Key});
  llvm::sort(ranked);
  ranked.truncate(std::min<size_t>(ranked.size(), 4));
  return join(map_range(ranked, [](auto &r) { return r.second.str(); }), ", ");
}

/// What the host lacks of the extensions its processor's name promises (a
/// virtual machine may hide some), as a feature string.
std::string hostFeatures() {
  std::string text;
  StringMap<bool> host = sys::getHostCPUFeatures();
  std::vector<std::string> names;
  for (const auto &entry : host)
    names.push_back((entry.second ? "+" : "-") + entry.first().str());
  llvm::sort(names, [](const std::string &a, const std::string &b) {
    return a.substr(1) < b.substr(1);
  });
  return join(names, ",");
}

void readFeatures(const MCSubtargetInfo &info, CpuTarget &target) {
  auto has = [&](const char *feature) {
    return info.checkFeatures(std::string("+") + feature);
  };
  auto known = [&](const char *feature) {
    return any_of(info.getAllProcessorFeatures(), [&](const SubtargetFeatureKV &kv) {
      return StringRef(kv.Key) == feature;
    });
  };
  for (const char *extension : extensions)
    if (known(extension) && has(extension))
      target.required.push_back(extension);
  auto needs = [&](const char *feature) {
    return is_contained(target.required, feature);
  };
  if (needs("avx512f") && needs("avx512bw") && needs("avx512vl") && needs("avx512dq")) {
    target.lanes = 16;
    target.registers = 32;
  } else if (needs("avx2")) {
    target.lanes = 8;
  } else if (needs("neon")) {
    target.registers = 32;
  }
}

} // namespace

Result<CpuTarget> resolveCpuTarget(const std::string &request) {
  CpuTarget target;
  const Target *native = nativeTarget(target.triple);
  if (!native)
    return Error{"LLVM has no back end for this machine (" + target.triple + ")"};
  StringRef text = request;
  if (text != "cpu" && !text.starts_with("cpu:"))
    return Error{"target '" + request + "' is not a CPU; expected cpu or cpu:NAME"};

  bool host = text == "cpu";
  target.cpu = host ? sys::getHostCPUName().str() : text.substr(4).str();
  if (host)
    target.features = hostFeatures();
  std::unique_ptr<MCSubtargetInfo> any(
      native->createMCSubtargetInfo(target.triple, "", ""));
  if (!any->isCPUStringValid(target.cpu)) {
    if (!host)
      return Error{"unknown CPU '" + target.cpu + "' in target '" + request +
                   "'; similar names are " + suggestions(*any, target.cpu)};
    target.cpu = "generic";
  }
  std::unique_ptr<MCSubtargetInfo> info(native->createMCSubtargetInfo(
      target.triple, target.cpu, target.features));
  if (Triple(target.triple).isX86() && !info->checkFeatures("+64bit"))
    return Error{"CPU '" + target.cpu + "' in target '" + request +
                 "' has no 64-bit mode; expected a 64-bit one, for example x86-64-v3"};
  target.name = "cpu:" + target.cpu;
  readFeatures(*info, target);
  return target;
}

std::unique_ptr<TargetMachine> createTargetMachine(const CpuTarget &target) {
  std::string triple;
  const Target *native = nativeTarget(triple);
  return std::unique_ptr<TargetMachine>(native->createTargetMachine(
      target.triple, target.cpu, target.features, TargetOptions(), Reloc::PIC_,
      CodeModel::Small, CodeGenOptLevel::Aggressive));
}

} // namespace attnc::cpu
