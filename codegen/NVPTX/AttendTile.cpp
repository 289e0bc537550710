//===- AttendTile.cpp - how a block of an attend kernel divides its work -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/AttendTile.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace attnc;
using namespace attnc::nvptx;

namespace {

/// A thread's share of the accumulator, in registers. Twice as much would spill.
constexpr int64_t kMostAccumulators = 64;
/// Key channels are unrolled: this bounds the length of the code.
constexpr int64_t kMostChannels = 2048;

AttendTile sized(const AttendSpec &spec, int64_t groups, int64_t columnWarps, int64_t entries,
                 int64_t stages) {
  AttendTile tile;
  tile.groups = groups;
  tile.columnWarps = columnWarps;
  tile.entries = entries;
  tile.stages = stages;
  for (const RowSpec &key : spec.keys)
    tile.keyChannels += llvm::alignTo(key.dim, 16);
  tile.valueChannels = llvm::alignTo(spec.dv(), 16);
  tile.ownValue = spec.valueKey < 0;
  tile.queryBytes = tile.rows() * tile.keyPitch();
  tile.keyBytes = entries * tile.keyPitch();
  tile.valueBytes = tile.ownValue ? entries * tile.valuePitch() : 0;
  tile.weightBytes = tile.rows() * tile.weightPitch();
  tile.reduceBytes = tile.warps() * 16 * 4;
  return tile;
}

int64_t accumulators(const AttendTile &tile) { return tile.channelBlocks() * 8; }

} // namespace

Result<AttendTile> nvptx::chooseAttendTile(const AttendSpec &spec, const Chip &chip) {
  int64_t columnWarps = 4;
  while (columnWarps < 8 && accumulators(sized(spec, 1, columnWarps, 64, 1)) > kMostAccumulators)
    columnWarps *= 2;
  AttendTile least = sized(spec, 1, columnWarps, 8 * columnWarps, 1);
  if (accumulators(least) > kMostAccumulators)
    return Error{"a value of " + std::to_string(spec.dv()) + " channels needs " +
                 std::to_string(accumulators(least)) +
                 " accumulators per thread; at most " + std::to_string(kMostAccumulators) +
                 " fit (1024 channels)"};
  if (least.keyChannels > kMostChannels)
    return Error{"keys of " + std::to_string(spec.dk()) + " channels; at most " +
                 std::to_string(kMostChannels) + " are supported"};

  // One group serves the rows of one token when few heads share their rows. Two
  // halve the reads of each tile; dense rows are a chunk's, with many tokens.
  bool many = spec.heads / spec.kvHeads > 16 ||
              std::all_of(spec.keys.begin(), spec.keys.end(),
                          [](const RowSpec &key) { return key.dense; });
  for (int64_t stages : {2, 1})
    for (int64_t groups = many ? 2 : 1; groups >= 1; --groups)
      for (int64_t entries : {64, 32}) {
        AttendTile tile = sized(spec, groups, columnWarps, entries, stages);
        if (entries >= 8 * columnWarps && tile.sharedBytes() <= chip.maxShared)
          return tile;
      }
  return Error{"keys of " + std::to_string(spec.dk()) + " and a value of " +
               std::to_string(spec.dv()) + " channels need " +
               std::to_string(least.sharedBytes()) + " bytes of shared memory; " + chip.name +
               " has " + std::to_string(chip.maxShared)};
}
