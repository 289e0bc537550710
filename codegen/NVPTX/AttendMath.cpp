//===- AttendMath.cpp - scores, online softmax, weighted values --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which lane holds what of a matrix is told in DeviceIntrinsics.cpp. Rows of the
// scores are rows of the item, columns are entries; a thread holds columns 2t
// and 2t + 1 of every block of eight for its two rows.
//
//===----------------------------------------------------------------------===//

#include "codegen/NVPTX/AttendKernel.h"

#include "formats/KernelAbi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace attnc;
using namespace attnc::nvptx;
using namespace mlir;

namespace {

const double kLog2E = 1 / std::log(2.0);

Val zeros(Kernel &k) {
  Val zero = k.f32(0);
  return k.lanes({zero, zero, zero, zero});
}

/// One and the other half of four registers that hold two B operands.
Val operandB(Kernel &k, Val four, int64_t which) {
  return k.lanes(four, {which * 2, which * 2 + 1});
}

Val mma(Kernel &k, Val a, Val b, Val c) {
  return k.device("attn_dev_mma_m16n8k16_bf16", {a, b, c});
}

} // namespace

Vals AttendKernel::scoreTile(Val stage) {
  int64_t blocks = scoreBlocks(), pitch = tile.keyPitch();
  // Queries are operand A: lanes 0-15 address the rows, 16-31 their second half.
  Val a = (group * 16 + (lane & 15)) * pitch + (lane >> 4) * 16 + queriesAt;
  // Keys are operand B, rows are its columns. Four matrices are two blocks of
  // eight entries; with one block, lanes 16-31 address it again to no effect.
  Val entry = blocks % 2 == 0 ? (lane & 7) + (lane >> 4) * 8 : lane & 7;
  Val b = (column * (tile.entries / tile.columnWarps) + entry) * pitch +
          ((lane >> 3) & 1) * 16 + stageKeys(stage);

  Vals scores(blocks, zeros(k));
  for (int64_t step = 0; step < tile.keyChannels / 16; ++step) {
    Val left = k.device("attn_dev_ldmatrix_x4", {k.shared(a + step * 32)});
    if (blocks % 2 != 0) {
      Val right = k.device("attn_dev_ldmatrix_x2", {k.shared(b + step * 32)});
      scores[0] = mma(k, left, right, scores[0]);
      continue;
    }
    for (int64_t block = 0; block < blocks; block += 2) {
      Val right = k.device("attn_dev_ldmatrix_x4", {k.shared(b + (block * 8 * pitch + step * 32))});
      scores[block] = mma(k, left, operandB(k, right, 0), scores[block]);
      scores[block + 1] = mma(k, left, operandB(k, right, 1), scores[block + 1]);
    }
  }
  return scores;
}

Val AttendKernel::entryOf(Val tileIndex, int64_t block, int64_t which) {
  Val inTile = column * (tile.entries / tile.columnWarps) + t * 2 + (block * 8 + which);
  return e0 + tileIndex * tile.entries + inTile;
}

Val AttendKernel::mapScore(const Row &row, Val score, Val entry) {
  if (!spec.scoreMap.region)
    return score * k.f32(spec.scale * kLog2E);
  Vals arguments = {score * k.f32(spec.scale), row.position, k.toF32(entry * spec.every),
                    k.toF32(row.head)};
  arguments.append(row.consts.begin(), row.consts.end());
  return k.scalarBody(*spec.scoreMap.region, arguments) * k.f32(kLog2E);
}

Val AttendKernel::reducePlace(Val warpOfGroup, int64_t half) {
  Val row = (group * tile.columnWarps + warpOfGroup) * 16 + g + half * 8;
  return k.shared(row * 4 + reduceAt);
}

