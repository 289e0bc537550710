//===- Attend.cpp - launches over entries -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An attend is cut into items: some tokens of one sequence, one key head, a
// range of entries. Every cut depends on shapes and lengths alone. Where a
// sequence makes few items, its entries are split; each split folds into a slot
// of the state of its own, and combine merges the slots. A later attend on the
// same state continues in the slots that are there.
//
//===----------------------------------------------------------------------===//
#include "runtime/ExecutorImpl.h"

#include <algorithm>

namespace attnc {

namespace {
/// A sequence with this many items keeps threads busy without splitting.
constexpr int64_t enoughItems = 16;
/// Beyond this, splits get longer instead of more.
constexpr int64_t maxSplits = 16;

struct Shape {
  int64_t kvHeads, group, maxRows, splitEntries, scratch, dk, dv;

  explicit Shape(const KernelDesc &desc) {
    kvHeads = desc.params.at("kv_heads");
    group = desc.params.at("q_heads") / kvHeads;
    maxRows = desc.params.at("max_rows");
    splitEntries = desc.params.at("split_entries");
    scratch = desc.params.at("scratch_bytes");
    dv = desc.params.at("dv");
    auto it = desc.params.find("dk");
    dk = it == desc.params.end() ? 0 : it->second;
  }
  /// Query heads of one key head that an item takes.
  int64_t headChunk() const { return std::min(group, maxRows); }
  int64_t headChunks() const {
    return (group + headChunk() - 1) / headChunk();
  }
  int64_t tokensPerItem() const {
    return std::max<int64_t>(1, maxRows / group);
  }
  int64_t rowLimit() const { return tokensPerItem() * headChunk(); }
};

/// Tokens of one sequence and the entries they see, to be cut into items.
struct Tile {
  const Share *share;
  int64_t begin, end; ///< tokens on the axis
  Range entries;
  int64_t slots; ///< splits
  int64_t splitLength;
};

struct Item {
  const Tile *tile;
  int64_t kvHead, head; ///< head: first query head
  int64_t heads;
  Range entries;
  int64_t slot;
  bool init;
};
} // namespace

static int64_t roundUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

Range visibleEntries(const Visibility &visibility, int64_t position,
                     int64_t start, int64_t ringRows) {
  // Entry e stands for the tokens up to e * every + every - 1.
  int64_t upTo = (position + 1) / visibility.every;
  int64_t oldest =
      visibility.window ? std::max<int64_t>(0, upTo - visibility.window) : 0;
  switch (visibility.span) {
  case Visibility::Span::Paged:
    return {oldest, upTo};
  case Visibility::Span::RingPast: {
    int64_t past = start / visibility.every;
    return {std::max(oldest, past - ringRows), past};
  }
  case Visibility::Span::Chunk:
    return {std::max(oldest, start / visibility.every), upTo};
  }
  return {};
}

int64_t CpuExecutor::Impl::ringRows(const Launch &launch) const {
  for (const RowPart &part : launch.keys)
    if (part.cache >= 0)
      return program.caches[size_t(part.cache)].rows;
  return 0;
}

RowSource CpuExecutor::Impl::rowSource(const RowPart &part, const Frame &frame,
                                       const Share &share,
                                       int64_t tileFirst) const {
  RowSource source;
  if (part.cache >= 0) {
    const CacheDesc &cache = program.caches[size_t(part.cache)];
    const CacheStorage &storage = frame.batch->caches[size_t(part.cache)];
    source.base = storage.base;
    source.table = share.slice->tables[size_t(part.cache)];
    source.pageBytes = storage.pageBytes;
    source.pageEntries = cache.pageEntries;
    source.modulo = cache.kind == CacheKind::Ring ? cache.rows : 0;
    return source;
  }
  static const int32_t onePage = 0;
  const View &view = part.view;
  int64_t row = view.tile ? 0 : share.first;
  source.base = frame.buffer(view) + view.offset + row * view.tokenStride;
  source.table = &onePage;
  source.pageEntries = int64_t(1) << 40;
  source.first = view.tile ? tileFirst : share.slice->start;
  source.slotStride = view.tokenStride * 4;
  source.headStride = view.headStride;
  return source;
}

/// How many splits a range of entries gets, and how long they are.
static std::pair<int64_t, int64_t> splitsOf(const Shape &shape, Range entries,
                                            int64_t items) {
  int64_t length = entries.end - entries.begin;
  if (items >= enoughItems)
    return {1, length};
  int64_t each = std::max(shape.splitEntries,
                          roundUp((length + maxSplits - 1) / maxSplits,
                                  shape.splitEntries));
  return {(length + each - 1) / each, each};
}

/// Makes room for `slots` slots; what is in the used ones stays.
static void growState(StateRun &state, const StateDesc &desc, int64_t tokens,
                      int64_t slots) {
  if (slots <= state.room)
    return;
  int64_t one = tokens * desc.heads * 4;
  state.acc.reserve(slots * one * desc.dv, state.room * one * desc.dv);
  state.max.reserve(slots * one, state.room * one);
  state.sum.reserve(slots * one, state.room * one);
  state.room = int32_t(slots);
}

/// Makes slot `slot` of one token the empty state.
static void clearSlot(StateRun &state, const StateDesc &desc, int64_t tokens,
                      int64_t token, int64_t slot) {
  int64_t row = (slot * tokens + token) * desc.heads;
  std::fill_n(state.acc.as<float>() + row * desc.dv, desc.heads * desc.dv, 0.0f);
  std::fill_n(state.max.as<float>() + row, desc.heads, kEmptyMax);
  std::fill_n(state.sum.as<float>() + row, desc.heads, 0.0f);
}

/// Whether an item that folds into `slot` starts from the empty state. Where
/// only some of its tokens have the slot, the others get an empty one.
static bool startsSlot(StateRun &state, const StateDesc &desc, int64_t tokens,
                       const Tile &tile, int64_t slot) {
  int64_t have = 0;
  for (int64_t t = tile.begin; t < tile.end; ++t)
    have += state.slots[size_t(t)] > slot;
  if (have == 0)
    return true;
  if (have < tile.end - tile.begin)
    for (int64_t t = tile.begin; t < tile.end; ++t)
      if (state.slots[size_t(t)] <= slot)
        clearSlot(state, desc, tokens, t, slot);
  return false;
}

namespace {
/// The per-row arrays of an item.
struct RowLists {
  int32_t *token, *head, *lo, *hi, *position;
  RowLists(int32_t *memory, int64_t rows)
      : token(memory), head(memory + rows), lo(memory + 2 * rows),
        hi(memory + 3 * rows), position(memory + 4 * rows) {}
};

/// One attend launch.
class AttendRun {
public:
  AttendRun(CpuExecutor::Impl &impl, const LoadedLaunch &loaded, Frame &frame,
            const Range *within)
      : impl(impl), loaded(loaded), launch(*loaded.launch), frame(frame),
        within(within), shape(*loaded.desc),
        desc(frame.loaded->body->states[size_t(launch.state)]),
        state(frame.states[size_t(launch.state)]),
        tokens(frame.tokens.tokens), ring(impl.ringRows(launch)) {
    for (const RowPart &part : launch.keys)
      valueIsKey |= samePart(part, launch.value);
  }

