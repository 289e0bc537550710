//===- AttendTile.cpp - attend on one tile of entries -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Attend.h"

#include "codegen/CPU/Pieces/Elements.h"
#include "codegen/CPU/Pieces/Exp2.h"
#include "codegen/CPU/Pieces/Region.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace attnc::cpu {

/// The G vectors of a pass at `index`, and back.
Vals AttendWriter::load(int64_t offset, Val index) {
  Vals values;
  for (int64_t g = 0; g < form.vectors; ++g)
    values.push_back(a.scratch.at(offset).load(index + g * form.lanes, form.lanes));
  return values;
}
void AttendWriter::store(int64_t offset, Val index, ArrayRef<Val> values) {
  for (auto [g, value] : llvm::enumerate(values))
    a.scratch.at(offset).store(value, index + int64_t(g) * form.lanes);
}

/// C neighbouring channels of the tile, repeated to fill a vector.
Val AttendWriter::tileVector(Val index) {
  Mem tile = a.scratch.at(layout.tile);
  if (form.channels == 1)
    return e.splat(tile.load(index), form.lanes);
  Val few = tile.load(index, form.channels);
  if (form.channels == form.lanes)
    return few;
  SmallVector<int64_t> from;
  for (int64_t lane = 0; lane < form.lanes; ++lane)
    from.push_back(lane % form.channels);
  return e.shuffle(few, from);
}

/// Rows of entries [entry, entry + count) to f32, in the order of their parts. A
/// block of scores may look at some entries more; they are zero.
void AttendWriter::unpack(Val entry, Val count) {
  Mem tile = a.scratch.at(layout.tile);
  Vals heads;
  SmallVector<int64_t> offsets;
  int64_t offset = 0;
  for (auto [i, source] : llvm::enumerate(a.rowSources)) {
    heads.push_back(source.spec.heads == 1 ? e.index(0)
                                           : a.kvHead / (spec.kvHeads / source.spec.heads));
    offsets.push_back(i < spec.keys.size() ? offset : layout.valueOffset);
    offset += source.spec.dim;
  }
  int64_t padFrom = spec.dk(), padTo = layout.keyVectors * form.channels;
  forRows(e, a.rowSources, heads, entry, count, [&](Val k, ArrayRef<Val> rows) {
    Mem out = tile.at(k * layout.tileStride);
    for (size_t i = 0; i < a.rowSources.size(); ++i) {
      const RowSource &source = a.rowSources[i];
      Format format = source.spec.dense ? Format() : source.spec.format;
      forChunks(e, source.spec.dim, [&](Val c, int64_t n) {
        out.at(offsets[i]).store(decode(e, format, source.pages.base, rows[i], c, n), c);
      });
    }
    for (int64_t c = padFrom; c < padTo; ++c)
      out.store(e.f32(0), e.index(c));
  });
  Val zero = e.splat(e.f32(0), form.lanes);
  e.loop(count, e.roundUp(count, form.keys), 1, [&](Val k) {
    e.loop(e.index(0), e.index(layout.tileStride), form.lanes,
           [&](Val c) { tile.at(k * layout.tileStride).store(zero, c); });
  });
}

/// Folds the tile's entries into the states of one pass, unless none of its rows
/// sees any of them.
void AttendWriter::visit(Val pass, Val entry, Val count) {
  auto bound = [&](int64_t i) {
    return e.toIndex(a.scratch.at(layout.bounds).loadI32(pass * 4 + i, 1));
  };
  Val leastLow = bound(0), greatestLow = bound(1);
  Val leastHigh = bound(2), greatestHigh = bound(3);
  Val last = entry + count;
  Val some = (leastLow < last) & (entry < greatestHigh);
  e.when(some, [&] {
    Val keyEnd = e.min(count, greatestHigh - entry);
    Val full = (greatestLow <= entry) & (last <= leastHigh);
    score(pass, keyEnd);
    Vals rescale;
    soften(pass, entry, keyEnd, full, rescale);
    e.when(
        full, [&] { gather(pass, keyEnd, rescale, false); },
        [&] { gather(pass, keyEnd, rescale, true); });
  });
}

