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

Val AttendWriter::queryIndex(Val pass, Val lane, Val channel) {
  int64_t c = form.channels;
  return (pass * layout.keyVectors + channel / c) * form.width() + lane + channel % c;
}

Val AttendWriter::accIndex(Val pass, Val lane, Val channel) {
  int64_t c = form.channels;
  return (pass * layout.valueVectors + channel / c) * form.width() + lane + channel % c;
}

void AttendWriter::fill(int64_t offset, Val count, Val value) {
  Mem mem = a.scratch.at(offset);
  Val vector = e.splat(value, form.lanes);
  e.loop(e.index(0), count, form.lanes, [&](Val i) { mem.store(vector, i); });
}

/// Lanes without a row, and channels that pad, are 0: they meet every entry and
/// nobody looks at the result.
void AttendWriter::packQueries() {
  fill(layout.queries, passes * (layout.keyVectors * form.width()), e.f32(0));
  Mem panel = a.scratch.at(layout.queries);
  double log2e = spec.scoreMap.region ? 1 : 1 / std::log(2.0);
  Val scale = e.f32(spec.scale * log2e);
  forLiveRows([&](Val, Val token, Val head, Val pass, Val lane) {
    int64_t offset = 0;
    for (auto [view, key] : llvm::zip(a.queries, spec.keys)) {
      Mem query = view.row(token, head);
      e.loop(e.index(0), e.index(key.dim), 1, [&](Val c) {
        panel.store(query.load(c) * scale, queryIndex(pass, lane, c + offset));
      });
      offset += key.dim;
    }
  });
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

void AttendWriter::loadState() {
  Mem scratch = a.scratch;
  forLiveRows([&](Val, Val token, Val head, Val pass, Val lane) {
    Val state = stateRow(token, head);
    for (int64_t c = 0; c < form.channels; ++c) {
      Val at = pass * form.width() + lane + c;
      scratch.at(layout.max).store(a.max.load(state), at);
      scratch.at(layout.sum).store(a.sum.load(state), at);
    }
    Mem acc = a.acc.at(state * spec.dv());
    e.loop(e.index(0), e.index(spec.dv()), 1, [&](Val c) {
      scratch.at(layout.acc).store(acc.load(c), accIndex(pass, lane, c));
    });
  });
}

void AttendWriter::storeState() {
  Mem scratch = a.scratch;
  forLiveRows([&](Val, Val token, Val head, Val pass, Val lane) {
    Val state = stateRow(token, head);
    Val at = pass * form.width() + lane;
    a.max.store(scratch.at(layout.max).load(at), state);
    a.sum.store(scratch.at(layout.sum).load(at), state);
    Mem acc = a.acc.at(state * spec.dv());
    e.loop(e.index(0), e.index(spec.dv()), 1, [&](Val c) {
      acc.store(scratch.at(layout.acc).load(accIndex(pass, lane, c)), c);
    });
  });
}

} // namespace attnc::cpu