  void run(int64_t only) {
    for (size_t s = 0; s < frame.shares.size(); ++s)
      if (only < 0 || int64_t(s) == only)
        planShare(frame.shares[s]);
    if (tiles.empty())
      return;
    growState(state, desc, tokens, mostSlots);
    for (const Tile &tile : tiles)
      planItems(tile);
    int64_t listBytes = roundUp(shape.rowLimit() * 5 * 4, 64);
    for (Buffer &one : impl.scratch)
      one.reserve(listBytes + shape.scratch + 64);
    impl.pool->parallelFor(
        int64_t(items.size()), [&](int64_t number, int worker) {
          auto *memory = impl.scratch[size_t(worker)].as<uint8_t>();
          call(items[size_t(number)], reinterpret_cast<int32_t *>(memory),
               memory + listBytes);
        });
    if (loaded.stats)
      count(*loaded.stats);
  }

private:
  Range seenBy(const SequenceSlice &slice, int64_t position) const {
    return visibleEntries(launch.visibility, position, slice.start, ring);
  }

  /// Which tokens of a sequence together, which entries, how many splits.
  void planShare(const Share &share) {
    const SequenceSlice &slice = *share.slice;
    int64_t perItem = shape.tokensPerItem();
    int64_t itemCount = (slice.count + perItem - 1) / perItem * shape.kvHeads *
                        shape.headChunks();
    for (int64_t begin = 0; begin < slice.count; begin += perItem) {
      int64_t end = std::min(slice.count, begin + perItem);
      // Later tokens see later entries: the first's begin, the last's end.
      Range seen{seenBy(slice, slice.start + begin).begin,
                 seenBy(slice, slice.start + end - 1).end};
      if (within) {
        seen.begin = std::max(seen.begin, within->begin);
        seen.end = std::min(seen.end, within->end);
      }
      if (seen.empty())
        continue;
      auto [splits, each] =
          within ? std::pair<int64_t, int64_t>(1, seen.end - seen.begin)
                 : splitsOf(shape, seen, itemCount);
      tiles.push_back(
          {&share, share.first + begin, share.first + end, seen, splits, each});
      mostSlots = std::max(mostSlots, splits);
    }
  }

