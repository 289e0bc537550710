//===- BodyBuilder.h - the launches of one body ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_CODEGEN_PLAN_BODYBUILDER_H
#define ATTNC_CODEGEN_PLAN_BODYBUILDER_H

#include "codegen/Plan/KernelTable.h"
#include "codegen/Plan/Scope.h"
#include "codegen/Plan/Tables.h"
#include "dialect/Kv/IR/Kv.h"

#include "llvm/ADT/StringMap.h"

namespace attnc {

/// What the bodies of a step share.
struct ProgramContext {
  PlannedProgram &planned;
  KernelTable kernels;
  Tables tables;
  llvm::StringMap<int32_t> caches; ///< by symbol

  explicit ProgramContext(PlannedProgram &planned)
      : planned(planned), kernels(planned), tables(planned.program) {}
};

/// Walks a block of a kv.step and leaves its launches. Slices and conversions
/// between equal layouts are views; concatenations are copies.
class BodyBuilder {
public:
  BodyBuilder(ProgramContext &context, Body &body)
      : context(context), body(body), tokens(body.buffers, false) {}

  mlir::LogicalResult build(mlir::Block &block);

private:
  using Launches = std::vector<Launch>;

  // Per-token ops, over tokens or over the entries of a tile (BuildTokens.cpp).
  mlir::LogicalResult emitToken(mlir::Operation &op, Scope &scope, Launches &to);
  mlir::LogicalResult emit(mlir::attn::LinearOp op, Scope &scope, Launches &to);
  mlir::LogicalResult emit(mlir::attn::RMSNormOp op, Scope &scope, Launches &to);
  mlir::LogicalResult emit(mlir::attn::RopeOp op, Scope &scope, Launches &to);
  mlir::LogicalResult emit(mlir::attn::MapOp op, Scope &scope, Launches &to);
  mlir::LogicalResult emit(mlir::attn::RoundOp op, Scope &scope, Launches &to);
  mlir::LogicalResult emit(mlir::attn::SliceOp op, Scope &scope, Launches &to);
  mlir::LogicalResult emit(mlir::attn::ConcatOp op, Scope &scope, Launches &to);
  mlir::LogicalResult emit(mlir::attn::ExternOp op, Scope &scope, Launches &to);
  /// The value as [heads, inner], copied if its strides do not allow that.
  View shaped(mlir::Value value, int64_t heads, int64_t inner, mlir::Operation *op, Scope &scope,
              Launches &to);
  View result(mlir::Value value, Scope &scope);
  void copy(const View &from, const View &into, mlir::Operation *op, Launches &to);

  // Rows and attention (BuildAttend.cpp).
  mlir::LogicalResult emit(mlir::kv::AppendOp op);
  mlir::LogicalResult emit(mlir::kv::AttendInitOp op);
  mlir::LogicalResult emit(mlir::kv::AttendPartialOp op);
  mlir::LogicalResult emit(mlir::kv::AttendFinishOp op);
  struct Source;
  RowPart part(mlir::kv::ReadOp read);
  RowSpec rowsOf(mlir::kv::ReadOp read);
  Visibility visibilityOf(mlir::kv::AttendPartialOp op);
  mlir::LogicalResult finishAttend(mlir::kv::AttendPartialOp op, Source source, Launches &to);
  mlir::LogicalResult attendRebuilt(mlir::kv::AttendPartialOp op);
  View unpack(mlir::kv::ReadOp read, Scope &tile, Launch &rebuild);
  int32_t takeState(int64_t heads, int64_t channels);

  void publish(mlir::Operation &op);

  ProgramContext &context;
  Body &body;
  Scope tokens;
  llvm::DenseMap<mlir::Value, int32_t> states;
  std::vector<bool> stateBusy;
};

/// A launch of `kernel` for `op`.
Launch makeLaunch(llvm::StringRef kind, std::string kernel, mlir::Operation *op);

} // namespace attnc

#endif // ATTNC_CODEGEN_PLAN_BODYBUILDER_H
