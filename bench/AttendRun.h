//===- AttendRun.h - one compiled attend on one sequence --------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_BENCH_ATTENDRUN_H
#define ATTNC_BENCH_ATTENDRUN_H

#include "runtime/ThreadPool.h"
#include "test/unit/CpuKernels.h"

namespace attnc::bench {

/// Shape of an attend benchmark; dimensions as in AttendSpec.
struct AttendCase {
  std::string name;
  int64_t heads = 1, kvHeads = 1;
  std::vector<int64_t> keyDims;
  int64_t valueDim = 0; ///< 0: the value is key part 0
  int64_t entries = 0, tokens = 1;
  Elem elem = Elem::BF16;

  int64_t keyWidth() const;
  int64_t valueWidth() const { return valueDim ? valueDim : keyDims[0]; }
  /// Multiply-adds that the causal mask leaves, counted as two operations.
  double flops() const;
  /// Bytes of the rows that are read.
  double bytes() const;
  int64_t spaceOfRow() const; ///< in bytes
};

/// The sequence's pages and queries, and the kernels. run() does what one attend
/// launch and its combine do: items over the pool, cut as the executor cuts them.
class AttendRun {
public:
  explicit AttendRun(const AttendCase &shape);
  void run(ThreadPool &pool);

  std::string error; ///< of the compilation

private:
  struct Item {
    int64_t kvHead, token, tokens, begin, end, split;
  };
  void fill();
  void plan();
  void attend(const Item &item, float *scratch);
  void combine();

  AttendCase shape;
  mlir::MLIRContext context;
  CacheDesc cache;
  AttendSpec spec;
  std::unique_ptr<test::LoadedKernels> kernels;
  KernelFn attendFn = nullptr, combineFn = nullptr;
  std::vector<Item> items;
  int64_t splits = 1;
  std::vector<uint8_t> pages;
  std::vector<int32_t> table;
  std::vector<std::vector<float>> queries;
  std::vector<float> acc, max, sum, out;
  std::vector<std::vector<float>> scratch; ///< per worker
};

} // namespace attnc::bench

#endif // ATTNC_BENCH_ATTENDRUN_H
