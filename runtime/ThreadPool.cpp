//===- ThreadPool.cpp - the runtime's own threads ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <sched.h>
#include <thread>
#include <vector>

namespace attnc {

namespace {
/// Cores that this process may use, which a container can make fewer than the
/// machine has.
int usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

/// Whether this thread is running an item of some pool.
thread_local bool inItem = false;

/// How often a worker looks for work before it sleeps: some 20 microseconds.
/// Launches follow each other faster than a thread wakes.
constexpr int spins = 500;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
} // namespace

using ItemFn = std::function<void(int64_t, int)>;

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::mutex entry; ///< one job at a time
  std::mutex mutex; ///< guards all below but `next`
  std::condition_variable wake, idle;

  const ItemFn *fn = nullptr;
  int64_t count = 0;
  bool active = false; ///< workers may join the job
  int inside = 0;      ///< workers that have joined it
  bool stop = false;
  std::atomic<uint64_t> generation{0}; ///< of the job; also read without lock
  std::atomic<int64_t> next{0};

  void work(int worker) {
    inItem = true;
    for (int64_t item; (item = next.fetch_add(1)) < count;)
      (*fn)(item, worker);
    inItem = false;
  }

  void loop(int worker) {
    uint64_t seen = 0;
    while (true) {
      for (int i = 0; i < spins && generation.load() == seen; ++i)
        pause();
      std::unique_lock<std::mutex> hold(mutex);
      wake.wait(hold, [&] {
        return stop || (active && generation.load() != seen);
      });
      if (stop)
        return;
      seen = generation.load();
      ++inside;
      hold.unlock();
      work(worker);
      hold.lock();
      if (--inside == 0)
        idle.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state(std::make_unique<State>()) {
  if (threads <= 0)
    threads = usableCores();
  for (int worker = 1; worker < threads; ++worker)
    state->workers.emplace_back([this, worker] { state->loop(worker); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> hold(state->mutex);
    state->stop = true;
  }
  state->wake.notify_all();
  for (std::thread &worker : state->workers)
    worker.join();
}

int ThreadPool::threads() const { return int(state->workers.size()) + 1; }

void ThreadPool::parallelFor(int64_t count, const ItemFn &fn) {
  if (count <= 0)
    return;
  if (count == 1 || state->workers.empty() || inItem) {
    bool nested = inItem;
    inItem = true;
    for (int64_t item = 0; item < count; ++item)
      fn(item, 0);
    inItem = nested;
    return;
  }
  State &s = *state;
  std::lock_guard<std::mutex> turn(s.entry);
  {
    std::lock_guard<std::mutex> hold(s.mutex);
    s.fn = &fn;
    s.count = count;
    s.next = 0;
    s.active = true;
    s.generation.fetch_add(1);
  }
  s.wake.notify_all();
  s.work(0);
  // All items are taken. Workers that have not woken up by now need not: on a
  // busy machine that can take much longer than the work.
  std::unique_lock<std::mutex> hold(s.mutex);
  s.active = false;
  s.idle.wait(hold, [&] { return s.inside == 0; });
}

static std::unique_ptr<ThreadPool> &defaultSlot() {
  static std::unique_ptr<ThreadPool> pool;
  return pool;
}

static std::mutex &defaultMutex() {
  static std::mutex mutex;
  return mutex;
}

ThreadPool &defaultPool() {
  std::lock_guard<std::mutex> hold(defaultMutex());
  std::unique_ptr<ThreadPool> &pool = defaultSlot();
  if (!pool)
    pool = std::make_unique<ThreadPool>();
  return *pool;
}

void setDefaultThreads(int threads) {
  std::lock_guard<std::mutex> hold(defaultMutex());
  defaultSlot() = std::make_unique<ThreadPool>(threads);
}

} // namespace attnc

extern "C" void attn_parallel_for(void (*fn)(void *ctx, int64_t item),
                                  void *ctx, int64_t n) {
  attnc::defaultPool().parallelFor(n,
                                   [&](int64_t item, int) { fn(ctx, item); });
}
