//===- Executor.cpp - one step ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/ExecutorImpl.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace attnc {

/// Complains about a batch that does not fit the program.
static std::string checkBatch(const StepBatch &batch, const Program &program) {
  if (batch.caches.size() != program.caches.size())
    return "the batch brings " + std::to_string(batch.caches.size()) +
           " caches; expected " + std::to_string(program.caches.size());
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const SequenceSlice &slice = batch.sequences[i];
    if (slice.start < 0 || slice.count < 0 || slice.row < 0 ||
        slice.row > batch.tokens - slice.count ||
        slice.tables.size() != program.caches.size())
      return "sequence " + std::to_string(i) +
             " of the batch has rows or tables out of range";
  }
  return "";
}

void CpuExecutor::Impl::prepareAxis(Axis &axis,
                                    const std::vector<int64_t> &sizes,
                                    const std::vector<bool> &tables) {
  axis.buffers.resize(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t bytes;
    if (__builtin_mul_overflow(sizes[i] * 4, std::max<int64_t>(axis.tokens, 1),
                               &bytes))
      throw std::bad_alloc();
    void *memory = axis.buffers[i].reserve(bytes);
    if (options.poison && bytes)
      std::memset(memory, 0xFF, size_t(bytes));
  }
  axis.cosSin.resize(tables.size());
  for (size_t table = 0; table < tables.size(); ++table) {
    if (!tables[table])
      continue;
    const std::vector<double> &all = frequencies[table];
    double amplitude = program.tables[table].amplitude;
    int64_t pairs = int64_t(all.size());
    auto *to = static_cast<float *>(
        axis.cosSin[table].reserve(axis.tokens * pairs * 8));
    pool->parallelFor(axis.tokens, [&](int64_t token, int) {
      for (int64_t pair = 0; pair < pairs; ++pair) {
        Rotation r = rotation(axis.positions[size_t(token)],
                              all[size_t(pair)], amplitude);
        to[(token * pairs + pair) * 2] = float(r.cos);
        to[(token * pairs + pair) * 2 + 1] = float(r.sin);
      }
    });
  }
}

std::string CpuExecutor::Impl::runLaunch(const LoadedLaunch &loaded,
                                         Frame &frame) {
  const std::string &op = loaded.launch->op;
  if (loaded.stats)
    ++loaded.stats->launches;
  if (op == "project")
    runProject(loaded, frame, frame.tokens);
  else if (op == "append")
    runAppend(loaded, frame);
  else if (op == "attend")
    runAttend(loaded, frame);
  else if (op == "combine")
    runCombine(loaded, frame);
  else if (op == "rebuild")
    runRebuild(loaded, frame);
  else if (op == "extern")
    return runExtern(loaded, frame);
  else if (op == "trace")
    runTrace(loaded, frame);
  else
    runTokens(loaded, frame, frame.tokens);
  return "";
}

/// Copies a row of `view` to or from `hidden` consecutive values.
template <typename Fn>
static void eachHead(const View &view, float *buffer, int64_t token, Fn fn) {
  float *row = buffer + view.offset + token * view.tokenStride;
  for (int64_t head = 0; head < view.heads; ++head)
    fn(row + head * view.headStride, head * view.inner);
}

/// Where the first value that is not finite lies, as a sentence.
static std::string findBad(const StepBatch &batch, int64_t hidden,
                           const std::vector<size_t> &members) {
  for (size_t member : members) {
    const SequenceSlice &slice = batch.sequences[member];
    for (int64_t i = 0; i < slice.count; ++i) {
      const float *row = batch.output + (slice.row + i) * hidden;
      for (int64_t channel = 0; channel < hidden; ++channel)
        if (!std::isfinite(row[channel]))
          return "the output is " +
                 std::string(std::isnan(row[channel]) ? "NaN" : "infinite") +
                 " in sequence " + std::to_string(member) +
                 " of the batch at position " +
                 std::to_string(slice.start + i) + ", channel " +
                 std::to_string(channel) + "; expected finite numbers";
    }
  }
  return "";
}

std::string
CpuExecutor::Impl::runBody(const LoadedBody &loaded, Frame &frame,
                           StepBatch &batch,
                           const std::vector<size_t> &members) {
  const Body &body = *loaded.body;
  frame.loaded = &loaded;
  frame.batch = &batch;
  frame.shares.clear();
  frame.tokens.tokens = 0;
  frame.tokens.positions.clear();
  for (size_t member : members) {
    const SequenceSlice &slice = batch.sequences[member];
    frame.shares.push_back({&slice, frame.tokens.tokens});
    for (int64_t i = 0; i < slice.count; ++i)
      frame.tokens.positions.push_back(slice.start + i);
    frame.tokens.tokens += slice.count;
  }
  prepareAxis(frame.tokens, body.buffers, loaded.tables);
  frame.states.resize(body.states.size());
  for (StateRun &state : frame.states) {
    state.slots.assign(size_t(frame.tokens.tokens), 0);
    state.room = 0;
  }

  int64_t hidden = program.hidden;
  for (const Share &share : frame.shares)
    for (int64_t i = 0; i < share.slice->count; ++i)
      eachHead(body.input, frame.buffer(body.input), share.first + i,
               [&](float *head, int64_t at) {
                 std::copy_n(batch.input + (share.slice->row + i) * hidden + at,
                             body.input.inner, head);
               });
  for (const LoadedLaunch &launch : loaded.launches)
    if (std::string error = runLaunch(launch, frame); !error.empty())
      return error;
  for (const Share &share : frame.shares)
    for (int64_t i = 0; i < share.slice->count; ++i)
      eachHead(body.output, frame.buffer(body.output), share.first + i,
               [&](const float *head, int64_t at) {
                 std::copy_n(head, body.output.inner,
                             batch.output + (share.slice->row + i) * hidden + at);
               });
  return findBad(batch, hidden, members);
}

std::string CpuExecutor::Impl::step(StepBatch &batch, TraceSink *trace) {
  if (std::string error = checkBatch(batch, program); !error.empty())
    return error;
  std::vector<size_t> few, many;
  for (size_t i = 0; i < batch.sequences.size(); ++i)
    if (int64_t count = batch.sequences[i].count)
      (count < program.prefillThreshold ? few : many).push_back(i);
  decodeFrame.trace = prefillFrame.trace = trace;
  if (!few.empty())
    if (std::string error = runBody(decode, decodeFrame, batch, few);
        !error.empty())
      return error;
  if (!many.empty())
    return runBody(prefill, prefillFrame, batch, many);
  return "";
}

std::string CpuExecutor::step(StepBatch &batch, TraceSink *trace) {
  try {
    return impl->step(batch, trace);
  } catch (const std::bad_alloc &) {
    return "the step of " + std::to_string(batch.tokens) +
           " tokens does not fit the memory; expected a smaller batch";
  }
}

} // namespace attnc
