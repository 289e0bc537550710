//===- Measure.cpp - what all benches share ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "bench/Measure.h"
#include "bench/Peaks.h"

#include <chrono>
#include <thread>
#include <vector>

namespace attnc::bench {

void measure(benchmark::State &state, int threads, const std::function<void()> &once,
             double flops, double bytes) {
  once();
  auto start = std::chrono::steady_clock::now();
  for (auto _ : state)
    once();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  double rate = double(state.iterations()) / seconds.count();
  if (bytes > 0) {
    state.counters["gbytes"] = rate * bytes / 1e9;
    state.counters["fraction"] = rate * bytes / dramPeak(threads);
    state.SetLabel("dram");
    return;
  }
  state.counters["gflops"] = rate * flops / 1e9;
  state.counters["fraction"] = rate * flops / fmaPeak(threads);
  state.SetLabel("fma_peak");
}

void add(const std::string &name, std::function<void(benchmark::State &, int)> body) {
  int cores = int(std::thread::hardware_concurrency());
  for (int threads : {cores, 1}) {
    std::string full = threads == cores ? name : name + "/threads:1";
    benchmark::RegisterBenchmark(
        full.c_str(), [=](benchmark::State &state) { body(state, threads); })
        ->Unit(benchmark::kMillisecond);
    if (cores == 1)
      return;
  }
}

int runBenches(int argc, char **argv) {
  // Defaults as flags, before the user's: set on a benchmark, they would become
  // part of its name.
  std::vector<char *> args = {argv[0]};
  char repeat[] = "--benchmark_repetitions=5", time[] = "--benchmark_min_time=0.1";
  args.push_back(repeat);
  args.push_back(time);
  args.insert(args.end(), argv + 1, argv + argc);
  argc = int(args.size());
  benchmark::Initialize(&argc, args.data());
  if (benchmark::ReportUnrecognizedArguments(argc, args.data()))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

} // namespace attnc::bench
