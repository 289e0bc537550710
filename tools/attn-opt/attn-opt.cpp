//===- attn-opt.cpp - runs passes on a file --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/RegisterEverything.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  attnc::registerDialects(registry);
  attnc::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "attnc's pass driver\n", registry));
}