void AttendKernel::softmax(Val tileIndex, const Vals &scores, State &state) {
  int64_t blocks = scoreBlocks();
  Val empty = k.f32(kEmptyMax), zero = k.f32(0);
  // [half][block * 2 + which]
  Vals mapped[2], visible[2];
  for (int64_t half : {0, 1}) {
    const Row &row = rows[half];
    Val best = empty;
    for (int64_t i = 0; i < blocks * 2; ++i) {
      Val entry = entryOf(tileIndex, i / 2, i % 2);
      visible[half].push_back((entry >= row.lo) & (entry < row.hi));
      mapped[half].push_back(mapScore(row, k.lane(scores[i / 2], half * 2 + i % 2), entry));
      best = k.maxNaN(best, k.select(visible[half][i], mapped[half][i], empty));
    }
    best = k.maxOverLanes(best, 3);
    k.when(t == 0, [&] { k.store(best, reducePlace(column, half), 4); });
  }
  k.barrier();

  Val factors[2];
  Vals weights[2];
  for (int64_t half : {0, 1}) {
    Val newMax = state.max[half];
    for (int64_t other = 0; other < tile.columnWarps; ++other)
      newMax = k.maxNaN(newMax, k.load(reducePlace(k.i32(other), half), k.f32Type(), 4));
    factors[half] = exp2(state.max[half] - newMax);
    Val sum = state.sum[half] * factors[half];
    for (int64_t i = 0; i < blocks * 2; ++i) {
      // Selected, not multiplied: what is masked may be NaN.
      Val weight = k.select(visible[half][i], exp2(mapped[half][i] - newMax), zero);
      weights[half].push_back(weight);
      sum = sum + weight;
    }
    state.max[half] = newMax;
    state.sum[half] = sum;
  }
  for (int64_t half : {0, 1})
    for (int64_t block = 0; block < blocks; ++block) {
      Val packed = packBF16(k, weights[half][block * 2], weights[half][block * 2 + 1]);
      Val inTile = column * (tile.entries / tile.columnWarps) + t * 2 + block * 8;
      k.store(packed,
              k.shared((group * 16 + g + half * 8) * tile.weightPitch() + inTile * 2 + weightsAt),
              4);
    }
  Val factor = k.lanes({factors[0], factors[0], factors[1], factors[1]});
  for (Val &acc : state.acc)
    acc = acc * factor;
  k.barrier();
}

AttendKernel::Channels AttendKernel::channelsOf(int64_t block) {
  int64_t all = tile.valueChannels / 16;
  Val number = column + block * tile.columnWarps;
  if ((block + 1) * tile.columnWarps <= all)
    return {number * 16, Val()};
  // A warp without such a block computes the first one again and drops it.
  Val exists = number < all;
  return {k.select(exists, number * 16, k.i32(0)), exists};
}

Val AttendKernel::stageValues(Val stage) {
  if (tile.ownValue)
    return stage * tile.valueBytes + valuesAt;
  int64_t column = 0;
  for (int64_t part = 0; part < spec.valueKey; ++part)
    column += (spec.keys[part].dim + 15) / 16 * 16;
  return stageKeys(stage) + column * 2;
}

void AttendKernel::accumulate(Val stage, State &state) {
  int64_t pitch = tile.valuePitch();
  Val a = (group * 16 + (lane & 15)) * tile.weightPitch() + (lane >> 4) * 16 + weightsAt;
  // Values are operand B with entries as rows: loaded transposed.
  Val b = (lane & 15) * pitch + (lane >> 4) * 16 + stageValues(stage);
  llvm::SmallVector<Val> blockAt;
  for (int64_t block = 0; block < tile.channelBlocks(); ++block)
    blockAt.push_back(b + channelsOf(block).first * 2);
  for (int64_t step = 0; step < tile.entries / 16; ++step) {
    Val left = k.device("attn_dev_ldmatrix_x4", {k.shared(a + step * 32)});
    for (int64_t block = 0; block < tile.channelBlocks(); ++block) {
      Val right = k.device("attn_dev_ldmatrix_x4_trans",
                           {k.shared(blockAt[block] + step * 16 * pitch)});
      Val &low = state.acc[block * 2], &high = state.acc[block * 2 + 1];
      low = mma(k, left, operandB(k, right, 0), low);
      high = mma(k, left, operandB(k, right, 1), high);
    }
  }
}
