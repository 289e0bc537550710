//===- Rows.cpp - rows of pages and rings, kept and rebuilt ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Kv/Reference/Frame.h"

using namespace mlir;
using namespace mlir::kv;
using ::attnc::CacheDesc;
using attn::StreamType;
using attn::StreamValue;

SmallVector<ReadOp> kv::readsOf(Value rows) {
  SmallVector<ReadOp> reads;
  SmallVector<Value> open = {rows};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (auto read = dyn_cast_or_null<ReadOp>(op))
      reads.push_back(read);
    else if (auto rebuild = dyn_cast_or_null<RebuildOp>(op))
      llvm::append_range(open, rebuild.getInputs());
  }
  return reads;
}

/// Where bytes of an entry's row begin: `offset` and `stride` as of its place.
uint8_t *Frame::rowBytes(unsigned cache, unsigned sequence, int64_t entry, int64_t offset,
                         int64_t stride) const {
  const CacheDesc &desc = caches[cache];
  if (desc.kind == ::attnc::CacheKind::Ring)
    entry %= desc.rows;
  const ::attnc::CacheStorage &storage = batch.caches[cache];
  int64_t page = slices[sequence]->tables[cache][entry / desc.pageEntries];
  return storage.base + page * storage.pageBytes + offset + entry % desc.pageEntries * stride;
}

LogicalResult Frame::append(AppendOp op) {
  unsigned number = cacheOf(op.getCacheAttr());
  const CacheDesc &cache = caches[number];
  const Axis &elements = axis(cache.every);
  unsigned segmentNumber = 0;
  for (Value operand : op.getValues()) {
    while (cache.segments[segmentNumber].pad)
      ++segmentNumber;
    const ::attnc::Segment &segment = cache.segments[segmentNumber];
    const ::attnc::SegmentPlace &place = cache.places[segmentNumber++];
    const StreamValue &from = value(operand);
    std::vector<float> values(segment.channels);
    for (unsigned s = 0; s < slices.size(); ++s) {
      int64_t count = elements.count[s];
      // Of a chunk longer than the ring, only the last rows stay.
      int64_t skip = cache.kind == ::attnc::CacheKind::Ring
                         ? std::max<int64_t>(0, count - cache.rows)
                         : 0;
      for (int64_t i = skip; i < count; ++i) {
        const double *row = from.row(elements.first[s] + i);
        values.assign(row, row + segment.channels);
        int64_t entry = elements.firstEntry[s] + i;
        ::attnc::encode(segment.format, values.data(), segment.channels,
                        rowBytes(number, s, entry, place.data, place.dataStride),
                        rowBytes(number, s, entry, place.scale, place.scaleStride));
      }
    }
  }
  return success();
}

StreamValue Frame::loadSegment(ReadOp read, unsigned sequence, ArrayRef<int64_t> entries) {
  unsigned number = cacheOf(read.getCacheAttr());
  const CacheDesc &cache = caches[number];
  const ::attnc::Segment &segment = cache.segments[read.getSegment()];
  const ::attnc::SegmentPlace &place = cache.places[read.getSegment()];
  StreamValue loaded{segment.channels, {}};
  std::vector<float> values(segment.channels);
  for (int64_t e : entries) {
    ::attnc::decode(segment.format, rowBytes(number, sequence, e, place.data, place.dataStride),
                    rowBytes(number, sequence, e, place.scale, place.scaleStride),
                    segment.channels, values.data());
    loaded.data.insert(loaded.data.end(), values.begin(), values.end());
  }
  return loaded;
}

/// Runs the body of `op` on some entries; its results are in `rebuilt` then.
LogicalResult Frame::rebuild(RebuildOp op, unsigned sequence, ArrayRef<int64_t> entries) {
  Block &body = op.getBody().front();
  std::vector<int64_t> positions;
  int64_t every = cast<RowsType>(op.getInputs()[0].getType()).getEvery();
  for (int64_t e : entries)
    positions.push_back(e * every);
  llvm::DenseMap<Value, StreamValue> values;
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), op.getInputs())) {
    FailureOr<StreamValue> loaded = load(input, sequence, entries);
    if (failed(loaded))
      return failure();
    values[argument] = std::move(*loaded);
  }
  for (Operation &inner : body.without_terminator()) {
    SmallVector<const StreamValue *> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(&values.find(operand)->second);
    SmallVector<StreamValue> results;
    if (failed(evaluatePerToken(inner, operands, positions.size(), positions, weights, results)))
      return failure();
    for (auto [result, computed] : llvm::zip_equal(inner.getResults(), results))
      values[result] = std::move(computed);
  }
  for (auto [result, yielded] :
       llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands()))
    rebuilt[result] = values.find(yielded)->second;
  return success();
}

FailureOr<StreamValue> Frame::load(Value rows, unsigned sequence, ArrayRef<int64_t> entries) {
  if (auto read = rows.getDefiningOp<ReadOp>())
    return loadSegment(read, sequence, entries);
  if (auto it = rebuilt.find(rows); it != rebuilt.end())
    return it->second;
  if (failed(rebuild(rows.getDefiningOp<RebuildOp>(), sequence, entries)))
    return failure();
  return rebuilt.find(rows)->second;
}