  void planItems(const Tile &tile) {
    for (int64_t slot = 0; slot < tile.slots; ++slot) {
      Range entries{tile.entries.begin + slot * tile.splitLength, 0};
      entries.end = std::min(tile.entries.end, entries.begin + tile.splitLength);
      bool init = startsSlot(state, desc, tokens, tile, slot);
      for (int64_t kv = 0; kv < shape.kvHeads; ++kv)
        for (int64_t h = 0; h < shape.group; h += shape.headChunk())
          items.push_back({&tile, kv, kv * shape.group + h,
                           std::min(shape.headChunk(), shape.group - h),
                           entries, slot, init});
    }
    for (int64_t t = tile.begin; t < tile.end; ++t)
      state.slots[size_t(t)] =
          std::max(state.slots[size_t(t)], int32_t(tile.slots));
  }

  int64_t fillRows(const Item &item, RowLists lists) const {
    int64_t row = 0;
    for (int64_t t = item.tile->begin; t < item.tile->end; ++t) {
      int64_t position = frame.tokens.positions[size_t(t)];
      Range seen = seenBy(*item.tile->share->slice, position);
      for (int64_t h = 0; h < item.heads; ++h, ++row) {
        lists.token[row] = int32_t(t);
        lists.head[row] = int32_t(item.head + h);
        lists.lo[row] = int32_t(seen.begin);
        lists.hi[row] = int32_t(std::max(seen.begin, seen.end));
        lists.position[row] = int32_t(position);
      }
    }
    return row;
  }

  void call(const Item &item, int32_t *rowMemory, uint8_t *scratch) const {
    const Share &share = *item.tile->share;
    RowLists lists(rowMemory, shape.rowLimit());
    int64_t rows = fillRows(item, lists);
    int64_t tileFirst = within ? within->begin : 0;
    ArgList args;
    for (const View &view : launch.in)
      args.view(view, frame.buffer(view));
    for (const RowPart &part : launch.keys)
      args.source(impl.rowSource(part, frame, share, tileFirst));
    if (!valueIsKey)
      args.source(impl.rowSource(launch.value, frame, share, tileFirst));
    args.integer(rows);
    for (const int32_t *list : {lists.token, lists.head, lists.lo, lists.hi,
                                lists.position})
      args.pointer(list);
    args.integer(item.kvHead);
    args.integer(item.entries.begin);
    args.integer(item.entries.end);
    args.integer(item.init);
    int64_t base = item.slot * tokens * desc.heads;
    args.pointer(state.acc.as<float>() + base * desc.dv);
    args.pointer(state.max.as<float>() + base);
    args.pointer(state.sum.as<float>() + base);
    args.pointer(scratch);
    for (size_t i = 0; i < launch.weights.size(); ++i)
      args.pointer(impl.weight(launch, i));
    args.call(loaded.fn);
  }

