//===- AttnWeights.cpp - ops checked against the weights they name ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace mlir::attn;

/// "512x5120".
static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, "x");
  return text;
}

/// The declaration of weight `symbol` with `rank` axes; emits why there is none.
static WeightOp findWeight(Operation *op, FlatSymbolRefAttr symbol, size_t rank,
                           SymbolTableCollection &tables) {
  Operation *found = tables.lookupNearestSymbolFrom(op, symbol);
  if (!found) {
    op->emitOpError("weight ") << symbol << " is not declared; expected attn.weight " << symbol
                               << " in the module";
    return nullptr;
  }
  auto weight = dyn_cast<WeightOp>(found);
  if (!weight) {
    op->emitOpError("expected ") << symbol << " to be an attn.weight, found "
                                 << found->getName();
    return nullptr;
  }
  if (weight.getShape().size() != rank) {
    op->emitOpError("weight ") << symbol << " is " << shapeText(weight.getShape())
                               << ", expected " << (rank == 1 ? "a vector" : "a matrix");
    return nullptr;
  }
  return weight;
}

/// Fails unless `symbol` is a vector of `entries` entries, one per `what`.
static LogicalResult checkVector(Operation *op, FlatSymbolRefAttr symbol, int64_t entries,
                                 StringRef what, SymbolTableCollection &tables) {
  WeightOp weight = findWeight(op, symbol, 1, tables);
  if (!weight)
    return failure();
  if (weight.getShape()[0] != entries)
    return op->emitOpError("weight ") << symbol << " has " << weight.getShape()[0]
                                      << " entries, expected " << entries << ", one per " << what;
  return success();
}

//===----------------------------------------------------------------------===//
// linear
//===----------------------------------------------------------------------===//

/// Fails unless the weight's rows divide into the op's groups and `rows`.
static LogicalResult checkRows(LinearOp op, WeightOp weight) {
  int64_t rows = weight.getShape()[0], groups = op.getGroups();
  if (rows % groups != 0)
    return op.emitOpError("weight ") << op.getWeightAttr() << " is "
                                     << shapeText(weight.getShape()) << "; its " << rows
                                     << " rows do not divide into " << groups << " groups";
  int64_t groupRows = rows / groups;
  auto range = op.getRows();
  if (range && ((*range)[0] > groupRows || (*range)[1] > groupRows - (*range)[0]))
    return op.emitOpError("takes rows [") << (*range)[0] << ", " << (*range)[0] << " + "
                                          << (*range)[1] << ") of each group; weight "
                                          << op.getWeightAttr() << " has " << groupRows
                                          << " rows per group";
  return success();
}

LogicalResult LinearOp::verifySymbolUses(SymbolTableCollection &tables) {
  WeightOp weight = findWeight(*this, getWeightAttr(), 2, tables);
  if (!weight || failed(checkRows(*this, weight)))
    return failure();
  Geometry g = getGeometry(weight);
  int64_t in = getInput().getType().getNumFeatures(), out = getType().getNumFeatures();
  std::string shape = shapeText(weight.getShape());
  StringRef inAxis = getTranspose() ? "rows" : "columns";
  if (!g.sharedInput && in != g.in * g.groups) {
    InFlightDiagnostic diag = emitOpError("weight ")
                              << getWeightAttr() << " is " << shape << ", expected " << inAxis;
    if (g.groups == 1)
      return diag << ' ' << in << " to match the input's " << in << " channels";
    diag << " that match the input's " << in << " channels: " << g.groups << " groups read "
         << g.in << " channels each";
    if (!getTranspose())
      diag << ", or all of them the same " << g.in;
    return diag;
  }
  if (out != g.out * g.groups)
    return emitOpError("weight ") << getWeightAttr() << " (" << shape << ") gives "
                                  << g.out * g.groups << " channels, the result has " << out;
  if (!getBias())
    return success();
  return checkVector(*this, getBiasAttr(), weight.getShape()[0], "row of the weight", tables);
}

//===----------------------------------------------------------------------===//
// rms_norm, layer_norm, map, compress, attend
//===----------------------------------------------------------------------===//

LogicalResult RMSNormOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!getWeight())
    return success();
  int64_t entries = getPerHead() ? getType().getChannels() : getType().getNumFeatures();
  return checkVector(*this, getWeightAttr(), entries, "channel of a normalised vector", tables);
}

LogicalResult LayerNormOp::verifySymbolUses(SymbolTableCollection &tables) {
  int64_t entries = getPerHead() ? getType().getChannels() : getType().getNumFeatures();
  for (FlatSymbolRefAttr symbol : {getWeightAttr(), getBiasAttr()})
    if (symbol &&
        failed(checkVector(*this, symbol, entries, "channel of a normalised vector", tables)))
      return failure();
  return success();
}

LogicalResult CompressOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!getBias())
    return success();
  WeightOp bias = findWeight(*this, getBiasAttr(), 2, tables);
  if (!bias)
    return failure();
  int64_t expected[] = {int64_t(getEvery()), getGateChannels()};
  if (bias.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("weight ") << getBiasAttr() << " is " << shapeText(bias.getShape())
                                  << ", expected " << shapeText(expected)
                                  << ": a row per element of a block, a column per gate channel";
  return success();
}

LogicalResult MapOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!getConsts())
    return success();
  StreamType result = getType();
  int64_t all = result.getNumFeatures(), heads = result.getHeads(), last = result.getChannels();
  for (auto symbol : getConsts()->getAsRange<FlatSymbolRefAttr>()) {
    WeightOp weight = findWeight(*this, symbol, 1, tables);
    if (!weight)
      return failure();
    int64_t entries = weight.getShape()[0];
    if (entries != all && entries != heads && entries != last && entries != 1)
      return emitOpError("weight ") << symbol << " has " << entries << " entries, expected "
                                    << all << " (one per channel), " << heads
                                    << " (one per head), " << last
                                    << " (one per channel of the last axis) or 1";
  }
  return success();
}

LogicalResult AttendOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (getSink() && failed(checkVector(*this, getSinkAttr(), getHeads(), "head", tables)))
    return failure();
  if (!getConsts())
    return success();
  for (auto symbol : getConsts()->getAsRange<FlatSymbolRefAttr>())
    if (failed(checkVector(*this, symbol, getHeads(), "head", tables)))
      return failure();
  return success();
}
