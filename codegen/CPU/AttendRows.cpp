//===- AttendRows.cpp - rows of an attend item to lanes and back ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Attend.h"

#include "formats/KernelAbi.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace attnc::cpu {

/// Row r of the item takes C neighbouring lanes from `lane` on of pass `pass`.
void AttendWriter::forLiveRows(
    function_ref<void(Val, Val, Val, Val, Val)> body) {
  int64_t perPass = form.rowsPerPass();
  e.loop(e.index(0), a.rows, 1, [&](Val row) {
    Val token = e.toIndex(a.rowToken.load(row));
    Val head = e.toIndex(a.rowHead.load(row));
    body(row, token, head, row / perPass, row % perPass * form.channels);
  });
}

/// Where channel `channel` of a row lies in a block of scratch that holds
/// `channelVectors` vectors of channels per pass.
static Val laneIndex(const AttendForm &form, int64_t channelVectors, Val pass, Val lane,
                     Val channel) {
  int64_t c = form.channels;
  return (pass * channelVectors + channel / c) * form.width() + lane + channel % c;
}

/// Moves rows [from, to) element by element.
void AttendWriter::moveRows(const LaneBlock &block, Val from, Val to, bool toLanes) {
  int64_t perPass = form.rowsPerPass(), step = form.channels;
  // Whole groups of C channels where the parts' widths allow it.
  if (block.offset % step || block.channels % step)
    step = 1;
  Mem lanes = a.scratch.at(block.place);
  e.loop(from, to, 1, [&](Val row) {
    Val pass = row / perPass, lane = row % perPass * form.channels;
    Mem outside = block.row(e.toIndex(a.rowToken.load(row)), e.toIndex(a.rowHead.load(row)));
    e.loop(e.index(0), e.index(block.channels), step, [&](Val c) {
      Val at = laneIndex(form, block.channelVectors, pass, lane, c + block.offset);
      auto load = [&](Mem mem, Val i) { return step == 1 ? mem.load(i) : mem.load(i, step); };
      if (!toLanes)
        return outside.store(load(lanes, at), c);
      Val value = load(outside, c);
      if (block.factor)
        value = value * (step == 1 ? block.factor : e.splat(block.factor, step));
      lanes.store(value, at);
    });
  });
}

/// Moves as many rows as a vector has lanes, from row `first` on, in squares that
/// are turned in registers. For C = 1.
void AttendWriter::moveSquares(const LaneBlock &block, Val first, bool toLanes) {
  int64_t n = form.lanes, whole = block.channels / n * n;
  Val pass = first / form.rowsPerPass(), lane = first % form.rowsPerPass();
  Mem lanes = a.scratch.at(block.place);
  llvm::SmallVector<Mem> rows;
  for (int64_t i = 0; i < n; ++i)
    rows.push_back(block.row(e.toIndex(a.rowToken.load(first + i)),
                             e.toIndex(a.rowHead.load(first + i))));
  auto at = [&](Val c) {
    return laneIndex(form, block.channelVectors, pass, lane, c + block.offset);
  };
  e.loop(e.index(0), e.index(whole), n, [&](Val c) {
    Vals square;
    for (int64_t i = 0; i < n; ++i)
      square.push_back(toLanes ? rows[i].load(c, n) : lanes.load(at(c + i), n));
    square = e.transpose(square);
    for (int64_t i = 0; i < n; ++i) {
      if (!toLanes)
        rows[i].store(square[i], c);
      else if (block.factor)
        lanes.store(square[i] * e.splat(block.factor, n), at(c + i));
      else
        lanes.store(square[i], at(c + i));
    }
  });
}

/// Moves `block` of every row between its place outside and the lanes.
void AttendWriter::move(const LaneBlock &block, bool toLanes) {
  Val done = e.index(0);
  int64_t n = form.lanes, whole = block.channels / n * n;
  if (form.channels == 1 && whole) {
    done = a.rows / n * n;
    e.loop(e.index(0), done, n, [&](Val first) { moveSquares(block, first, toLanes); });
    if (whole < block.channels) {
      LaneBlock rest = block;
      rest.offset += whole;
      rest.channels -= whole;
      rest.row = [&](Val token, Val head) { return block.row(token, head).at(whole); };
      moveRows(rest, e.index(0), done, toLanes);
    }
  }
  moveRows(block, done, a.rows, toLanes);
}

void AttendWriter::fill(int64_t offset, Val count, Val value) {
  Mem mem = a.scratch.at(offset);
  Val vector = e.splat(value, form.lanes);
  e.loop(e.index(0), count, form.lanes, [&](Val i) { mem.store(vector, i); });
}

