//===- Streams.cpp - what passes attach to a stream ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/Streams.h"

using namespace mlir;
using namespace mlir::attn;

/// The model whose argument `stream` is.
static ModelOp ownerOf(BlockArgument argument) {
  return cast<ModelOp>(argument.getOwner()->getParentOp());
}

Attribute attn::getStreamAttr(Value stream, StringRef name) {
  if (Operation *op = stream.getDefiningOp())
    return op->getAttr(name);
  auto argument = cast<BlockArgument>(stream);
  return ownerOf(argument).getArgAttr(argument.getArgNumber(), name);
}

void attn::setStreamAttr(Value stream, StringRef name, Attribute value) {
  if (Operation *op = stream.getDefiningOp()) {
    if (value)
      op->setAttr(name, value);
    else
      op->removeAttr(name);
    return;
  }
  auto argument = cast<BlockArgument>(stream);
  ModelOp model = ownerOf(argument);
  if (value)
    model.setArgAttr(argument.getArgNumber(), name, value);
  else
    model.removeArgAttr(argument.getArgNumber(), StringAttr::get(model.getContext(), name));
}

std::optional<int64_t> attn::getStreamId(Value stream) {
  if (auto argument = dyn_cast<BlockArgument>(stream))
    return ~int64_t(argument.getArgNumber());
  auto id = stream.getDefiningOp()->getAttrOfType<IntegerAttr>(kIdAttr);
  if (!id)
    return std::nullopt;
  return id.getInt();
}

std::optional<int64_t> attn::getStreamLayer(Value stream) {
  if (Operation *op = stream.getDefiningOp())
    return getLayer(op);
  return std::nullopt;
}

::attnc::Format attn::getStorage(Value stream) {
  if (auto format = dyn_cast_or_null<FormatAttr>(getStreamAttr(stream, kStorageAttr)))
    return format.getFormat();
  return {::attnc::Elem::BF16, 0, ::attnc::Scale::None};
}

int64_t attn::getStoredBytes(Value stream) {
  return getStorage(stream).bytes(cast<StreamType>(stream.getType()).getNumFeatures());
}

SmallVector<Value> attn::getStreams(ModelOp model) {
  SmallVector<Value> streams(model.getBlock().getArguments());
  for (Operation &op : model.getBlock())
    llvm::append_range(streams, op.getResults());
  return streams;
}

DenseMap<int64_t, Value> attn::getStreamsById(ModelOp model) {
  DenseMap<int64_t, Value> streams;
  for (Value stream : getStreams(model))
    if (std::optional<int64_t> id = getStreamId(stream))
      streams[*id] = stream;
  return streams;
}
