//===- Import.cpp - any input becomes an attn graph
//------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend/Import.h"

#include "dialect/Attn/IR/Attn.h"
#include "formats/Sha256.h"
#include "frontend/Families.h"
#include "frontend/GraphBuilder.h"
#include "frontend/InputText.h"
#include "frontend/LayerSlice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace mlir::attn;

namespace attnc {

namespace {

/// Keeps the first error that MLIR reports, in our form.
class FirstError {
public:
  FirstError(MLIRContext &context, const std::string &file)
      : file(file), handler(&context, [this](Diagnostic &diagnostic) {
          return keep(diagnostic);
        }) {}

  /// The error, or `otherwise` when none was reported.
  std::string get(const std::string &otherwise) const {
    return error.empty() ? file + ": " + otherwise : error;
  }

private:
  LogicalResult keep(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    if (!error.empty())
      return success();
    std::string message = diagnostic.str();
    std::replace(message.begin(), message.end(), '\n', ' ');
    error = file;
    if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
      error += ":" + std::to_string(place.getLine()) + ":" +
               std::to_string(place.getColumn());
    error += ": " + message;
    return success();
  }

  std::string file;
  std::string error;
  ScopedDiagnosticHandler handler;
};

void takeConfig(ModelConfig &config, ImportInfo &info) {
  info.modelType = config.modelType;
  info.torchDtype = config.torchDtype;
  info.maxPositions = config.maxPositions;
  info.defaulted = std::move(config.defaulted);
  info.notes = std::move(config.notes);
  info.warnings = std::move(config.warnings);
  info.unknownKeys = std::move(config.unknownKeys);
}

OwningOpRef<ModuleOp> importConfig(const InputText &input, MLIRContext &context,
                                   const ImportOptions &options,
                                   ImportInfo &info) {
  Result<ModelConfig> config = readModelConfig(input.text, input.file);
  if (!config) {
    info.error = config.error();
    return {};
  }
  OwningOpRef<ModuleOp> module =
      buildGraph(context, *config, input.name, {options.trainedRoundings});
  takeConfig(*config, info);
  FirstError errors(context, input.file);
  if (succeeded(verify(*module)))
    return module;
  info.error = errors.get("found a config whose graph does not verify");
  return {};
}

OwningOpRef<ModuleOp> importText(const InputText &input, MLIRContext &context,
                                 ImportInfo &info) {
  info.error = checkMlirText(input.text, input.file);
  if (!info.error.empty())
    return {};
  context.loadDialect<AttnDialect, arith::ArithDialect, math::MathDialect>();
  FirstError errors(context, input.file);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      input.text, ParserConfig(&context), input.file);
  if (!module) {
    info.error = errors.get("found no MLIR text; expected an attn.model");
    return {};
  }
  info.modelType = "mlir";
  return module;
}

/// The one model of a module, or null with info.error set.
ModelOp findModel(ModuleOp module, ImportInfo &info) {
  auto models = llvm::to_vector(module.getOps<ModelOp>());
  if (models.size() == 1)
    return models.front();
  info.error = info.file + ": found " + std::to_string(models.size()) +
               " attn.model ops; expected one";
  return {};
}

} // namespace

OwningOpRef<ModuleOp> importModel(const std::string &path, MLIRContext &context,
                                  const ImportOptions &options,
                                  ImportInfo &info) {
  Result<InputText> input = readInputText(path);
  if (!input) {
    info.error = input.error();
    return {};
  }
  info.name = input->name;
  info.file = input->file;
  info.folder = input->folder;
  info.sourceDigest = sha256(input->text);
  OwningOpRef<ModuleOp> module =
      input->kind == InputText::Kind::Config
          ? importConfig(*input, context, options, info)
          : importText(*input, context, info);
  if (!module)
    return {};
  ModelOp model = findModel(*module, info);
  if (!model)
    return {};
  info.layers = countLayers(model);
  info.hidden =
      cast<StreamType>(model.getArgumentTypes().front()).getNumFeatures();
  if (info.modelType == "mlir")
    info.name = model.getSymName().str();
  if (!options.layers)
    return module;
  info.error =
      sliceLayers(model, options.layers->first, options.layers->second);
  if (info.error.empty())
    return module;
  info.error = info.file + ": " + info.error;
  return {};
}

} // namespace attnc
