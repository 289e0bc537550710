//===- RegisterEverything.h - dialects and passes of the tools -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TOOLS_REGISTEREVERYTHING_H
#define ATTNC_TOOLS_REGISTEREVERYTHING_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace attnc {

/// The dialects that our levels are written in: attn, kv and the upstream ones
/// that code generation uses. Not all of upstream: including that takes half a
/// minute to compile and half a second to start.
void registerDialects(mlir::DialectRegistry &registry);

/// Our passes and pipelines, and upstream's canonicalize, cse and friends, under
/// their command-line names.
void registerPasses();

} // namespace attnc

#endif // ATTNC_TOOLS_REGISTEREVERYTHING_H
