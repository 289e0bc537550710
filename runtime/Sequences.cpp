//===- Sequences.cpp - sequences and the pages they hold --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Sequences.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace attnc {

Sequences::Sequences(std::vector<CacheDesc> caches, PoolOptions options)
    : plan(std::move(caches)) {
  for (size_t i = 0; i < plan.size(); ++i)
    pools.emplace_back(plan[i].pageBytes,
                       i < options.capacity.size() ? options.capacity[i] : 0,
                       options.poison);
}

static std::string unknown(int64_t sequence) {
  return "sequence " + std::to_string(sequence) +
         " does not exist; expected the number of one that was created";
}

int64_t Sequences::create() {
  Sequence sequence;
  sequence.pages.resize(plan.size());
  table.emplace(next, std::move(sequence));
  return next++;
}

Result<int64_t> Sequences::fork(int64_t sequence) {
  auto it = table.find(sequence);
  if (it == table.end())
    return Error{unknown(sequence)};
  Sequence copy = it->second;
  for (size_t cache = 0; cache < plan.size(); ++cache)
    for (int32_t page : copy.pages[cache])
      pools[cache].retain(page);
  table.emplace(next, std::move(copy));
  return next++;
}

static int64_t pagesFor(const CacheDesc &cache, int64_t tokens) {
  int64_t entries = tokens / cache.every;
  return (entries + cache.pageEntries - 1) / cache.pageEntries;
}

std::string Sequences::truncate(int64_t number, int64_t length) {
  auto it = table.find(number);
  if (it == table.end())
    return unknown(number);
  Sequence &sequence = it->second;
  if (length < 0 || length > sequence.length)
    return "sequence " + std::to_string(number) + " cannot be cut to " +
           std::to_string(length) + " tokens; expected 0 to " +
           std::to_string(sequence.length);
  if (length == sequence.length)
    return "";
  for (const CacheDesc &cache : plan) {
    bool ring = cache.kind == CacheKind::Ring;
    // The next token reads the newest rows - 1 entries of a ring; a slot still
    // holds the one it needs if no later entry has taken it.
    int64_t entries = length / cache.every;
    bool lost = ring ? sequence.written / cache.every >
                           std::max(cache.rows, entries + 1)
                     : cache.kind == CacheKind::State;
    if (lost && length > 0)
      return "sequence " + std::to_string(number) + " cannot be cut to " +
             std::to_string(length) + " tokens: cache " + cache.name +
             (ring ? " has overwritten entries that it would read"
                   : " is a state, which cannot go back") +
             "; expected a longer prefix, or 0";
  }
  for (size_t cache = 0; cache < plan.size(); ++cache) {
    std::vector<int32_t> &pages = sequence.pages[cache];
    size_t keep = plan[cache].kind == CacheKind::Paged
                      ? size_t(pagesFor(plan[cache], length))
                      : (length > 0 ? pages.size() : 0);
    for (; pages.size() > keep; pages.pop_back())
      pools[cache].release(pages.back());
  }
  sequence.length = length;
  if (length == 0)
    sequence.written = 0;
  return "";
}

std::string Sequences::drop(int64_t number) {
  auto it = table.find(number);
  if (it == table.end())
    return unknown(number);
  for (size_t cache = 0; cache < plan.size(); ++cache)
    for (int32_t page : it->second.pages[cache])
      pools[cache].release(page);
  table.erase(it);
  return "";
}

Sequences::Need Sequences::need(size_t number, const Sequence &sequence,
                                int64_t tokens) const {
  const CacheDesc &cache = plan[number];
  const std::vector<int32_t> &pages = sequence.pages[number];
  Need result;
  if (tokens == 0)
    return result;
  if (cache.kind != CacheKind::Paged) {
    result.fresh = pages.empty();
    if (!pages.empty() && pools[number].shared(pages[0]))
      result.copyAt = 0;
  } else {
    int64_t entries = sequence.length / cache.every;
    int64_t after = (sequence.length + tokens) / cache.every;
    // A step that failed leaves its pages with the sequence.
    result.fresh = std::max<int64_t>(
        0, pagesFor(cache, sequence.length + tokens) - int64_t(pages.size()));
    // The page that the first new entry continues, if it was begun.
    int64_t first = entries / cache.pageEntries;
    if (after > entries && first < int64_t(pages.size()) &&
        pools[number].shared(pages[first]))
      result.copyAt = first;
  }
  result.copied = result.copyAt >= 0;
  return result;
}