/// scores[k, lane] = sum over channels of tile[k, channel] * query[channel, lane].
void AttendWriter::score(Val pass, Val keyEnd) {
  int64_t vectors = form.vectors;
  Val zero = e.splat(e.f32(0), form.lanes);
  e.loop(e.index(0), keyEnd, form.keys, [&](Val k) {
    Vals zeros(form.keys * vectors, zero);
    Vals sums = e.loop(
        e.index(0), e.index(layout.keyVectors), 1, zeros, [&](Val d, ArrayRef<Val> acc) {
          Vals query = load(layout.queries, (pass * layout.keyVectors + d) * form.width());
          Vals next;
          for (int64_t i = 0; i < form.keys; ++i) {
            Val key = tileVector((k + i) * layout.tileStride + d * form.channels);
            for (int64_t g = 0; g < vectors; ++g)
              next.push_back(e.fma(key, query[g], acc[i * vectors + g]));
          }
          return next;
        });
    for (int64_t i = 0; i < form.keys; ++i) {
      Vals row(sums.begin() + i * vectors, sums.begin() + (i + 1) * vectors);
      for (Val &sum : row)
        for (int64_t s = 1; s < form.channels; s *= 2) {
          SmallVector<int64_t> partner;
          for (int64_t lane = 0; lane < form.lanes; ++lane)
            partner.push_back(lane ^ s);
          sum = sum + e.shuffle(sum, partner);
        }
      store(layout.scores, (k + i) * form.width(), row);
    }
  });
}

Vals AttendWriter::plainMaximum(Val, Val keyEnd, Vals max) {
  return e.loop(e.index(0), keyEnd, 1, max, [&](Val k, ArrayRef<Val> so) {
    Vals next;
    for (auto [m, s] : llvm::zip(so, load(layout.scores, k * form.width())))
      next.push_back(e.maxSecondNaN(m, s));
    return next;
  });
}

Val AttendWriter::mapScore(Val pass, Val entry, int64_t vector, Val score) {
  Val lane = pass * form.width() + vector * form.lanes;
  auto lanesAt = [&](int64_t offset) {
    return a.scratch.at(offset).load(lane, form.lanes);
  };
  Vals arguments = {score, lanesAt(layout.position),
                    e.splat(e.toF32(entry * spec.every), form.lanes), lanesAt(layout.head)};
  Mem consts = a.scratch.at(layout.consts);
  for (int64_t i = 0; i < spec.consts; ++i)
    arguments.push_back(consts.load(passes * form.width() * i + lane, form.lanes));
  Val mapped = apply(e, spec.scoreMap, arguments);
  return mapped * e.splat(e.f32(1 / std::log(2.0)), form.lanes);
}

/// Replaces scores by their images, and those of entries that a row does not see
/// by -inf, and takes the maximum.
Vals AttendWriter::mappedMaximum(Val pass, Val entry, Val keyEnd, Vals max, bool masked) {
  Vals low, high;
  Val infinity = e.splat(e.f32(-std::numeric_limits<double>::infinity()), form.lanes);
  for (int64_t g = 0; g < form.vectors; ++g) {
    Val lane = pass * form.width() + g * form.lanes;
    low.push_back(a.scratch.at(layout.low).loadI32(lane, form.lanes));
    high.push_back(a.scratch.at(layout.high).loadI32(lane, form.lanes));
  }
  return e.loop(e.index(0), keyEnd, 1, max, [&](Val k, ArrayRef<Val> so) {
    Vals scores = load(layout.scores, k * form.width()), next;
    Val number = e.splat(e.toI32(entry + k), form.lanes);
    for (auto [g, s] : llvm::enumerate(scores)) {
      if (spec.scoreMap.region)
        s = mapScore(pass, entry + k, g, s);
      if (masked)
        s = e.select((low[g] <= number) & (number < high[g]), s, infinity);
      next.push_back(e.maxSecondNaN(so[g], s));
    }
    store(layout.scores, k * form.width(), scores);
    return next;
  });
}