  int64_t partBytes(const RowPart &part) const {
    return part.cache >= 0 ? impl.program.caches[size_t(part.cache)]
                                 .segments[size_t(part.segment)]
                                 .bytes()
                           : part.view.heads * part.view.inner * 4;
  }

  /// Adds up what --stats shows.
  void count(KernelStats &stats) const {
    int64_t rowBytes = valueIsKey ? 0 : partBytes(launch.value);
    for (const RowPart &part : launch.keys)
      rowBytes += partBytes(part);
    stats.items += int64_t(items.size());
    // Each key head's item loads its own share of a row.
    for (const Item &item : items)
      stats.bytesLoaded += (item.entries.end - item.entries.begin) * rowBytes /
                           shape.kvHeads;
    const Share *share = nullptr;
    int64_t reached = 0;
    for (const Tile &tile : tiles) {
      // Tiles of a sequence follow each other; count each entry once.
      if (tile.share != share)
        reached = 0;
      share = tile.share;
      int64_t fresh =
          tile.entries.end - std::max(reached, tile.entries.begin);
      stats.bytesVisible += std::max<int64_t>(0, fresh) * rowBytes;
      reached = std::max(reached, tile.entries.end);
      for (int64_t t = tile.begin; t < tile.end; ++t) {
        Range seen = seenBy(*tile.share->slice,
                            frame.tokens.positions[size_t(t)]);
        int64_t pairs = std::min(seen.end, tile.entries.end) -
                        std::max(seen.begin, tile.entries.begin);
        stats.flopsUseful += std::max<int64_t>(0, pairs) * desc.heads * 2 *
                             (shape.dk + shape.dv);
      }
    }
  }

  CpuExecutor::Impl &impl;
  const LoadedLaunch &loaded;
  const Launch &launch;
  Frame &frame;
  const Range *within;
  const Shape shape;
  const StateDesc &desc;
  StateRun &state;
  int64_t tokens, ring;
  bool valueIsKey = false;
  std::vector<Tile> tiles;
  std::vector<Item> items;
  int64_t mostSlots = 0;
};
} // namespace

void CpuExecutor::Impl::runAttend(const LoadedLaunch &loaded, Frame &frame,
                                  int64_t only, const Range *within) {
  AttendRun(*this, loaded, frame, within).run(only);
}

void CpuExecutor::Impl::runCombine(const LoadedLaunch &loaded, Frame &frame) {
  const Launch &launch = *loaded.launch;
  const StateDesc &desc = frame.loaded->body->states[size_t(launch.state)];
  StateRun &state = frame.states[size_t(launch.state)];
  int64_t tokens = frame.tokens.tokens;
  growState(state, desc, tokens, 1);
  // A token that saw nothing at all still has a row to write: 0.
  for (int64_t t = 0; t < tokens; ++t)
    if (state.slots[size_t(t)] == 0) {
      clearSlot(state, desc, tokens, t, 0);
      state.slots[size_t(t)] = 1;
    }
  struct Item {
    int64_t begin, end, slots;
  };
  std::vector<Item> items;
  for (int64_t t = 0; t < tokens; ++t) {
    int32_t slots = state.slots[size_t(t)];
    if (!items.empty() && items.back().slots == slots &&
        t - items.back().begin < loaded.tokenTile)
      ++items.back().end;
    else
      items.push_back({t, t + 1, slots});
  }
  const View &out = launch.out[0];
  pool->parallelFor(int64_t(items.size()), [&](int64_t number, int) {
    const Item &item = items[size_t(number)];
    ArgList args;
    args.pointer(state.acc.as<float>());
    args.pointer(state.max.as<float>());
    args.pointer(state.sum.as<float>());
    args.integer(item.slots);
    args.integer(tokens);
    args.pointer(weight(launch, 0));
    args.view(out, frame.buffer(out));
    args.integer(item.begin);
    args.integer(item.end);
    args.call(loaded.fn);
  });
  if (loaded.stats)
    loaded.stats->items += int64_t(items.size());
  // The state is used up; the next attend on it begins anew.
  std::fill(state.slots.begin(), state.slots.end(), 0);
}

} // namespace attnc
