//===- Compilation.h - an input on its way to kernels -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The stages that every command shares: graph (as imported), plan (both forms,
// with what is kept), kv (the step), program (launch list and kernel shapes).
// Each stage is made once, on request, from the one before.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_TOOLS_ATTNC_COMPILATION_H
#define ATTNC_TOOLS_ATTNC_COMPILATION_H

#include "codegen/Plan/BuildProgram.h"
#include "dialect/Attn/IR/Attn.h"
#include "formats/Manifest.h"
#include "formats/Result.h"
#include "frontend/Import.h"
#include "passes/Pipelines.h"
#include "tools/attnc/Commands.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>

namespace attnc {

/// Where a command's weights and input come from when it does not say.
struct InputDefaults {
  std::string weights, input;
};

class Compilation {
public:
  /// Imports `path`. `defaultStorage` is what --storage means when it is absent.
  static Result<std::unique_ptr<Compilation>> create(const std::string &path,
                                                     const Invocation &invocation,
                                                     const std::string &defaultStorage);
  ~Compilation();

  const ImportInfo &info() const { return importInfo; }
  const mlir::attn::PlanOptions &planOptions() const { return options; }
  /// The plan options as the manifest records them, defaults written out.
  std::map<std::string, std::string> planText() const;

  /// model.safetensors and input.safetensors of an input folder, where present.
  InputDefaults defaults() const;

  /// The graph as imported.
  mlir::ModuleOp graph() { return *imported; }

  // Each returns an error text, empty on success, and does nothing when its
  // stage is there already.
  std::string plan();
  std::string lower();
  std::string build();

  mlir::ModuleOp planned() { return *plannedModule; }
  mlir::ModuleOp step() { return *stepModule; }
  const mlir::attn::PassReport &report() const { return passReport; }
  PlannedProgram &program() { return *built; }

  /// Runs `stage`; on failure returns the diagnostics that MLIR emitted.
  std::string withDiagnostics(llvm::function_ref<mlir::LogicalResult()> stage);

private:
  Compilation();

  mlir::MLIRContext context;
  ImportInfo importInfo;
  mlir::attn::PlanOptions options;
  std::optional<std::pair<int64_t, int64_t>> layers;
  mlir::OwningOpRef<mlir::ModuleOp> imported, plannedModule, stepModule;
  mlir::attn::PassReport passReport;
  std::unique_ptr<PlannedProgram> built;
};

/// The attn.model of `module` in the form that `prefill` says, null if none.
mlir::attn::ModelOp findModel(mlir::ModuleOp module, bool prefill = false);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_COMPILATION_H
