//===- Compress.cpp - gated pooling with carried states in f64 ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A part at block offset -o feeds block b into result b + o: of it the softmax
// states of the o + 1 newest blocks are alive, block b in slot b % (o + 1). What
// a step leaves is kept in f32.
//
//===----------------------------------------------------------------------===//

#include "dialect/Kv/Reference/Frame.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::kv;
using attn::StreamType;
using attn::StreamValue;

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

/// The running softmax of one block, channel by channel: acc, max, sum.
struct BlockState {
  std::vector<double> acc, max, sum;

  void reset(int64_t channels) {
    acc.assign(channels, 0);
    sum.assign(channels, 0);
    max.assign(channels, kNone);
  }

  /// Adds what weighs `exp(logit)` times `accumulated / weight`.
  void add(int64_t c, double logit, double weight, double accumulated) {
    double high = std::isnan(logit) ? logit : std::max(max[c], logit); // keeps NaN
    if (high == kNone)
      return;
    double old = std::exp(max[c] - high), now = std::exp(logit - high);
    acc[c] = acc[c] * old + accumulated * now;
    sum[c] = sum[c] * old + weight * now;
    max[c] = high;
  }
};

/// One part of a compression over the frame's elements.
struct Part {
  const StreamValue &value;
  const StreamValue *gate; ///< null: logits are 0
  int64_t offset;
  int64_t biasColumn; ///< where its gates begin in a row of the bias
  int64_t firstRow;   ///< of its states in the cache
  std::vector<BlockState> slots;

  BlockState &of(int64_t block) { return slots[block % int64_t(slots.size())]; }
};

struct Pooling {
  SmallVector<Part> parts;
  int64_t every, channels;
  const float *bias = nullptr;
  int64_t biasColumns = 0;

  /// Adds element `j` of `block`, which is element `at` of the frame.
  void add(int64_t at, int64_t block, int64_t j);
  /// Writes what the states make of result element `block`.
  void finish(int64_t block, double *out);
};

} // namespace

void Pooling::add(int64_t at, int64_t block, int64_t j) {
  for (Part &part : parts) {
    BlockState &state = part.of(block);
    if (j == 0)
      state.reset(channels);
    for (int64_t c = 0; c < channels; ++c) {
      double logit = 0;
      if (part.gate) {
        int64_t column = part.gate->features == 1 ? 0 : c;
        logit = part.gate->row(at)[column];
        if (bias)
          logit += bias[j * biasColumns + part.biasColumn + column];
      }
      state.add(c, logit, 1, part.value.row(at)[c]);
    }
  }
}

void Pooling::finish(int64_t block, double *out) {
  BlockState all;
  all.reset(channels);
  for (Part &part : parts)
    if (block + part.offset >= 0) {
      const BlockState &state = part.of(block + part.offset);
      for (int64_t c = 0; c < channels; ++c)
        all.add(c, state.max[c], state.sum[c], state.acc[c]);
    }
  for (int64_t c = 0; c < channels; ++c)
    out[c] = all.max[c] == kNone ? 0.0 : all.acc[c] / all.sum[c];
}

/// The vectors of a state in the order of their rows.
static std::array<std::vector<double> *, 3> rowsOf(BlockState &state) {
  return {&state.acc, &state.max, &state.sum};
}

void Frame::loadStateRow(unsigned cache, unsigned sequence, int64_t row,
                         std::vector<double> &values) {
  const ::attnc::Segment &segment = caches[cache].segments[0];
  const ::attnc::SegmentPlace &place = caches[cache].places[0];
  std::vector<float> stored(segment.channels);
  ::attnc::decode(segment.format, rowBytes(cache, sequence, row, place.data, place.dataStride),
                  rowBytes(cache, sequence, row, place.scale, place.scaleStride),
                  segment.channels, stored.data());
  values.assign(stored.begin(), stored.end());
}

void Frame::storeStateRow(unsigned cache, unsigned sequence, int64_t row,
                          const std::vector<double> &values) {
  const ::attnc::Segment &segment = caches[cache].segments[0];
  const ::attnc::SegmentPlace &place = caches[cache].places[0];
  std::vector<float> stored(values.begin(), values.end());
  ::attnc::encode(segment.format, stored.data(), segment.channels,
                  rowBytes(cache, sequence, row, place.data, place.dataStride),
                  rowBytes(cache, sequence, row, place.scale, place.scaleStride));
}

LogicalResult Frame::compress(CompressOp op) {
  Pooling pooling{{}, int64_t(op.getEvery()), op.getType().getNumFeatures()};
  attn::Evaluation evaluation(op, {}, {}, {}, weights);
  if (op.getBiasAttr() && !(pooling.bias = evaluation.weight(op.getBiasAttr())))
    return failure();
  int64_t row = 0;
  for (const attn::CompressPart &part : op.getParts()) {
    const StreamValue *gate = part.gate ? &value(part.gate) : nullptr;
    pooling.parts.push_back({value(part.value), gate, part.offset, pooling.biasColumns, row,
                             std::vector<BlockState>(1 - part.offset)});
    pooling.biasColumns += gate ? gate->features : 0;
    row += CompressOp::kStateRows * (1 - part.offset);
  }
  const Axis &in = axis(op.getInputEvery()), &out = axis(op.getType().getEvery());
  StreamValue result{pooling.channels,
                     std::vector<double>(out.positions.size() * pooling.channels)};
  unsigned cache = cacheOf(op.getStateAttr());
  // Runs `move` on the rows of the states that exist after `elements` elements.
  auto forEachRow = [&](int64_t elements, auto move) {
    int64_t newest = (elements - 1) / pooling.every;
    for (Part &part : pooling.parts)
      for (int64_t block = std::max<int64_t>(0, newest + part.offset);
           elements > 0 && block <= newest; ++block)
        for (auto [i, values] : llvm::enumerate(rowsOf(part.of(block))))
          move(part.firstRow +
                   block % int64_t(part.slots.size()) * CompressOp::kStateRows + int64_t(i),
               *values);
  };
  for (unsigned s = 0; s < slices.size(); ++s) {
    int64_t first = in.firstEntry[s], count = in.count[s];
    if (count == 0)
      continue;
    forEachRow(first, [&](int64_t at, std::vector<double> &values) {
      loadStateRow(cache, s, at, values);
    });
    for (int64_t n = first; n < first + count; ++n) {
      int64_t block = n / pooling.every, j = n % pooling.every;
      pooling.add(in.first[s] + n - first, block, j);
      if (j == pooling.every - 1)
        pooling.finish(block, result.row(out.first[s] + block - out.firstEntry[s]));
    }
    forEachRow(first + count, [&](int64_t at, std::vector<double> &values) {
      storeStateRow(cache, s, at, values);
    });
  }
  live[op.getResult()] = std::move(result);
  return success();
}
