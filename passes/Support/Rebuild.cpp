//===- Rebuild.cpp - what lies between kept rows and their readers ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/Rebuild.h"

#include "passes/Support/Graph.h"
#include "passes/Support/Keep.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;

FailureOr<Rebuild> attn::findRebuild(Operation *reader, ArrayRef<Value> reads) {
  Rebuild rebuild;
  llvm::SetVector<Value> work(reads.begin(), reads.end());
  for (size_t i = 0; i < work.size(); ++i) {
    Value stream = work[i];
    if (isKept(stream)) {
      rebuild.kept.push_back(stream);
      continue;
    }
    Operation *op = stream.getDefiningOp();
    if (!op || !isRecomputable(op)) {
      InFlightDiagnostic error = reader->emitOpError("reads old elements of what depends on ");
      if (op)
        error << "'" << op->getName() << "'";
      else
        error << "argument " << cast<BlockArgument>(stream).getArgNumber() << " of the model";
      error << ", which is not kept and cannot be computed again";
      error.attachNote(stream.getLoc()) << "expected '" << kKeepAttr << "' here or on the way";
      return failure();
    }
    rebuild.ops.push_back(op);
    if (auto work = dyn_cast<WorkOpInterface>(op))
      rebuild.flops += work.getWork(1).total();
    work.insert(op->operand_begin(), op->operand_end());
  }
  llvm::sort(rebuild.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return rebuild;
}
