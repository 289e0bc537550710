//===- KvCompress.cpp - pooling with a carried state -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Kv/IR/Kv.h"

using namespace mlir;
using namespace mlir::kv;
using attn::CompressPart;
using attn::StreamType;

SmallVector<CompressPart> CompressOp::getParts() {
  SmallVector<CompressPart> parts;
  unsigned gate = 0;
  for (auto [value, offset, gated] : llvm::zip_equal(getValues(), getOffsets(), getGated()))
    parts.push_back({value, gated ? getGates()[gate++] : Value(), offset});
  return parts;
}

int64_t CompressOp::getNumStateRows() {
  int64_t rows = 0;
  for (int64_t offset : getOffsets())
    rows += kStateRows * (1 - offset);
  return rows;
}

/// Fails unless the parts' lists have one entry per part.
static LogicalResult checkLists(CompressOp op) {
  size_t parts = op.getValues().size();
  if (parts == 0)
    return op.emitOpError("expected at least one part, found none");
  if (op.getOffsets().size() != parts || op.getGated().size() != parts)
    return op.emitOpError("has ") << parts << " values, " << op.getOffsets().size()
                                  << " offsets and " << op.getGated().size()
                                  << " 'gated'; expected one of each per part";
  if (llvm::count(op.getGated(), true) != int64_t(op.getGates().size()))
    return op.emitOpError("has ") << op.getGates().size() << " gates for "
                                  << llvm::count(op.getGated(), true) << " gated parts";
  for (int64_t offset : op.getOffsets())
    if (offset > 0 || offset < -(int64_t(1) << 31))
      return op.emitOpError("reads the block at ")
             << offset << "; expected an offset from -2^31 to 0";
  return success();
}

LogicalResult CompressOp::verify() {
  if (int64_t(getEvery()) <= 0)
    return emitOpError("expected a positive 'every', found ") << int64_t(getEvery());
  if (failed(checkLists(*this)))
    return failure();
  int64_t rate = getInputEvery();
  auto expected =
      StreamType::get(getContext(), getType().getShape(), rate * int64_t(getEvery()));
  if (getType() != expected)
    return emitOpError("expected a result of type ") << expected << ", found " << getType();
  int64_t channels = getType().getNumFeatures();
  for (const CompressPart &part : getParts()) {
    auto value = cast<StreamType>(part.value.getType());
    if (value.getNumFeatures() != channels || value.getEvery() != rate)
      return emitOpError("expected values of ") << channels << " channels every " << rate
                                                << " tokens, found " << value;
    if (!part.gate)
      continue;
    auto gate = cast<StreamType>(part.gate.getType());
    if ((gate.getNumFeatures() != channels && gate.getNumFeatures() != 1) ||
        gate.getEvery() != rate)
      return emitOpError("expected gates of ") << channels << " channels or 1 every " << rate
                                               << " tokens, found " << gate;
  }
  return success();
}

LogicalResult CompressOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *found = tables.lookupNearestSymbolFrom(*this, getStateAttr());
  auto cache = dyn_cast_or_null<CacheOp>(found);
  if (!cache || cache.getKind() != CacheKind::State)
    return emitOpError("expected ") << getStateAttr() << " to be a kv.cache that is a state";
  int64_t channels = getType().getNumFeatures();
  auto segment = cast<SegmentAttr>(cache.getRow()[0]);
  if (cache.getRow().size() != 1 || segment.getChannels() != channels)
    return emitOpError("expected the rows of ") << getStateAttr() << " to be one segment of "
                                                << channels << " channels";
  if (int64_t(*cache.getRows()) != getNumStateRows())
    return emitOpError("needs a state of ") << getNumStateRows() << " rows; " << getStateAttr()
                                            << " has " << *cache.getRows();
  if (!getBias())
    return success();
  auto weight = tables.lookupNearestSymbolFrom<attn::WeightOp>(*this, getBiasAttr());
  int64_t columns = 0;
  for (Type type : getGates().getTypes())
    columns += cast<StreamType>(type).getNumFeatures();
  if (!weight || weight.getShape() != ArrayRef<int64_t>({int64_t(getEvery()), columns}))
    return emitOpError("expected weight ") << getBiasAttr() << " to be declared with shape "
                                           << int64_t(getEvery()) << "x" << columns;
  return success();
}
