//===- Import.h - any input becomes an attn graph
//--------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FRONTEND_IMPORT_H
#define ATTNC_FRONTEND_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attnc {

struct ImportOptions {
  /// Layers [first, second) only; the input feeds the first of them.
  std::optional<std::pair<int64_t, int64_t>> layers;
  /// Emit `attn.round` where the model was trained to round what it keeps. Text
  /// has the roundings that it has.
  bool trainedRoundings = false;
};

/// What an input says beside its graph.
struct ImportInfo {
  std::string name;      ///< of the model
  std::string modelType; ///< "mlir" for MLIR text
  std::string file;      ///< the file that was read
  std::string folder;    ///< the folder that was named, or empty
  std::string torchDtype;
  int64_t layers = 0; ///< of the whole model, whatever ImportOptions::layers
  int64_t hidden = 0; ///< channels of the input
  int64_t maxPositions = 0; ///< 0: not said
  std::string sourceDigest; ///< SHA-256 of the text that was read

  std::vector<std::string> defaulted; ///< "/key = value" of absent keys
  std::vector<std::string> notes;     ///< e.g. draft layers, not planned
  std::vector<std::string> warnings;
  std::vector<std::string> unknownKeys; ///< JSON pointers of unread keys

  /// Set when the import failed: "FILE[:LINE:COL| at POINTER]: found;
  /// expected", to be printed after "error: ".
  std::string error;
};

/// Imports a config.json, a folder that holds one, or MLIR text, told apart by
/// content. The result has one attn.model and verifies; it is null when
/// `info.error` is set. Nothing is printed.
mlir::OwningOpRef<mlir::ModuleOp> importModel(const std::string &path,
                                              mlir::MLIRContext &context,
                                              const ImportOptions &options,
                                              ImportInfo &info);

} // namespace attnc

#endif // ATTNC_FRONTEND_IMPORT_H
