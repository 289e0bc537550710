//===- bench-attend.cpp - speed of compiled attend kernels ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One iteration is one attend of one sequence, its combine included. A line
// without a suffix uses every core, one with /threads:N that many threads.
//
//===----------------------------------------------------------------------===//
#include "bench/AttendRun.h"
#include "bench/Measure.h"
#include "bench/PeerMlaDecode.h"

using namespace attnc;
using namespace attnc::bench;

namespace {

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
  measure(state, threads, [&] { peer.run(pool); }, flops);
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
  return runBenches(argc, argv);
}
