//===- Streams.h - what passes attach to a stream ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A stream is the result of an op or an argument of a model. Attributes of a
// stream sit on the op, or among the model's argument attributes.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_SUPPORT_STREAMS_H
#define ATTNC_PASSES_SUPPORT_STREAMS_H

#include "dialect/Attn/IR/Attn.h"

#include <optional>

namespace mlir::attn {

/// The attribute `name` of a stream, null if there is none; sets or, given null,
/// removes it.
Attribute getStreamAttr(Value stream, StringRef name);
void setStreamAttr(Value stream, StringRef name, Attribute value);

/// What identifies a stream across the forms of a model: the `attn.id` of its
/// op, or ~n for argument n. None for an op that exists in one form only.
std::optional<int64_t> getStreamId(Value stream);

/// The layer of the stream's op; none for an argument.
std::optional<int64_t> getStreamLayer(Value stream);

/// The format in which the stream would be stored (`attn.storage`); bf16 until
/// attn-choose-storage has run.
::attnc::Format getStorage(Value stream);

/// Bytes of one element of the stream in that format.
int64_t getStoredBytes(Value stream);

/// All streams of a model in order: its arguments, then its ops' results.
SmallVector<Value> getStreams(ModelOp model);

/// The streams of `model` by their identity.
DenseMap<int64_t, Value> getStreamsById(ModelOp model);

} // namespace mlir::attn

#endif // ATTNC_PASSES_SUPPORT_STREAMS_H
