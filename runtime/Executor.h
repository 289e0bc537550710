//===- Executor.h - runs a compiled program on the CPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Takes the launch lists of a Program (formats/Program.h), resolves kernels,
// packs weights once, and runs steps: splits a batch into its decode-like and
// its prefill-like sequences, walks the list of each, and cuts every launch
// into work items for the thread pool.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_RUNTIME_EXECUTOR_H
#define ATTNC_RUNTIME_EXECUTOR_H

#include "formats/KernelAbi.h"
#include "formats/Manifest.h"
#include "formats/Program.h"
#include "formats/Result.h"
#include "formats/WeightSource.h"
#include "runtime/StepBackend.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace attnc {

class ThreadPool;

/// Finds kernels by name: a loaded library, or functions linked into a test.
class KernelResolver {
public:
  virtual ~KernelResolver() = default;
  virtual KernelFn find(const std::string &name) = 0;
};

/// The shared object of an artifact. Checks its checksum, and that this
/// machine has the CPU features it needs, before it is opened.
Result<std::unique_ptr<KernelResolver>>
openKernelLibrary(const std::string &folder, const Manifest &manifest,
                  const std::string &target = "");

/// A function supplied for an attn.extern: y [tokens, width] from x. Returns an
/// error text, empty on success.
using ExternFn = std::function<std::string(
    int64_t tokens, int64_t inWidth, const float *x, int64_t outWidth, float *y)>;

struct ExecutorOptions {
  ThreadPool *pool = nullptr; ///< null: the default pool
  std::map<std::string, ExternFn> externs;
  bool poison = false; ///< fill buffers with NaN before each step
};

/// Counts of one kernel, for --stats.
struct KernelStats {
  int64_t launches = 0, items = 0;
  /// Rows handed to items, times their bytes; a key head's item counts its
  /// share of a row.
  int64_t bytesLoaded = 0;
  int64_t bytesVisible = 0; ///< distinct rows that some query of a sequence sees
  int64_t flopsUseful = 0;
};

class CpuExecutor : public StepBackend {
public:
  /// `program` must have passed checkProgram (parseManifest does it).
  static Result<std::unique_ptr<CpuExecutor>>
  create(Program program, std::shared_ptr<KernelResolver> kernels,
         WeightSource &weights, ExecutorOptions options = {});
  ~CpuExecutor() override;

  int64_t hidden() const override;
  const std::vector<CacheDesc> &caches() const override;
  std::string step(StepBatch &batch, TraceSink *trace) override;

  /// Counts since creation, by kernel name.
  const std::map<std::string, KernelStats> &stats() const;
  /// "stats KERNEL launches N ..." lines, one per kernel that ran.
  std::string statsText() const;

  struct Impl; ///< the executor's own files see inside

private:
  explicit CpuExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace attnc

#endif // ATTNC_RUNTIME_EXECUTOR_H
