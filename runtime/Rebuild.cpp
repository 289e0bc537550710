//===- Rebuild.cpp - rows that are recomputed when they are read ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Of each sequence, the entries that its new tokens see are taken a tile at a
// time: kept rows are unpacked, the body computes the derived rows from them,
// and its last launch folds the tile into the softmax state.
//
//===----------------------------------------------------------------------===//
#include "runtime/ExecutorImpl.h"

#include <algorithm>

namespace attnc {

/// Entries of a tile: enough to fill the projections' token tiles, few enough
/// for the rebuilt rows to stay near the processor.
static constexpr int64_t tileEntries = 256;

/// Entries of one work item of an unpack.
static constexpr int64_t unpackEntries = 32;

/// The entries that some new token of a sequence sees.
static Range entriesSeen(const Visibility &visibility,
                         const SequenceSlice &slice, int64_t ringRows) {
  int64_t last = slice.start + slice.count - 1;
  return {visibleEntries(visibility, slice.start, slice.start, ringRows).begin,
          visibleEntries(visibility, last, slice.start, ringRows).end};
}

void CpuExecutor::Impl::runRebuild(const LoadedLaunch &loaded, Frame &frame) {
  const Launch &launch = *loaded.launch;
  const LoadedLaunch &fold = loaded.body.back();
  const Visibility &visibility = fold.launch->visibility;
  const CacheDesc &kept = program.caches[size_t(launch.reads[0].cache)];
  Axis &tile = frame.tile;

  auto unpack = [&](size_t read, const Share &share, Range entries) {
    RowSource source = rowSource(launch.reads[read], frame, share, 0);
    const View &to = launch.readViews[read];
    int64_t count = entries.end - entries.begin;
    int64_t items = (count + unpackEntries - 1) / unpackEntries;
    pool->parallelFor(items, [&](int64_t item, int) {
      int64_t shift = item * unpackEntries;
      ArgList args;
      args.pointer(source.base);
      args.pointer(source.table);
      args.integer(source.pageBytes);
      args.integer(source.pageEntries);
      args.integer(source.modulo);
      args.integer(entries.begin + shift);
      args.integer(std::min(entries.end, entries.begin + shift + unpackEntries));
      args.view(to, frame.buffer(to), shift);
      args.call(loaded.readFns[read]);
    });
    KernelStats &counts = stats[launch.readKernels[read]];
    ++counts.launches;
    counts.items += items;
  };

  for (size_t s = 0; s < frame.shares.size(); ++s) {
    const Share &share = frame.shares[s];
    Range all = entriesSeen(visibility, *share.slice, kept.rows);
    for (int64_t begin = all.begin; begin < all.end; begin += tileEntries) {
      Range entries{begin, std::min(all.end, begin + tileEntries)};
      tile.tokens = entries.end - entries.begin;
      tile.positions.clear();
      for (int64_t e = entries.begin; e < entries.end; ++e)
        tile.positions.push_back(e * visibility.every);
      prepareAxis(tile, frame.loaded->body->rebuildBuffers,
                  frame.loaded->tables);
      for (size_t read = 0; read < launch.reads.size(); ++read)
        unpack(read, share, entries);
      for (size_t i = 0; i + 1 < loaded.body.size(); ++i) {
        const LoadedLaunch &inner = loaded.body[i];
        ++inner.stats->launches;
        if (inner.launch->op == "project")
          runProject(inner, frame, tile);
        else
          runTokens(inner, frame, tile);
      }
      ++fold.stats->launches;
      runAttend(fold, frame, int64_t(s), &entries);
    }
  }
}

} // namespace attnc
