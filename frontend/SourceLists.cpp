//===- SourceLists.cpp - whose entries and picks a layer reads ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What is not checked here would show as a missing weight, as a selection of
// another stream or as a pool that starves its readers.
//
//===----------------------------------------------------------------------===//

#include "frontend/SourceLists.h"

#include <algorithm>

namespace attnc {

namespace {

constexpr Range<int64_t> anyInteger{std::numeric_limits<int64_t>::min(),
                                    std::numeric_limits<int64_t>::max()};

std::string layerName(int64_t layer) {
  return "layer " + std::to_string(layer);
}

bool contains(const std::vector<int64_t> &list, int64_t layer) {
  return std::find(list.begin(), list.end(), layer) != list.end();
}

/// The last layer of an ascending list that is not after `layer`, or -1.
int64_t nearest(const std::vector<int64_t> &list, int64_t layer) {
  auto after = std::upper_bound(list.begin(), list.end(), layer);
  return after == list.begin() ? -1 : *std::prev(after);
}

class SourceListReader {
public:
  SourceListReader(ConfigObject &root, const SourceKeys &keys,
                   const std::vector<int64_t> &ratios, int64_t picks)
      : root(root), keys(keys), ratios(ratios), picks(picks) {}

  SourceLists read() {
    makers = readList(keys.entries);
    pickers = readList(keys.index);
    for (int64_t layer : makers)
      if (!contains(pickers, layer))
        root.fail(keys.index,
                  "found no " + layerName(layer) + ", which is in " +
                      keys.entries,
                  "every layer of " + std::string(keys.entries) +
                      ", as it makes the keys of its index");
    for (size_t layer = 0; layer < ratios.size(); ++layer)
      result.layers.push_back(sourcesOf(layer));
    readCandidates();
    return std::move(result);
  }

private:
  std::vector<int64_t> readList(const char *key) {
    std::vector<int64_t> list = root.requireIntegers(key, anyInteger);
    int64_t count = ratios.size(), last = -1;
    for (int64_t layer : list) {
      if (layer < 0 || layer >= count)
        root.fail(key, "found " + layerName(layer),
                  "layers from 0 to " + std::to_string(count - 1));
      if (layer <= last)
        root.fail(key,
                  "found " + layerName(layer) + " after " + layerName(last),
                  "ascending layers, each once");
      if (!ratios[layer])
        root.fail(key,
                  "found " + layerName(layer) +
                      ", whose ratio in compress_ratios is 0",
                  "layers that compress");
      last = layer;
    }
    return list;
  }

  LayerSources sourcesOf(int64_t layer) {
    LayerSources sources;
    int64_t ratio = ratios[layer];
    if (!ratio)
      return sources;
    sources.entries = nearest(makers, layer);
    std::string found =
        "found ratio " + std::to_string(ratio) + " of " + layerName(layer);
    std::string expected = "a layer of the same ratio in " +
                           std::string(keys.entries) +
                           " as the nearest at or before it";
    if (sources.entries < 0)
      root.fail("compress_ratios", found + ", which has no source", expected);
    if (ratios[sources.entries] != ratio)
      root.fail("compress_ratios",
                found + ", whose source, " + layerName(sources.entries) +
                    ", has ratio " + std::to_string(ratios[sources.entries]),
                expected);
    // Every maker picks, so this one is at or after the maker.
    sources.index = nearest(pickers, layer);
    return sources;
  }

  void readCandidates() {
    Field<int64_t> source = root.integer(keys.candidates, anyInteger);
    int64_t layer = source.value;
    if (!source.present()) {
      // The models' own classes take the last one.
      layer = makers.empty() ? -1 : makers.back();
      root.noteDefault(keys.candidates, double(layer));
    }
    if (layer < 0) {
      // A negative layer says that there is no pool; its size means nothing.
      root.get("candidate_topk_blocks");
      root.get("candidate_block_size");
      return;
    }
    if (!contains(makers, layer))
      root.fail(keys.candidates, "found " + layerName(layer),
                "a layer of " + std::string(keys.entries) +
                    ", or a negative number for none");
    readPool(layer);
    limitLaterLayers(layer);
  }

  void readPool(int64_t layer) {
    CandidateDesc &pool = result.candidates;
    pool.blocks = readPositive("candidate_topk_blocks", layer);
    pool.size = readPositive("candidate_block_size", layer);
    // The newest block is in the pool and may hold one visible element only.
    int64_t least = (pool.blocks - 1) * pool.size + 1;
    if (least < picks)
      root.fail("candidate_topk_blocks",
                "found " + std::to_string(pool.blocks) + " blocks of " +
                    std::to_string(pool.size) + " for " + layerName(layer) +
                    ", which may hold only " + std::to_string(least) +
                    " visible elements",
                "at least index_topk " + std::to_string(picks));
  }

  int64_t readPositive(const char *key, int64_t layer) {
    Field<int64_t> field = root.integer(key, {0, channelRange.max});
    if (!field.present() || !field.value)
      root.fail(key,
                (field.present() ? "found 0" : "found no number") +
                    std::string(" for the pool of ") + layerName(layer),
                "a positive integer");
    return field.value;
  }

  /// Every later picker reads elements of the pool's rate.
  void limitLaterLayers(int64_t source) {
    for (int64_t layer : pickers) {
      if (layer <= source)
        continue;
      if (ratios[layer] != ratios[source])
        root.fail(keys.candidates,
                  "found " + layerName(source) + " of ratio " +
                      std::to_string(ratios[source]) + " before " +
                      layerName(layer) + ", which picks, of ratio " +
                      std::to_string(ratios[layer]),
                  "the same ratio in every later layer of " +
                      std::string(keys.index));
      result.layers[layer].within = source;
      result.candidateLayer = source;
    }
  }

  ConfigObject &root;
  const SourceKeys &keys;
  const std::vector<int64_t> &ratios;
  int64_t picks;
  std::vector<int64_t> makers, pickers;
  SourceLists result;
};

} // namespace

SourceLists readSourceLists(ConfigObject &root, const SourceKeys &keys,
                            const std::vector<int64_t> &ratios, int64_t picks) {
  return SourceListReader(root, keys, ratios, picks).read();
}

} // namespace attnc
