//===- runtime_sequences.cpp - pages, forks, rings, running out -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Sequences.h"
#include "runtime/ThreadPool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

using namespace attnc;

namespace {

#define EXPECT_SAYS(found, part)                                               \
  EXPECT_NE((found).find(part), std::string::npos) << (found)

CacheDesc cache(const char *name, CacheKind kind, int64_t size,
                int64_t every = 1) {
  CacheDesc desc;
  desc.name = name;
  desc.kind = kind;
  desc.every = every;
  (kind == CacheKind::Paged ? desc.pageEntries : desc.rows) = size;
  desc.segments = {{"x", {}, 1}};
  EXPECT_EQ(desc.place(), "");
  return desc;
}

/// Sequences whose entries hold the numbers that a test writes.
class Story {
public:
  explicit Story(std::vector<CacheDesc> caches, PoolOptions options = {})
      : sequences(std::move(caches), options) {}

  /// Appends tokens; entry e of every rate-1 cache gets the value base + e.
  std::string append(int64_t sequence, int64_t tokens, float base) {
    if (std::string error = sequences.reserve({{sequence, tokens}});
        !error.empty())
      return error;
    SequenceSlice slice = sequences.slice(sequence, tokens, 0);
    for (size_t c = 0; c < sequences.caches().size(); ++c)
      for (int64_t e = slice.start; e < slice.start + tokens; ++e)
        if (sequences.caches()[c].every == 1)
          *at(slice, c, e) = base + float(e);
    sequences.commit({{sequence, tokens}});
    return "";
  }
  float read(int64_t sequence, size_t c, int64_t entry) {
    return *at(sequences.slice(sequence, 0, 0), c, entry);
  }
  float *at(const SequenceSlice &slice, size_t c, int64_t entry) {
    const CacheDesc &desc = sequences.caches()[c];
    int64_t n = desc.kind == CacheKind::Ring ? entry % desc.rows : entry;
    uint8_t *page = sequences.storage()[c].base +
                    slice.tables[c][n / desc.pageEntries] * desc.pageBytes;
    return reinterpret_cast<float *>(page) + n % desc.pageEntries;
  }
  Sequences sequences;
};

TEST(Sequences, AllocatesExactlyThePagesOfThePlan) {
  Story story({cache("main", CacheKind::Paged, 4),
               cache("sparse", CacheKind::Paged, 2, 4),
               cache("window", CacheKind::Ring, 3)});
  int64_t a = story.sequences.create();
  EXPECT_EQ(story.sequences.usedBytes(), 0);
  EXPECT_EQ(story.append(a, 7, 0), "");
  EXPECT_EQ(story.sequences.pages(0), 2);
  EXPECT_EQ(story.sequences.pages(1), 1); // one entry per 4 tokens
  EXPECT_EQ(story.sequences.pages(2), 1);
  EXPECT_EQ(story.sequences.usedBytes(), 2 * 16 + 8 + 12);
  EXPECT_EQ(story.append(a, 5, 0), "");
  EXPECT_EQ(story.sequences.pages(0), 3);
  EXPECT_EQ(story.sequences.pages(1), 2);
  EXPECT_EQ(story.sequences.drop(a), "");
  EXPECT_EQ(story.sequences.usedBytes(), 0);
}

TEST(Sequences, ForkCopiesThePageThatIsWritten) {
  Story story({cache("main", CacheKind::Paged, 4)});
  int64_t a = story.sequences.create();
  story.append(a, 6, 0);
  int64_t b = *story.sequences.fork(a);
  EXPECT_EQ(story.sequences.pages(0), 2);
  story.append(b, 1, 100);
  EXPECT_EQ(story.sequences.pages(0), 3); // the full page stays shared
  story.append(a, 1, 200);
  EXPECT_EQ(story.read(a, 0, 5), 5);
  EXPECT_EQ(story.read(b, 0, 5), 5);
  EXPECT_EQ(story.read(a, 0, 6), 206);
  EXPECT_EQ(story.read(b, 0, 6), 106);
  story.sequences.drop(a);
  EXPECT_EQ(story.read(b, 0, 0), 0);
  EXPECT_EQ(story.read(b, 0, 6), 106);
}

TEST(Sequences, ForkAtAPageBoundaryCopiesNothing) {
  Story story({cache("main", CacheKind::Paged, 4)});
  int64_t a = story.sequences.create();
  story.append(a, 4, 0);
  int64_t b = *story.sequences.fork(a);
  story.append(b, 1, 100);
  EXPECT_EQ(story.sequences.pages(0), 2);
}

TEST(Sequences, ForkCopiesRings) {
  Story story({cache("window", CacheKind::Ring, 3)});
  int64_t a = story.sequences.create();
  story.append(a, 5, 0);
  int64_t b = *story.sequences.fork(a);
  story.append(b, 2, 100);
  EXPECT_EQ(story.read(a, 0, 3), 3);
  EXPECT_EQ(story.read(a, 0, 4), 4);
  EXPECT_EQ(story.read(b, 0, 4), 4);
  EXPECT_EQ(story.read(b, 0, 6), 106);
}

TEST(Sequences, TruncateGoesBackAndRewrites) {
  Story story({cache("main", CacheKind::Paged, 4)});
  int64_t a = story.sequences.create();
  story.append(a, 10, 0);
  int64_t b = *story.sequences.fork(a);
  EXPECT_EQ(story.sequences.truncate(a, 3), "");
  EXPECT_EQ(story.sequences.length(a), 3);
  story.append(a, 2, 50);
  EXPECT_EQ(story.read(a, 0, 3), 53);
  EXPECT_EQ(story.read(b, 0, 3), 3);
  EXPECT_SAYS(story.sequences.truncate(a, 6), "expected 0 to 5");
  EXPECT_SAYS(story.sequences.truncate(a, -1), "expected 0 to 5");
}

TEST(Sequences, TruncateRefusesWhatARingHasLost) {
  Story story({cache("window", CacheKind::Ring, 4)});
  int64_t a = story.sequences.create();
  story.append(a, 4, 0);
  EXPECT_EQ(story.sequences.truncate(a, 2), ""); // nothing was overwritten
  story.append(a, 7, 0);                         // 9 tokens
  EXPECT_SAYS(story.sequences.truncate(a, 6), "window has overwritten");
  EXPECT_EQ(story.sequences.length(a), 9);
  // Token 8 sees entries 5, 6, 7 and itself, and those are still there.
  EXPECT_EQ(story.sequences.truncate(a, 8), "");
  EXPECT_EQ(story.sequences.length(a), 8);
  EXPECT_SAYS(story.sequences.truncate(a, 7), "window has overwritten");
  EXPECT_EQ(story.sequences.truncate(a, 0), "");
  story.append(a, 2, 10);
  EXPECT_EQ(story.read(a, 0, 1), 11);
}

TEST(Sequences, StatesCannotGoBack) {
  Story story({cache("fold", CacheKind::State, 1)});
  int64_t a = story.sequences.create();
  ASSERT_EQ(story.sequences.reserve({{a, 3}}), "");
  story.sequences.commit({{a, 3}});
  EXPECT_SAYS(story.sequences.truncate(a, 2), "a state, which cannot go back");
  EXPECT_EQ(story.sequences.truncate(a, 0), "");
}

TEST(Sequences, RunningOutLosesNothing) {
  PoolOptions options;
  options.capacity = {100, 3};
  Story story({cache("wide", CacheKind::Paged, 4),
               cache("tight", CacheKind::Paged, 4)},
              options);
  int64_t a = story.sequences.create(), b = story.sequences.create();
  EXPECT_EQ(story.append(a, 8, 0), "");
  bool ranOut = false;
  std::string error = story.sequences.reserve({{a, 4}, {b, 1}}, &ranOut);
  EXPECT_SAYS(error, "cache tight has no room for 2 more pages");
  EXPECT_TRUE(ranOut);
  EXPECT_EQ(story.sequences.pages(0), 2);
  EXPECT_EQ(story.sequences.pages(1), 2);
  EXPECT_EQ(story.append(a, 4, 0), "");
  EXPECT_EQ(story.read(a, 1, 2), 2);
  story.sequences.drop(a);
  EXPECT_EQ(story.append(b, 12, 0), "");
}

TEST(Sequences, WrongRequestsAreRefused) {
  Story story({cache("main", CacheKind::Paged, 4)});
  int64_t a = story.sequences.create();
  bool ranOut = true;
  EXPECT_SAYS(story.sequences.reserve({{99, 1}}, &ranOut), "does not exist");
  EXPECT_FALSE(ranOut);
  EXPECT_SAYS(story.sequences.reserve({{a, 1}, {a, 1}}), "occurs twice");
  EXPECT_SAYS(story.sequences.reserve({{a, -1}}), "cannot grow by -1");
  EXPECT_SAYS(story.sequences.reserve({{a, int64_t(1) << 40}}),
              "cannot grow by");
  EXPECT_SAYS(story.sequences.drop(99), "does not exist");
  EXPECT_SAYS(story.sequences.fork(99).error(), "does not exist");
  EXPECT_SAYS(story.sequences.truncate(99, 0), "does not exist");
}

TEST(Sequences, FreshPagesCanBePoisoned) {
  PoolOptions options;
  options.poison = true;
  Story story({cache("main", CacheKind::Paged, 4)}, options);
  int64_t a = story.sequences.create();
  story.append(a, 1, 0);
  EXPECT_EQ(story.read(a, 0, 0), 0);
  EXPECT_TRUE(std::isnan(story.read(a, 0, 1)));
  story.append(a, 3, 0);
  story.sequences.drop(a);
  int64_t b = story.sequences.create(); // takes the same page again
  story.append(b, 1, 0);
  EXPECT_TRUE(std::isnan(story.read(b, 0, 3)));
}

TEST(Sequences, MoreThan65536Pages) {
  Story story({cache("main", CacheKind::Paged, 1)});
  int64_t a = story.sequences.create();
  EXPECT_EQ(story.append(a, 70000, 0), "");
  EXPECT_EQ(story.sequences.pages(0), 70000);
  for (int64_t e : {0, 65535, 65536, 69999})
    EXPECT_EQ(story.read(a, 0, e), float(e));
}

TEST(PagePool, HugePoolsFailWithoutHarm) {
  PagePool pool(int64_t(1) << 45, 0, false);
  EXPECT_FALSE(pool.reserve(int64_t(1) << 20));
  EXPECT_EQ(pool.used(), 0);
}

TEST(ThreadPool, EveryItemOnce) {
  for (int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<size_t>(count));
      std::atomic<bool> strange{false};
      pool.parallelFor(count, [&](int64_t item, int worker) {
        ++done[size_t(item)];
        strange = strange || worker < 0 || worker >= threads;
      });
      for (auto &times : done)
        EXPECT_EQ(times, 1);
      EXPECT_FALSE(strange);
    }
  }
}

TEST(ThreadPool, NestedCallsRunInline) {
  ThreadPool pool(3);
  std::atomic<int> sum{0};
  pool.parallelFor(10, [&](int64_t, int) {
    pool.parallelFor(10, [&](int64_t item, int) { sum += int(item); });
  });
  EXPECT_EQ(sum, 450);
}

TEST(ThreadPool, CEntry) {
  std::vector<int> done(100);
  attn_parallel_for(
      [](void *ctx, int64_t item) { static_cast<int *>(ctx)[item] += 1; },
      done.data(), 100);
  EXPECT_EQ(done, std::vector<int>(100, 1));
}

} // namespace
