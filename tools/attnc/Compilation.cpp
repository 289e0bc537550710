//===- Compilation.cpp - an input on its way to kernels -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/Compilation.h"

#include "tools/RegisterEverything.h"
#include "tools/attnc/Diagnostics.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>

using namespace attnc;
using namespace mlir;
namespace fs = std::filesystem;

/// "FILE:LINE:COL: " of a location; `file` alone where it has none, as the ops
/// of a config's graph.
static std::string placeOf(Location location, const std::string &file) {
  if (auto at = location->findInstanceOf<FileLineColLoc>())
    return at.getFilename().str() + ":" + std::to_string(at.getLine()) + ":" +
           std::to_string(at.getColumn()) + ": ";
  return file + ": ";
}

/// MLIR adds the op of a diagnostic as a note: for the ops of a config's graph it
/// says too much, and is left out.
static bool isDumpOfOperation(const Diagnostic &note) {
  return StringRef(note.str()).starts_with("see current operation");
}

std::string Compilation::withDiagnostics(llvm::function_ref<LogicalResult()> stage) {
  std::string text;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && text.empty()) {
      text = placeOf(diagnostic.getLocation(), importInfo.file) + diagnostic.str();
      for (Diagnostic &note : diagnostic.getNotes())
        if (!isDumpOfOperation(note))
          text += "\nnote: " + placeOf(note.getLocation(), importInfo.file) + note.str();
    }
    return success();
  });
  if (succeeded(stage()))
    return "";
  return text.empty() ? importInfo.file + ": a stage failed without saying why" : text;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Reads the plan options that were given; the first one that cannot be used is
/// the error.
static std::string readPlanOptions(const Invocation &invocation, const std::string &defaultStorage,
                                   attn::PlanOptions &options) {
  auto given = [&](const char *name, const std::string &fallback) {
    auto it = invocation.plan.find(name);
    return it == invocation.plan.end() ? fallback : it->second;
  };
  std::string storage = given("storage", defaultStorage);
  auto parsed = attn::parseStorage(storage);
  if (!parsed)
    return "--storage: found '" + storage + "'; expected exact, bf16 or published";
  options.storage = *parsed;
  options.absorb = *attn::parseAbsorb(given("absorb", "cost"));
  options.cut = *attn::parseCut(given("cut", "cost"));
  options.balance = std::stoll(given("balance", "200"));
  options.pageEntries = std::stoll(given("page-size", "64"));
  options.layout = given("layout", "token");
  if (options.layout != "token")
    return "--layout: found '" + options.layout + "'; expected token";
  if (std::string want = given("want", "all"); want != "all")
    return "--want: found '" + want + "', which is not built; expected all";
  if (std::string replay = given("replay", "exact"); replay != "exact")
    return "--replay: found '" + replay + "', which is not built; expected exact";
  if (invocation.context)
    options.context = *invocation.context;
  options.verifyEach = invocation.verifyEach;
  return "";
}

std::map<std::string, std::string> Compilation::planText() const {
  std::map<std::string, std::string> text = {
      {"storage", attn::stringify(options.storage).str()},
      {"absorb", attn::stringify(options.absorb).str()},
      {"cut", attn::stringify(options.cut).str()},
      {"balance", std::to_string(options.balance)},
      {"page-size", std::to_string(options.pageEntries)},
      {"layout", options.layout},
      {"want", "all"},
      {"replay", "exact"}};
  if (layers)
    text["layers"] = std::to_string(layers->first) + ":" + std::to_string(layers->second);
  return text;
}

InputDefaults Compilation::defaults() const {
  InputDefaults defaults;
  if (importInfo.folder.empty())
    return defaults;
  std::error_code ec;
  fs::path folder = importInfo.folder;
  if (fs::exists(folder / "model.safetensors", ec))
    defaults.weights = (folder / "model.safetensors").string();
  else if (fs::exists(folder / "model.safetensors.index.json", ec))
    defaults.weights = folder.string();
  if (fs::exists(folder / "input.safetensors", ec))
    defaults.input = (folder / "input.safetensors").string();
  return defaults;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

Compilation::Compilation() : context(makeRegistry()) {}
Compilation::~Compilation() = default;

Result<std::unique_ptr<Compilation>> Compilation::create(const std::string &path,
                                                         const Invocation &invocation,
                                                         const std::string &defaultStorage) {
  std::unique_ptr<Compilation> made(new Compilation());
  if (std::string error = readPlanOptions(invocation, defaultStorage, made->options);
      !error.empty())
    return Error{error};
  made->layers = invocation.layers;
  ImportOptions import;
  import.layers = invocation.layers;
  import.trainedRoundings = made->options.storage == attn::Storage::Published;
  std::string error = made->withDiagnostics([&] {
    made->imported = importModel(path, made->context, import, made->importInfo);
    return success(bool(made->imported));
  });
  if (!made->importInfo.error.empty())
    return Error{made->importInfo.error};
  if (!error.empty())
    return Error{error};
  for (const std::string &warning : made->importInfo.warnings)
    printWarning(warning);
  if (invocation.verbose) {
    for (const std::string &key : made->importInfo.unknownKeys)
      printNote(made->importInfo.file + " at " + key + ": not read");
    for (const std::string &value : made->importInfo.defaulted)
      printNote(made->importInfo.file + ": defaulted " + value);
    for (const std::string &note : made->importInfo.notes)
      printNote(made->importInfo.file + ": " + note);
  }
  return made;
}

std::string Compilation::plan() {
  if (plannedModule)
    return "";
  OwningOpRef<ModuleOp> module = imported->clone();
  std::string error =
      withDiagnostics([&] { return attn::planModule(*module, options, passReport); });
  if (error.empty())
    plannedModule = std::move(module);
  return error;
}

std::string Compilation::lower() {
  if (stepModule)
    return "";
  if (std::string error = plan(); !error.empty())
    return error;
  OwningOpRef<ModuleOp> module = plannedModule->clone();
  std::string error =
      withDiagnostics([&] { return attn::lowerModule(*module, options, passReport); });
  if (error.empty())
    stepModule = std::move(module);
  return error;
}

std::string Compilation::build() {
  if (built)
    return "";
  if (std::string error = lower(); !error.empty())
    return error;
  auto made = std::make_unique<PlannedProgram>();
  std::string error = withDiagnostics([&] { return buildProgram(*stepModule, *made); });
  if (error.empty())
    built = std::move(made);
  return error;
}

attn::ModelOp attnc::findModel(ModuleOp module, bool prefill) {
  for (auto model : module.getOps<attn::ModelOp>())
    if (model->hasAttr("form") == prefill)
      return model;
  return {};
}