std::string Sequences::reservePools(const std::vector<Growth> &growth) {
  for (size_t cache = 0; cache < plan.size(); ++cache) {
    int64_t pages = 0;
    for (const Growth &one : growth) {
      Need wanted = need(cache, table.at(one.sequence), one.tokens);
      pages += wanted.fresh + wanted.copied;
    }
    if (!pools[cache].reserve(pages))
      return "cache " + plan[cache].name + " has no room for " +
             std::to_string(pages) + " more pages of " +
             std::to_string(plan[cache].pageBytes) + " bytes; " +
             std::to_string(pools[cache].used()) +
             " are in use; expected fewer or shorter sequences";
  }
  return "";
}

void Sequences::extend(size_t cache, Sequence &sequence, const Need &need) {
  PagePool &pool = pools[cache];
  std::vector<int32_t> &pages = sequence.pages[cache];
  if (need.copyAt >= 0) {
    int32_t &page = pages[size_t(need.copyAt)];
    int32_t copy = pool.allocate();
    std::memcpy(pool.page(copy), pool.page(page), size_t(pool.pageBytes()));
    pool.release(page);
    page = copy;
  }
  for (int64_t i = 0; i < need.fresh; ++i)
    pages.push_back(pool.allocate());
}

std::string Sequences::reserve(const std::vector<Growth> &growth,
                               bool *ranOut) {
  if (ranOut)
    *ranOut = false;
  constexpr int64_t longest = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < growth.size(); ++i) {
    auto it = table.find(growth[i].sequence);
    if (it == table.end())
      return unknown(growth[i].sequence);
    for (size_t j = 0; j < i; ++j)
      if (growth[j].sequence == growth[i].sequence)
        return "sequence " + std::to_string(growth[i].sequence) +
               " occurs twice in one step; expected it once";
    // Positions travel to kernels as int32.
    if (growth[i].tokens < 0 || growth[i].tokens > longest - it->second.length)
      return "sequence " + std::to_string(growth[i].sequence) + " of " +
             std::to_string(it->second.length) + " tokens cannot grow by " +
             std::to_string(growth[i].tokens) + "; expected 0 to " +
             std::to_string(longest - it->second.length);
  }
  if (std::string error = reservePools(growth); !error.empty()) {
    if (ranOut)
      *ranOut = true;
    return error;
  }
  // A page shared by two sequences that both write it is copied for the first
  // and kept by the second: at most as many pages as were reserved.
  for (size_t cache = 0; cache < plan.size(); ++cache)
    for (const Growth &one : growth) {
      Sequence &sequence = table.at(one.sequence);
      extend(cache, sequence, need(cache, sequence, one.tokens));
    }
  // From here on a step may overwrite ring entries, whether it succeeds or not.
  for (const Growth &one : growth) {
    Sequence &sequence = table.at(one.sequence);
    sequence.written =
        std::max(sequence.written, sequence.length + one.tokens);
  }
  return "";
}

SequenceSlice Sequences::slice(int64_t number, int64_t tokens,
                               int64_t row) const {
  const Sequence &sequence = table.at(number);
  SequenceSlice slice;
  slice.start = sequence.length;
  slice.count = tokens;
  slice.row = row;
  for (const std::vector<int32_t> &pages : sequence.pages)
    slice.tables.push_back(pages.data());
  return slice;
}

std::vector<CacheStorage> Sequences::storage() const {
  std::vector<CacheStorage> all;
  for (const PagePool &pool : pools)
    all.push_back({pool.base(), pool.pageBytes()});
  return all;
}

void Sequences::commit(const std::vector<Growth> &growth) {
  for (const Growth &one : growth)
    table.at(one.sequence).length += one.tokens;
}

int64_t Sequences::length(int64_t sequence) const {
  auto it = table.find(sequence);
  return it == table.end() ? -1 : it->second.length;
}

int64_t Sequences::usedBytes() const {
  int64_t sum = 0;
  for (const PagePool &pool : pools)
    sum += pool.used() * pool.pageBytes();
  return sum;
}

} // namespace attnc