/// Lanes without a row, and channels that pad, are 0: they meet every entry and
/// nobody looks at the result.
void AttendWriter::packQueries() {
  Val perPass = e.index(form.rowsPerPass());
  int64_t passSize = layout.keyVectors * form.width();
  bool pads = spec.dk() % form.channels != 0;
  Val whole = pads ? e.index(0) : a.rows / perPass;
  e.loop(whole, passes, 1, [&](Val pass) {
    Mem panel = a.scratch.at(layout.queries).at(pass * passSize);
    Val zero = e.splat(e.f32(0), form.lanes);
    e.loop(e.index(0), e.index(passSize), form.lanes, [&](Val i) { panel.store(zero, i); });
  });
  double log2e = spec.scoreMap.region ? 1 : 1 / std::log(2.0);
  int64_t offset = 0;
  for (size_t i = 0; i < spec.keys.size(); ++i) {
    auto row = [&](Val token, Val head) { return a.queries[i].row(token, head); };
    move({layout.queries, layout.keyVectors, offset, spec.keys[i].dim, row,
          e.f32(spec.scale * log2e)},
         true);
    offset += spec.keys[i].dim;
  }
}

void AttendWriter::fillRowInfo() {
  Mem scratch = a.scratch;
  Val lanes = passes * form.width();
  auto fillInts = [&](int64_t offset, int64_t value) {
    fill(offset, lanes, e.bitcast(e.i32(value), e.f32Type()));
  };
  fillInts(layout.low, std::numeric_limits<int32_t>::min());
  fillInts(layout.high, std::numeric_limits<int32_t>::max());
  bool mapped = bool(spec.scoreMap.region);
  if (mapped)
    for (int64_t offset : {layout.position, layout.head})
      fill(offset, lanes, e.f32(0));
  if (mapped)
    fill(layout.consts, lanes * spec.consts, e.f32(0));
  forLiveRows([&](Val row, Val, Val head, Val pass, Val lane) {
    Val first = pass * form.width() + lane;
    for (int64_t c = 0; c < form.channels; ++c) {
      Val at = first + c;
      scratch.at(layout.low).storeI32(a.low.load(row), at);
      scratch.at(layout.high).storeI32(a.high.load(row), at);
      if (!mapped)
        continue;
      scratch.at(layout.position).store(e.toF32(a.rowPosition.load(row)), at);
      scratch.at(layout.head).store(e.toF32(head), at);
      for (auto [i, constant] : llvm::enumerate(a.consts))
        scratch.at(layout.consts).store(constant.load(head), lanes * int64_t(i) + at);
    }
  });
}

/// For each pass the least and greatest lower and upper ends of what its rows
/// see: tells tiles that nobody sees, and tiles that everybody sees whole.
void AttendWriter::fillBounds() {
  Mem bounds = a.scratch.at(layout.bounds);
  int64_t perPass = form.rowsPerPass();
  e.loop(e.index(0), passes, 1, [&](Val pass) {
    Val from = pass * perPass;
    Val to = e.min(a.rows, from + perPass);
    Val least = e.i32(std::numeric_limits<int32_t>::min());
    Val most = e.i32(std::numeric_limits<int32_t>::max());
    Vals ends = e.loop(from, to, 1, {most, least, most, least}, [&](Val row, ArrayRef<Val> so) {
      Val low = a.low.load(row), high = a.high.load(row);
      return Vals{e.min(so[0], low), e.max(so[1], low), e.min(so[2], high),
                  e.max(so[3], high)};
    });
    for (int64_t i = 0; i < 4; ++i)
      bounds.storeI32(ends[i], pass * 4 + i);
  });
}

void AttendWriter::initState() {
  fill(layout.max, passes * form.width(), e.f32(kEmptyMax));
  fill(layout.sum, passes * form.width(), e.f32(0));
  fill(layout.acc, passes * (layout.valueVectors * form.width()), e.f32(0));
}

void AttendWriter::moveAcc(bool toLanes) {
  auto row = [&](Val token, Val head) { return a.acc.at(stateRow(token, head) * spec.dv()); };
  move({layout.acc, layout.valueVectors, 0, spec.dv(), row, Val()}, toLanes);
}

void AttendWriter::loadState() {
  Mem scratch = a.scratch;
  forLiveRows([&](Val, Val token, Val head, Val pass, Val lane) {
    Val state = stateRow(token, head);
    for (int64_t c = 0; c < form.channels; ++c) {
      Val at = pass * form.width() + lane + c;
      scratch.at(layout.max).store(a.max.load(state), at);
      scratch.at(layout.sum).store(a.sum.load(state), at);
    }
  });
  moveAcc(true);
}

void AttendWriter::storeState() {
  Mem scratch = a.scratch;
  forLiveRows([&](Val, Val token, Val head, Val pass, Val lane) {
    Val state = stateRow(token, head);
    Val at = pass * form.width() + lane;
    a.max.store(scratch.at(layout.max).load(at), state);
    a.sum.store(scratch.at(layout.sum).load(at), state);
  });
  moveAcc(false);
}

} // namespace attnc::cpu
