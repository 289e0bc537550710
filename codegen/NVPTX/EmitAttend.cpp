//===- EmitAttend.cpp - the order of an attend kernel -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/AttendKernel.h"

#include "formats/KernelAbi.h"

using namespace attnc;
using namespace attnc::nvptx;
using namespace mlir;

Result<EmittedKernel> nvptx::emitAttend(const AttendSpec &spec, const EmitTarget &target) {
  auto checkRows = [](const RowSpec &rows) {
    return rows.dense ? std::string() : checkFormat(rows.format);
  };
  for (const RowSpec &key : spec.keys)
    if (std::string error = checkRows(key); !error.empty())
      return Error{error};
  if (std::string error = checkRows(spec.valueRows()); !error.empty())
    return Error{error};
  Result<AttendTile> tile = chooseAttendTile(spec, target.chip);
  if (!tile)
    return Error{tile.error()};
  return AttendKernel(spec, *tile, target).emit();
}

AttendKernel::AttendKernel(const AttendSpec &spec, const AttendTile &tile,
                           const EmitTarget &target)
    : spec(spec), tile(tile), k(target.context, target.name, tile.threads()) {
  queriesAt = k.reserveShared(tile.queryBytes);
  keysAt = k.reserveShared(tile.stages * tile.keyBytes);
  valuesAt = k.reserveShared(tile.stages * tile.valueBytes);
  weightsAt = k.reserveShared(tile.weightBytes);
  reduceAt = k.reserveShared(tile.reduceBytes);
}

Vals AttendKernel::State::pack() const {
  Vals values = {max[0], max[1], sum[0], sum[1]};
  values.append(acc.begin(), acc.end());
  return values;
}

AttendKernel::State AttendKernel::State::unpack(llvm::ArrayRef<Val> values) {
  State state;
  state.max[0] = values[0];
  state.max[1] = values[1];
  state.sum[0] = values[2];
  state.sum[1] = values[3];
  state.acc.assign(values.begin() + 4, values.end());
  return state;
}

void AttendKernel::takeArguments() {
  for (size_t part = 0; part < spec.keys.size(); ++part)
    queries.push_back(k.view());
  for (const RowSpec &key : spec.keys)
    sources.push_back(RowSource::take(k, key));
  if (spec.valueKey < 0)
    sources.push_back(RowSource::take(k, spec.value));
  items = k.pointer();
  rowToken = k.pointer();
  rowHead = k.pointer();
  rowLo = k.pointer();
  rowHi = k.pointer();
  rowPos = k.pointer();
  accs = k.pointer();
  maxs = k.pointer();
  sums = k.pointer();
  tokens = k.integer();
  for (int64_t i = 0; i < spec.consts; ++i)
    constArrays.push_back(k.pointer());
}

void AttendKernel::readItem() {
  Val *fields[] = {&rowBegin, &rowCount, &sequence, &kvHead, &e0, &e1, &split, &init};
  Val first = k.extend(k.blockX()) * 8;
  for (auto [i, field] : llvm::enumerate(fields))
    *field = k.loadI32(items, first + static_cast<int64_t>(i));
  for (const RowSource &source : sources) {
    // Parts with fewer heads than the item's share each of theirs.
    Val head = kvHead / (spec.kvHeads / source.spec.heads);
    bound.emplace_back(source, sequence, head);
  }
}

void AttendKernel::divideThreads() {
  Val tid = k.tid();
  lane = tid & 31;
  warp = tid >> 5;
  group = warp / tile.columnWarps;
  column = warp % tile.columnWarps;
  g = lane >> 2;
  t = lane & 3;
  rows[0] = readRow(0);
  rows[1] = readRow(1);
}

AttendKernel::Row AttendKernel::readRow(int64_t half) {
  Row row;
  Val number = group * 16 + g + half * 8;
  row.valid = number < rowCount;
  Val index = k.extend(rowBegin + k.min(number, rowCount - 1));
  row.token = k.loadI32(rowToken, index);
  row.head = k.loadI32(rowHead, index);
  row.lo = k.max(k.loadI32(rowLo, index), e0);
  Val hi = k.min(k.loadI32(rowHi, index), e1);
  row.hi = k.select(row.valid, hi, k.i32(0));
  row.state = (k.extend(split) * tokens + k.extend(row.token)) * spec.heads + k.extend(row.head);
  if (spec.scoreMap.region)
    row.position = k.toF32(k.loadI32(rowPos, index));
  for (Val array : constArrays)
    row.consts.push_back(k.loadF32(array, k.extend(row.head)));
  return row;
}

void AttendKernel::forEachAccumulator(
    llvm::function_ref<void(size_t, int64_t, int64_t, Val)> use) {
  for (int64_t block = 0; block < tile.channelBlocks(); ++block) {
    Channels channels = channelsOf(block);
    for (int64_t part = 0; part < 8; ++part) {
      // Two blocks of eight channels, two rows, two channels.
      int64_t number = block * 2 + part / 4, half = part / 2 % 2, which = part % 2;
      Val channel = channels.first + t * 2 + (part / 4 * 8 + which);
      Val exists = rows[half].valid;
      if (channels.exists)
        exists = exists & channels.exists;
      if (spec.dv() % 16 != 0)
        exists = exists & (channel < spec.dv());
      k.when(exists, [&] { use(number, half, half * 2 + which, channel); });
    }
  }
}

