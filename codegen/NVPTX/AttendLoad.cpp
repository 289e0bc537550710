//===- AttendLoad.cpp - rows of queries, keys and values into shared memory --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rows past the end of the item, and channels past the end of a part, become
// zeros: a weight of 0 times whatever lay there could be NaN. No row that is not
// one of the item's entries is read.
//
//===----------------------------------------------------------------------===//

#include "codegen/NVPTX/AttendKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

using namespace attnc;
using namespace attnc::nvptx;
using namespace mlir;

namespace {
constexpr int64_t kLanes = 32;
}

void AttendKernel::loadQueries() {
  int64_t rowsPerWarp = tile.rows() / tile.warps();
  k.loop(k.i32(0), k.i32(rowsPerWarp), 1, [&](Val i) {
    Val row = warp * rowsPerWarp + i;
    Val valid = row < rowCount;
    // Rows that do not exist repeat the last one, as zeros.
    Val index = k.extend(rowBegin + k.min(row, rowCount - 1));
    Val token = k.loadI32(rowToken, index), head = k.loadI32(rowHead, index);
    int64_t column = 0;
    for (size_t part = 0; part < spec.keys.size(); ++part) {
      loadQueryPart(part, column, row, token, head, valid);
      column += llvm::alignTo(spec.keys[part].dim, 16);
    }
  });
}

void AttendKernel::loadQueryPart(size_t part, int64_t column, Val row, Val token, Val head,
                                 Val valid) {
  int64_t dim = spec.keys[part].dim, pairs = llvm::alignTo(dim, 16) / 2;
  Val to = row * tile.keyPitch() + (queriesAt + column * 2);
  for (int64_t begin = 0; begin < pairs; begin += kLanes) {
    Val pair = lane + begin;
    auto element = [&](Val channel) {
      Val value = k.load(queries[part].at(k.extend(token), head, k.min(channel, k.i32(dim - 1))),
                         k.f32Type(), 4);
      Val use = begin * 2 + 2 * kLanes <= dim ? valid : valid & (channel < dim);
      return k.select(use, value, k.f32(0));
    };
    auto move = [&] {
      Val first = element(pair * 2);
      k.store(packBF16(k, first, element(pair * 2 + 1)), k.shared(to + pair * 4), 4);
    };
    if (begin + kLanes <= pairs)
      move();
    else
      k.when(pair < pairs, move);
  }
}

void AttendKernel::loadTile(Val tileIndex, Val stage) {
  Val first = e0 + tileIndex * tile.entries;
  int64_t column = 0;
  for (size_t part = 0; part < spec.keys.size(); ++part) {
    loadRows(bound[part], first, stageKeys(stage) + column * 2, tile.keyPitch());
    column += llvm::alignTo(spec.keys[part].dim, 16);
  }
  if (tile.ownValue)
    loadRows(bound.back(), first, stageValues(stage), tile.valuePitch());
}

void AttendKernel::loadRows(const RowSource::Bound &source, Val firstEntry, Val to,
                            int64_t pitch) {
  int64_t rowsPerWarp = tile.entries / tile.warps();
  Val begin = warp * rowsPerWarp;
  // Each lane finds one row; the others then hear of it. Divisions are dear.
  Val mine = firstEntry + begin + k.min(lane, k.i32(rowsPerWarp - 1));
  Val offset = source.offset(k.min(mine, e1 - 1));
  Val low = k.truncate(offset);
  Val high = k.truncate(k.wrap(k.b.create<arith::ShRUIOp>(k.loc, offset, k.i64(32))));
  bool copies = source.rows().elem() == Elem::BF16 && source.rows().alignment() == 16;

  k.loop(k.i32(0), k.i32(rowsPerWarp), 1, [&](Val i) {
    Val rowLow = k.extend(k.device("attn_dev_shfl_idx_i32", {low, i}));
    Val rowHigh = k.extend(k.device("attn_dev_shfl_idx_i32", {high, i}));
    Val rowOffset = (rowHigh << 32) | rowLow;
    Val row = begin + i;
    Val valid = firstEntry + row < e1;
    Val rowTo = to + row * pitch;
    if (copies)
      copyRow(source.rows(), rowOffset, rowTo, valid);
    else
      convertRow(source.rows(), rowOffset, rowTo, valid);
  });
}

void AttendKernel::copyRow(const RowSource &source, Val offset, Val to, Val valid) {
  int64_t bytes = source.rowBytes();
  int64_t chunks = llvm::alignTo(source.spec.dim, 16) / 8, filled = llvm::divideCeil(bytes, 16);
  for (int64_t begin = 0; begin < chunks; begin += kLanes) {
    Val chunk = lane + begin;
    auto copy = [&] {
      Val size = k.i32(16), from = chunk;
      if ((begin + kLanes) * 16 > bytes && chunks * 16 != bytes) {
        size = k.max(k.min(k.i32(bytes) - chunk * 16, k.i32(16)), k.i32(0));
        from = k.min(chunk, k.i32(filled - 1));
      }
      Val address = k.offset(source.base, offset + k.extend(from) * 16);
      k.device("attn_dev_cp_async_16", {k.shared(to + chunk * 16), address,
                                        k.select(valid, size, k.i32(0))});
    };
    if (begin + kLanes <= chunks)
      copy();
    else
      k.when(chunk < chunks, copy);
  }
}

void AttendKernel::convertRow(const RowSource &source, Val offset, Val to, Val valid) {
  int64_t dim = source.spec.dim, pairs = llvm::alignTo(dim, 16) / 2;
  Val row = k.offset(source.base, offset);
  for (int64_t begin = 0; begin < pairs; begin += kLanes) {
    Val pair = lane + begin;
    bool partial = (begin + kLanes) * 2 > dim;
    auto move = [&] {
      k.store(pairOfElements(source, row, pair, valid, partial), k.shared(to + pair * 4), 4);
    };
    if (begin + kLanes <= pairs)
      move();
    else
      k.when(pair < pairs, move);
  }
}

Val AttendKernel::pairOfElements(const RowSource &source, Val row, Val pair, Val valid,
                                 bool partial) {
  int64_t dim = source.spec.dim, size = source.elementSize();
  // Two neighbouring bf16 are already the register that is wanted.
  if (source.elem() == Elem::BF16 && source.alignment() % 4 == 0 && dim % 2 == 0) {
    Val from = partial ? k.min(pair, k.i32(dim / 2 - 1)) : pair;
    Val word = k.load(k.offset(row, from * 4), k.i32Type(), 4);
    return k.select(partial ? valid & (pair < dim / 2) : valid, word, k.i32(0));
  }
  auto element = [&](Val channel) {
    Val from = partial ? k.min(channel, k.i32(dim - 1)) : channel;
    Val value = loadElement(k, source.elem(), k.offset(row, from * size), source.alignment());
    return k.select(partial ? valid & (channel < dim) : valid, value, k.f32(0));
  };
  Val first = element(pair * 2);
  return packBF16(k, first, element(pair * 2 + 1));
}
