//===- KvDialect.cpp - the kv dialect ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Kv/IR/Kv.h"

using namespace mlir;
using namespace mlir::kv;

#include "dialect/Kv/IR/KvDialect.cpp.inc"
#include "dialect/Kv/IR/KvEnums.cpp.inc"

void KvDialect::initialize() {
  registerTypes();
  registerOps();
}
