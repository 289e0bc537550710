//===- Measure.h - what all benches share -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_BENCH_MEASURE_H
#define ATTNC_BENCH_MEASURE_H

#include <benchmark/benchmark.h>

#include <functional>
#include <string>

namespace attnc::bench {

/// Calls `once` as often as the library wants, and counts by the clock on the
/// wall: other threads do part of the work. Reports gflops and the fraction of
/// the multiply-add peak, or, if `bytes` is given, gbytes and the fraction of
/// what memory delivers.
void measure(benchmark::State &state, int threads, const std::function<void()> &once,
             double flops, double bytes = 0);

/// Registers `name` for all cores, and name/threads:1.
void add(const std::string &name, std::function<void(benchmark::State &, int threads)> body);

/// The rest of a bench's main.
int runBenches(int argc, char **argv);

} // namespace attnc::bench

#endif // ATTNC_BENCH_MEASURE_H