/// Scores to weights 2^(s - max), the running maximum and sum with them.
/// `rescale` is what the older part of the state is to be multiplied by.
void AttendWriter::soften(Val pass, Val entry, Val keyEnd, Val full, Vals &rescale) {
  Val lane = pass * form.width();
  Vals before = load(layout.max, lane);
  Vals max = e.choose(
      full,
      [&] {
        return spec.scoreMap.region ? mappedMaximum(pass, entry, keyEnd, before, false)
                                    : plainMaximum(pass, keyEnd, before);
      },
      [&] { return mappedMaximum(pass, entry, keyEnd, before, true); });
  for (int64_t g = 0; g < form.vectors; ++g)
    rescale.push_back(exp2(before[g] - max[g]));
  Vals zeros(form.vectors, e.splat(e.f32(0), form.lanes));
  Vals sums = e.loop(e.index(0), keyEnd, 1, zeros, [&](Val k, ArrayRef<Val> so) {
    Vals weights = load(layout.scores, k * form.width()), next;
    for (auto [g, w] : llvm::enumerate(weights)) {
      w = exp2(w - max[g]);
      next.push_back(so[g] + w);
    }
    store(layout.scores, k * form.width(), weights);
    return next;
  });
  Vals older = load(layout.sum, lane);
  for (int64_t g = 0; g < form.vectors; ++g)
    sums[g] = e.fma(older[g], rescale[g], sums[g]);
  store(layout.max, lane, max);
  store(layout.sum, lane, sums);
}

/// acc[channel, lane] = acc * rescale + sum over entries of weight * value. A
/// tile is summed up apart: one long chain of additions would lose more.
void AttendWriter::gather(Val pass, Val keyEnd, ArrayRef<Val> rescale, bool masked) {
  int64_t whole = layout.valueVectors / form.values * form.values;
  if (whole)
    e.loop(e.index(0), e.index(whole), form.values, [&](Val c) {
      gatherBlock(pass, keyEnd, rescale, masked, c, form.values);
    });
  if (whole < layout.valueVectors)
    gatherBlock(pass, keyEnd, rescale, masked, e.index(whole), layout.valueVectors - whole);
}

void AttendWriter::gatherBlock(Val pass, Val keyEnd, ArrayRef<Val> rescale, bool masked,
                               Val channel, int64_t channels) {
  int64_t vectors = form.vectors;
  Val zero = e.splat(e.f32(0), form.lanes);
  Vals zeros(channels * vectors, zero);
  Vals sums = e.loop(e.index(0), keyEnd, 1, zeros, [&](Val k, ArrayRef<Val> acc) {
    Vals weights = load(layout.scores, k * form.width()), used, next;
    // An entry hidden from a row must not reach it even as 0 * NaN.
    for (Val w : weights)
      if (masked)
        used.push_back(e.wrap(e.b.create<arith::CmpFOp>(
            e.loc, arith::CmpFPredicate::UNE, Value(w), Value(zero))));
    for (int64_t i = 0; i < channels; ++i) {
      Val value = tileVector(k * layout.tileStride + layout.valueOffset +
                             (channel + i) * form.channels);
      for (int64_t g = 0; g < vectors; ++g) {
        Val old = acc[i * vectors + g];
        Val sum = e.fma(value, weights[g], old);
        next.push_back(masked ? e.select(used[g], sum, old) : sum);
      }
    }
    return next;
  });
  Val out = (pass * layout.valueVectors + channel) * form.width();
  for (int64_t i = 0; i < channels; ++i) {
    Vals row = load(layout.acc, out + i * form.width());
    for (auto [g, value] : llvm::enumerate(row))
      value = e.fma(value, rescale[g], sums[i * vectors + g]);
    store(layout.acc, out + i * form.width(), row);
  }
}

} // namespace attnc::cpu
