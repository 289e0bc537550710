//===- Launches.cpp - launches over tokens ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/ExecutorImpl.h"

#include <algorithm>

namespace attnc {

/// norm, rope, map and round: every token by itself, `tokenTile` to an item.
void CpuExecutor::Impl::runTokens(const LoadedLaunch &loaded, Frame &frame,
                                  const Axis &axis) {
  const Launch &launch = *loaded.launch;
  ArgList common;
  for (const View &view : launch.in)
    common.view(view, frame.buffer(view));
  common.view(launch.out[0], frame.buffer(launch.out[0]));
  if (launch.op == "norm")
    common.pointer(weight(launch, 0));
  else if (launch.op == "rope")
    common.pointer(axis.cosSin[size_t(launch.table)].as<float>());
  else
    for (size_t i = 0; i < launch.weights.size(); ++i)
      common.pointer(weight(launch, i));
  int64_t tile = loaded.tokenTile;
  int64_t items = (axis.tokens + tile - 1) / tile;
  pool->parallelFor(items, [&](int64_t item, int) {
    ArgList args(common);
    args.integer(item * tile);
    args.integer(std::min(axis.tokens, (item + 1) * tile));
    args.call(loaded.fn);
  });
  if (loaded.stats)
    loaded.stats->items += items;
}

/// Items are panels times token tiles, a panel's tiles one after another; runs
/// of panels are handed out together while a single one is little work.
void CpuExecutor::Impl::runProject(const LoadedLaunch &loaded, Frame &frame,
                                   const Axis &axis) {
  const Launch &launch = *loaded.launch;
  const PackedWeight &matrix = weights[size_t(launch.weights[0])];
  ArgList common;
  common.view(launch.in[0], frame.buffer(launch.in[0]));
  common.view(launch.out[0], frame.buffer(launch.out[0]));
  common.pointer(matrix.data());
  common.pointer(weight(launch, 1));
  int64_t tile = loaded.tokenTile;
  int64_t tiles = (axis.tokens + tile - 1) / tile;
  int64_t work =
      matrix.in * matrix.panel * std::min(axis.tokens, tile) * tiles;
  int64_t run = std::clamp<int64_t>((1 << 16) / std::max<int64_t>(work, 1), 1,
                                    matrix.panels);
  int64_t runs = (matrix.panels + run - 1) / run;
  bool split = run == 1 && tiles > 1;
  pool->parallelFor(split ? runs * tiles : runs, [&](int64_t item, int) {
    int64_t first = split ? item / tiles : item * run;
    int64_t last = std::min(matrix.panels, first + run);
    for (int64_t panel = first; panel < last; ++panel)
      for (int64_t t = split ? item % tiles : 0,
                   end = split ? t + 1 : tiles; t < end; ++t) {
        ArgList args(common);
        args.integer(panel);
        args.integer(t * tile);
        args.integer(std::min(axis.tokens, (t + 1) * tile));
        args.call(loaded.fn);
      }
  });
  if (loaded.stats) {
    loaded.stats->items += matrix.panels * tiles;
    loaded.stats->flopsUseful += 2 * axis.tokens * matrix.in * matrix.out *
                                 program.weights[size_t(launch.weights[0])].groups;
  }
}

void CpuExecutor::Impl::runAppend(const LoadedLaunch &loaded, Frame &frame) {
  const Launch &launch = *loaded.launch;
  size_t number = size_t(launch.cache);
  const CacheDesc &cache = program.caches[number];
  const CacheStorage &storage = frame.batch->caches[number];
  int64_t modulo = cache.kind == CacheKind::Ring ? cache.rows : 0;
  struct Item {
    const Share *share;
    int64_t begin, end; ///< tokens of the share
  };
  std::vector<Item> items;
  for (const Share &share : frame.shares) {
    int64_t count = share.slice->count;
    // Of a chunk longer than the ring, the last rows remain; writing the
    // others too would have two tokens write one slot.
    int64_t begin = modulo ? std::max<int64_t>(0, count - modulo) : 0;
    for (; begin < count; begin += loaded.tokenTile)
      items.push_back({&share, begin, std::min(count, begin + loaded.tokenTile)});
  }
  pool->parallelFor(int64_t(items.size()), [&](int64_t number, int) {
    const Item &item = items[size_t(number)];
    const Share &share = *item.share;
    ArgList args;
    for (const View &view : launch.in)
      args.view(view, frame.buffer(view));
    args.pointer(storage.base);
    args.pointer(share.slice->tables[size_t(launch.cache)]);
    args.integer(storage.pageBytes);
    args.integer(cache.pageEntries);
    args.integer(share.slice->start + item.begin);
    args.integer(modulo);
    args.integer(share.first + item.begin);
    args.integer(share.first + item.end);
    args.call(loaded.fn);
  });
  if (loaded.stats)
    loaded.stats->items += int64_t(items.size());
}

/// Copies the rows of a view out (or in) as [tokens][heads * inner].
static void gatherRows(const View &view, const float *buffer, int64_t first,
                       int64_t count, float *to) {
  for (int64_t t = 0; t < count; ++t)
    for (int64_t head = 0; head < view.heads; ++head, to += view.inner)
      std::copy_n(buffer + view.offset + (first + t) * view.tokenStride +
                      head * view.headStride,
                  view.inner, to);
}

std::string CpuExecutor::Impl::runExtern(const LoadedLaunch &loaded,
                                         Frame &frame) {
  const Launch &launch = *loaded.launch;
  const View &in = launch.in[0], &out = launch.out[0];
  int64_t tokens = frame.tokens.tokens;
  int64_t inWidth = in.heads * in.inner, outWidth = out.heads * out.inner;
  std::vector<float> x, y(size_t(tokens * outWidth), 0.0f);
  // An optional function that is not supplied adds zero.
  if (loaded.externFn) {
    x.resize(size_t(tokens * inWidth));
    gatherRows(in, frame.buffer(in), 0, tokens, x.data());
    std::string error =
        (*loaded.externFn)(tokens, inWidth, x.data(), outWidth, y.data());
    if (!error.empty())
      return "the external function " + launch.name + " failed: " + error;
  }
  float *to = frame.buffer(out);
  const float *from = y.data();
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t head = 0; head < out.heads; ++head, from += out.inner)
      std::copy_n(from, out.inner,
                  to + out.offset + t * out.tokenStride + head * out.headStride);
  return "";
}

void CpuExecutor::Impl::runTrace(const LoadedLaunch &loaded, Frame &frame) {
  if (!frame.trace)
    return;
  const Launch &launch = *loaded.launch;
  const View &view = launch.in[0];
  int64_t width = view.heads * view.inner;
  std::vector<float> rows;
  for (const Share &share : frame.shares) {
    rows.resize(size_t(share.slice->count * width));
    gatherRows(view, frame.buffer(view), share.first, share.slice->count,
               rows.data());
    frame.trace->rows(launch.name, share.slice->row, share.slice->count, width,
                      rows.data(), width);
  }
}

} // namespace attnc
