//===- Peaks.cpp - what this machine can do at most -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "bench/Peaks.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <vector>

namespace attnc::bench {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16, sums = 24;
#elif defined(__AVX__)
constexpr int lanes = 8, sums = 12;
#else
constexpr int lanes = 4, sums = 12;
#endif
typedef float Vector __attribute__((vector_size(lanes * 4)));
typedef uint64_t Words __attribute__((vector_size(64), aligned(64)));

/// The best of many short runs: other processes disturb some of them.
double secondsOf(int threads, int repeats, const std::function<void(int)> &work) {
  double best = 1e30;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> helpers;
    for (int t = 1; t < threads; ++t)
      helpers.emplace_back(work, t);
    work(0);
    for (std::thread &helper : helpers)
      helper.join();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }
  return best;
}

void multiplyAdd(int64_t rounds) {
  Vector sum[sums] = {}, x = Vector{} + 1.0001f, y = x;
  for (int64_t r = 0; r < rounds; ++r) {
    __asm__ volatile("" : "+x"(x), "+x"(y));
#pragma GCC unroll 24
    for (int i = 0; i < sums; ++i)
      sum[i] = x * y + sum[i];
  }
  Vector total = {};
  for (Vector &one : sum)
    total += one;
  __asm__ volatile("" ::"x"(total));
}

void readAll(const Words *from, int64_t count) {
  Words a = {}, b = {}, c = {}, d = {};
  for (int64_t i = 0; i < count; i += 4) {
    a ^= from[i];
    b ^= from[i + 1];
    c ^= from[i + 2];
    d ^= from[i + 3];
  }
  a ^= b ^ c ^ d;
  __asm__ volatile("" ::"m"(a));
}

} // namespace

double fmaPeak(int threads) {
  static std::map<int, double> known;
  double &peak = known[threads];
  if (peak == 0) {
    constexpr int64_t rounds = 2000000;
    double seconds = secondsOf(threads, 40, [](int) { multiplyAdd(rounds); });
    peak = 2.0 * lanes * sums * double(rounds) * threads / seconds;
  }
  return peak;
}

double dramPeak(int threads) {
  static std::map<int, double> known;
  double &peak = known[threads];
  if (peak == 0) {
    constexpr int64_t each = int64_t(384) << 20;
    std::vector<std::vector<Words>> memory;
    for (int t = 0; t < threads; ++t)
      memory.emplace_back(size_t(each / 64), Words{} + uint64_t(t));
    double seconds =
        secondsOf(threads, 5, [&](int t) { readAll(memory[size_t(t)].data(), each / 64); });
    peak = double(each) * threads / seconds;
  }
  return peak;
}

} // namespace attnc::bench
