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
#include <limits>

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

/// The per-row arrays of an item.
struct RowLists {
  int32_t *token, *head, *lo, *hi, *position;
  RowLists(int32_t *memory, int64_t rows)
      : token(memory), head(memory + rows), lo(memory + 2 * rows),
        hi(memory + 3 * rows), position(memory + 4 * rows) {}
};

static int64_t fillRows(const Item &item, const Launch &launch,
                        const Axis &axis, int64_t ringRows, RowLists lists) {
  int64_t row = 0;
  for (int64_t t = item.tile->begin; t < item.tile->end; ++t) {
    int64_t position = axis.positions[size_t(t)];
    Range seen = visibleEntries(launch.visibility, position,
                                item.tile->share->slice->start, ringRows);
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

void CpuExecutor::Impl::runAttend(const LoadedLaunch &loaded, Frame &frame,
                                  int64_t only, const Range *within) {
  const Launch &launch = *loaded.launch;
  const Shape shape(*loaded.desc);
  const StateDesc &desc = frame.loaded->body->states[size_t(launch.state)];
  StateRun &state = frame.states[size_t(launch.state)];
  int64_t tokens = frame.tokens.tokens, ring = ringRows(launch);

  int64_t rowBytes = 0;
  auto countBytes = [&](const RowPart &part) {
    rowBytes += part.cache >= 0
                    ? program.caches[size_t(part.cache)]
                          .segments[size_t(part.segment)]
                          .bytes()
                    : part.view.heads * part.view.inner * 4;
  };
  bool valueIsKey = false;
  for (const RowPart &part : launch.keys) {
    countBytes(part);
    valueIsKey |= samePart(part, launch.value);
  }
  if (!valueIsKey)
    countBytes(launch.value);

  // Tiles: which tokens together, which entries they see, how many splits.
  std::vector<Tile> tiles;
  std::vector<int64_t> splitLength;
  int64_t mostSlots = 0;
  for (size_t s = 0; s < frame.shares.size(); ++s) {
    if (only >= 0 && int64_t(s) != only)
      continue;
    const Share &share = frame.shares[s];
    int64_t count = share.slice->count, start = share.slice->start;
    int64_t perItem = shape.tokensPerItem();
    int64_t items =
        (count + perItem - 1) / perItem * shape.kvHeads * shape.headChunks();
    Range all{std::numeric_limits<int64_t>::max(), 0};
    for (int64_t begin = 0; begin < count; begin += perItem) {
      int64_t end = std::min(count, begin + perItem);
      // Later tokens see later entries: the first token's begin, the last's end.
      Range seen{visibleEntries(launch.visibility, start + begin, start, ring)
                     .begin,
                 visibleEntries(launch.visibility, start + end - 1, start, ring)
                     .end};
      if (within) {
        seen.begin = std::max(seen.begin, within->begin);
        seen.end = std::min(seen.end, within->end);
      }
      if (seen.empty())
        continue;
      all.begin = std::min(all.begin, seen.begin);
      all.end = std::max(all.end, seen.end);
      auto [splits, each] =
          within ? std::pair<int64_t, int64_t>(1, seen.end - seen.begin)
                 : splitsOf(shape, seen, items);
      tiles.push_back(
          {&share, share.first + begin, share.first + end, seen, splits});
      splitLength.push_back(each);
      mostSlots = std::max(mostSlots, splits);
    }
    if (loaded.stats && !all.empty())
      loaded.stats->bytesVisible += (all.end - all.begin) * rowBytes;
  }
  if (tiles.empty())
    return;
  growState(state, desc, tokens, mostSlots);

  std::vector<Item> items;
  for (size_t i = 0; i < tiles.size(); ++i) {
    const Tile &tile = tiles[i];
    for (int64_t slot = 0; slot < tile.slots; ++slot) {
      Range entries{tile.entries.begin + slot * splitLength[i], 0};
      entries.end = std::min(tile.entries.end, entries.begin + splitLength[i]);
      bool init = startsSlot(state, desc, tokens, tile, slot);
      for (int64_t kv = 0; kv < shape.kvHeads; ++kv)
        for (int64_t h = 0; h < shape.group; h += shape.headChunk())
          items.push_back({&tile, kv, kv * shape.group + h,
                           std::min(shape.headChunk(), shape.group - h),
                           entries, slot, init});
      if (loaded.stats)
        loaded.stats->bytesLoaded +=
            (entries.end - entries.begin) * rowBytes * shape.headChunks();
    }
    for (int64_t t = tile.begin; t < tile.end; ++t)
      state.slots[size_t(t)] =
          std::max(state.slots[size_t(t)], int32_t(tile.slots));
  }

  int64_t listBytes = roundUp(shape.rowLimit() * 5 * 4, 64);
  for (Buffer &one : scratch)
    one.reserve(listBytes + shape.scratch + 64);
  pool->parallelFor(int64_t(items.size()), [&](int64_t number, int worker) {
    const Item &item = items[size_t(number)];
    const Share &share = *item.tile->share;
    auto *memory = scratch[size_t(worker)].as<uint8_t>();
    RowLists lists(reinterpret_cast<int32_t *>(memory), shape.rowLimit());
    int64_t rows = fillRows(item, launch, frame.tokens, ring, lists);
    int64_t tileFirst = within ? within->begin : 0;

    ArgList args;
    for (const View &view : launch.in)
      args.view(view, frame.buffer(view));
    for (const RowPart &part : launch.keys)
      args.source(rowSource(part, frame, share, tileFirst));
    if (!valueIsKey)
      args.source(rowSource(launch.value, frame, share, tileFirst));
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
    args.pointer(memory + listBytes);
    for (size_t i = 0; i < launch.weights.size(); ++i)
      args.pointer(weight(launch, i));
    args.call(loaded.fn);
  });
  if (loaded.stats) {
    loaded.stats->items += int64_t(items.size());
    for (const Tile &tile : tiles)
      for (int64_t t = tile.begin; t < tile.end; ++t) {
        Range seen = visibleEntries(launch.visibility,
                                    frame.tokens.positions[size_t(t)],
                                    tile.share->slice->start, ring);
        int64_t count = std::min(seen.end, tile.entries.end) -
                        std::max(seen.begin, tile.entries.begin);
        loaded.stats->flopsUseful += std::max<int64_t>(0, count) * 2 *
                                     (shape.dk + shape.dv) * desc.heads;
      }
  }
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
