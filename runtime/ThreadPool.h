//===- ThreadPool.h - the runtime's own threads -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Work is cut into items by shape, never by the number of threads; which thread
// does an item cannot be seen in the results.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_RUNTIME_THREADPOOL_H
#define ATTNC_RUNTIME_THREADPOOL_H

#include <cstdint>
#include <functional>
#include <memory>

namespace attnc {

class ThreadPool {
public:
  /// `threads` workers, the caller included; 0: one per core of this process.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const;

  /// Calls fn(item, worker) for every item in [0, count), worker in
  /// [0, threads()). Returns when all are done. Called from within an item, it
  /// runs on the calling thread alone, as worker 0 of that call.
  void parallelFor(int64_t count,
                   const std::function<void(int64_t item, int worker)> &fn);

private:
  struct State;
  std::unique_ptr<State> state;
};

/// The pool of the process, made on first use.
ThreadPool &defaultPool();
/// Sets the size of the default pool. Not to be called while it works.
void setDefaultThreads(int threads);

} // namespace attnc

extern "C" {
/// fn(ctx, item) for every item in [0, n) on the default pool.
void attn_parallel_for(void (*fn)(void *ctx, int64_t item), void *ctx,
                       int64_t n);
}

#endif // ATTNC_RUNTIME_THREADPOOL_H