AttendKernel::State AttendKernel::firstState() {
  Val zero = k.f32(0), empty = k.f32(kEmptyMax);
  size_t vectors = tile.channelBlocks() * 2;
  auto begin = [&] {
    State state;
    for (int64_t half : {0, 1}) {
      state.max[half] = empty;
      state.sum[half] = zero;
    }
    state.acc.assign(vectors, k.lanes({zero, zero, zero, zero}));
    return state.pack();
  };
  auto resume = [&] {
    State state;
    for (int64_t half : {0, 1}) {
      state.max[half] = k.loadF32(maxs, rows[half].state);
      // Sums are added up over the group at the end: one thread brings this in.
      Val sum = k.loadF32(sums, rows[half].state);
      state.sum[half] = k.select((t == 0) & (column == 0), sum, zero);
    }
    for (size_t number = 0; number < vectors; ++number) {
      Channels channels = channelsOf(number / 2);
      Vals lanes;
      for (int64_t lane = 0; lane < 4; ++lane) {
        Val channel = channels.first + t * 2 + static_cast<int64_t>(number % 2 * 8 + lane % 2);
        // Channels that do not exist repeat the last one; they are never stored.
        Val known = k.min(channel, k.i32(spec.dv() - 1));
        lanes.push_back(k.loadF32(accs, rows[lane / 2].state * spec.dv() + k.extend(known)));
      }
      state.acc.push_back(k.lanes(lanes));
    }
    return state.pack();
  };
  return State::unpack(k.choose(init == 0, resume, begin));
}

AttendKernel::State AttendKernel::foldTile(Val tileIndex, Val stage, State state) {
  Vals scores = scoreTile(stage);
  softmax(tileIndex, scores, state);
  accumulate(stage, state);
  return state;
}

/// While a tile is computed, the next one is on its way to the other stage. The
/// barrier at the top tells that a tile has arrived for all, and that all are
/// done with the tile before, whose stage is then filled.
AttendKernel::State AttendKernel::pipelined(Val tiles, State state) {
  k.when(k.i32(0) < tiles, [&] { loadTile(k.i32(0), k.i32(0)); });
  k.device("attn_dev_cp_async_commit");
  return State::unpack(
      k.loop(k.i32(0), tiles, 1, state.pack(), [&](Val tileIndex, llvm::ArrayRef<Val> carried) {
        k.device("attn_dev_cp_async_wait", {k.i32(0)});
        k.barrier();
        Val next = tileIndex + 1;
        k.when(next < tiles, [&] { loadTile(next, next & 1); });
        k.device("attn_dev_cp_async_commit");
        return foldTile(tileIndex, tileIndex & 1, State::unpack(carried)).pack();
      }));
}

AttendKernel::State AttendKernel::unpipelined(Val tiles, State state) {
  Val stage = k.i32(0);
  return State::unpack(
      k.loop(k.i32(0), tiles, 1, state.pack(), [&](Val tileIndex, llvm::ArrayRef<Val> carried) {
        k.barrier();
        loadTile(tileIndex, stage);
        k.device("attn_dev_cp_async_commit");
        k.device("attn_dev_cp_async_wait", {k.i32(0)});
        k.barrier();
        return foldTile(tileIndex, stage, State::unpack(carried)).pack();
      }));
}

void AttendKernel::writeState(const State &state) {
  // The last read of these places was before the last tile's second barrier.
  for (int64_t half : {0, 1}) {
    Val sum = k.sumOverLanes(state.sum[half], 3);
    k.when(t == 0, [&] { k.store(sum, reducePlace(column, half), 4); });
  }
  k.barrier();
  for (int64_t half : {0, 1})
    k.when(rows[half].valid & (t == 0) & (column == 0), [&] {
      Val total = k.f32(0);
      for (int64_t warpOfGroup = 0; warpOfGroup < tile.columnWarps; ++warpOfGroup)
        total = total + k.load(reducePlace(k.i32(warpOfGroup), half), k.f32Type(), 4);
      k.storeF32(total, sums, rows[half].state);
      k.storeF32(state.max[half], maxs, rows[half].state);
    });
  forEachAccumulator([&](size_t number, int64_t half, int64_t lane, Val channel) {
    k.storeF32(k.lane(state.acc[number], lane), accs,
               rows[half].state * spec.dv() + k.extend(channel));
  });
}

EmittedKernel AttendKernel::emit() {
  takeArguments();
  readItem();
  divideThreads();
  loadQueries();
  Val tiles = (k.max(e1 - e0, k.i32(0)) + (tile.entries - 1)) / tile.entries;
  State state = firstState();
  writeState(tile.stages == 2 ? pipelined(tiles, state) : unpipelined(tiles, state));

  EmittedKernel made;
  made.threads = k.threads();
  made.dynamicShared = k.sharedBytes();
  made.params = {{"max_rows", tile.rows()}, {"tile_entries", tile.entries},
                 {"stages", tile.stages},   {"q_heads", spec.heads},
                 {"kv_heads", spec.kvHeads}, {"dk", spec.dk()},
                 {"dv", spec.dv()}};
  made.module = k.finish();
  return made;
}
