//===- ExecutorImpl.h - the parts of the CPU executor -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the executor's files: ExecutorLoad.cpp resolves a program once,
// Executor.cpp runs steps, Launches.cpp the launches over tokens, Attend.cpp
// those over entries, Rebuild.cpp the ones that recompute rows.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_RUNTIME_EXECUTORIMPL_H
#define ATTNC_RUNTIME_EXECUTORIMPL_H

#include "runtime/ArgList.h"
#include "runtime/Buffer.h"
#include "runtime/Executor.h"
#include "runtime/ThreadPool.h"
#include "runtime/WeightPack.h"

#include <vector>

namespace attnc {

/// A launch with everything that can be looked up once.
struct LoadedLaunch {
  const Launch *launch = nullptr;
  KernelFn fn = nullptr;
  const KernelDesc *desc = nullptr;
  KernelStats *stats = nullptr;
  const ExternFn *externFn = nullptr;
  int64_t tokenTile = 1; ///< tokens per work item
  std::vector<KernelFn> readFns;
  std::vector<LoadedLaunch> body;
};

struct LoadedBody {
  const Body *body = nullptr;
  std::vector<LoadedLaunch> launches;
  std::vector<bool> tables; ///< which rotary tables its launches use
};

/// The tokens that a launch runs over: those of the batch, or the entries of a
/// rebuilt tile.
struct Axis {
  int64_t tokens = 0;
  std::vector<int64_t> positions;      ///< of each token
  std::vector<Buffer> buffers;         ///< f32, [tokens][elements]
  std::vector<Buffer> cosSin;          ///< per table, [tokens][pairs][2]
};

/// A sequence's share of the tokens at hand.
struct Share {
  const SequenceSlice *slice = nullptr;
  int64_t first = 0; ///< its first token on the axis
};

/// A softmax state of the tokens at hand: [slot][token][head]. A token's slots
/// [0, slots[token]) hold something; the others hold garbage.
struct StateRun {
  Buffer acc, max, sum;
  std::vector<int32_t> slots;
  int32_t room = 0; ///< slots that fit the buffers
};

/// What a body works on during a step. Memory is kept between steps.
struct Frame {
  const LoadedBody *loaded = nullptr;
  const StepBatch *batch = nullptr;
  TraceSink *trace = nullptr;
  std::vector<Share> shares;
  Axis tokens, tile;
  std::vector<StateRun> states;

  float *buffer(const View &view) const {
    return (view.tile ? tile : tokens).buffers[size_t(view.buffer)].as<float>();
  }
};

/// Entries [begin, end).
struct Range {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

/// What a query at `position` sees of a sequence's source.
Range visibleEntries(const Visibility &visibility, int64_t position,
                     int64_t start, int64_t ringRows);

struct CpuExecutor::Impl {
  Program program;
  std::shared_ptr<KernelResolver> kernels;
  ExecutorOptions options;
  ThreadPool *pool = nullptr;
  std::vector<PackedWeight> weights;
  std::vector<std::vector<double>> frequencies; ///< per table
  LoadedBody decode, prefill;
  Frame decodeFrame, prefillFrame;
  std::map<std::string, KernelStats> stats;
  std::vector<Buffer> scratch; ///< per worker: a kernel's scratch, row lists

  // ExecutorLoad.cpp
  std::string load(WeightSource &source);
  std::string loadBody(const Body &body, LoadedBody &loaded);
  std::string loadLaunch(const Launch &launch, LoadedLaunch &loaded,
                         LoadedBody &body);
  KernelFn findKernel(const std::string &name, std::string &error);

  // Executor.cpp
  std::string step(StepBatch &batch, TraceSink *trace);
  std::string runBody(const LoadedBody &body, Frame &frame, StepBatch &batch,
                      const std::vector<size_t> &members);
  void prepareAxis(Axis &axis, const std::vector<int64_t> &sizes,
                   const std::vector<bool> &tables);
  std::string runLaunch(const LoadedLaunch &loaded, Frame &frame);

  // Launches.cpp
  void runTokens(const LoadedLaunch &loaded, Frame &frame, const Axis &axis);
  void runProject(const LoadedLaunch &loaded, Frame &frame, const Axis &axis);
  void runAppend(const LoadedLaunch &loaded, Frame &frame);
  std::string runExtern(const LoadedLaunch &loaded, Frame &frame);
  void runTrace(const LoadedLaunch &loaded, Frame &frame);

  // Attend.cpp
  /// Folds entries of a source into a state. With `within`, only those entries
  /// and only of share `only`, into slot 0: the tile of a rebuild.
  void runAttend(const LoadedLaunch &loaded, Frame &frame, int64_t only = -1,
                 const Range *within = nullptr);
  void runCombine(const LoadedLaunch &loaded, Frame &frame);

  // Rebuild.cpp
  void runRebuild(const LoadedLaunch &loaded, Frame &frame);

  int64_t ringRows(const Launch &launch) const;
  RowSource rowSource(const RowPart &part, const Frame &frame,
                      const Share &share, int64_t tileFirst) const;
  const float *weight(const Launch &launch, size_t number) const {
    return number < launch.weights.size()
               ? weights[size_t(launch.weights[number])].data()
               : nullptr;
  }
};

} // namespace attnc

#endif // ATTNC_RUNTIME_EXECUTORIMPL_H
