//===- bench-attend.cpp - speed of compiled attend kernels ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One iteration is one attend of one sequence, its combine included. A line
// without a suffix uses every core, one with /threads:N that many threads.
//
//===----------------------------------------------------------------------===//
#include "bench/AttendRun.h"
#include "bench/Peaks.h"
#include "bench/PeerMlaDecode.h"

#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

using namespace attnc;
using namespace attnc::bench;

namespace {

/// Calls `once` as often as the library wants, and counts by the clock on the
/// wall: other threads do half of the work.
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

void runAttend(benchmark::State &state, const AttendCase &shape, int threads, bool memoryBound) {
  AttendRun attend(shape);
  if (!attend.error.empty()) {
    state.SkipWithError(attend.error.c_str());
    return;
  }
  ThreadPool pool(threads);
  measure(state, threads, [&] { attend.run(pool); }, shape.flops(),
          memoryBound ? shape.bytes() : 0);
}

void runPeer(benchmark::State &state, int64_t heads, int64_t entries, int threads) {
  PeerMlaDecode peer(heads, entries);
  ThreadPool pool(threads);
  double flops = 2.0 * double(heads * peer.entries(threads)) * (576 + 512);
  measure(state, threads, [&] { peer.run(pool); }, flops, 0);
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

void addAttend(AttendCase shape, bool memoryBound = false) {
  add(shape.name, [=](benchmark::State &state, int threads) {
    runAttend(state, shape, threads, memoryBound);
  });
}

void addAll() {
  for (int64_t heads : {128, 64, 32, 16})
    for (int64_t entries : {4096, 16384}) {
      std::string shape = "mla/h" + std::to_string(heads) + "/n" + std::to_string(entries);
      for (auto [elem, name] : {std::pair{Elem::BF16, "bf16"}, {Elem::F32, "f32"}})
        addAttend({"attend/" + shape + "/" + name, heads, 1, {512, 64}, 0, entries, 1, elem});
      if (PeerMlaDecode::available())
        add("peer/" + shape + "/bf16", [=](benchmark::State &state, int threads) {
          runPeer(state, heads, entries, threads);
        });
    }
  addAttend({"attend/gqa/h32k8/n8192/bf16", 32, 8, {128}, 128, 8192, 1, Elem::BF16}, true);
  addAttend({"prefill/mha/h16/s1024", 16, 16, {128}, 128, 1024, 1024, Elem::F32});
}

} // namespace

int main(int argc, char **argv) {
  addAll();
  // Defaults as flags, before the user's: set on a benchmark, they would become
  // part of its name.
  std::vector<char *> args = {argv[0]};
  char repeat[] = "--benchmark_repetitions=5", time[] = "--benchmark_min_time=0.1";
  args.push_back(repeat);
  args.push_back(time);
  args.insert(args.end(), argv + 1, argv + argc);
  argc = int(args.size());
  argv = args.data();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
