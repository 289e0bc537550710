//===- attn-lsp-server.cpp - editor support for our dialects ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/RegisterEverything.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  attnc::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
