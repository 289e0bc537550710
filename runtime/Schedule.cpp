//===- Schedule.cpp - in which steps a prompt is processed ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Schedule.h"
#include "runtime/Sequences.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace attnc {

static constexpr std::string_view expected =
    "expected prefill, decode, chunk:K, mixed:SEED or batch:SEED";

Result<Schedule> parseSchedule(std::string_view text) {
  Error error{"found the schedule '" + std::string(text) + "'; " +
              std::string(expected)};
  size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  Schedule schedule;
  if (name == "prefill" || name == "decode") {
    schedule.kind = name == "prefill" ? Schedule::Kind::Prefill
                                      : Schedule::Kind::Decode;
    if (colon != text.npos)
      return error;
    return schedule;
  }
  if (colon == text.npos)
    return error;
  std::string_view number = text.substr(colon + 1);
  uint64_t value = 0;
  const char *end = number.data() + number.size();
  auto [at, status] = std::from_chars(number.data(), end, value);
  if (status != std::errc() || at != end)
    return error;
  if (name == "chunk") {
    if (value < 1 || value > uint64_t(std::numeric_limits<int32_t>::max()))
      return error;
    schedule.kind = Schedule::Kind::Chunk;
    schedule.chunk = int64_t(value);
    return schedule;
  }
  if (name != "mixed" && name != "batch")
    return error;
  schedule.kind =
      name == "mixed" ? Schedule::Kind::Mixed : Schedule::Kind::Batch;
  schedule.seed = value;
  return schedule;
}

std::string stringify(const Schedule &schedule) {
  switch (schedule.kind) {
  case Schedule::Kind::Prefill:
    return "prefill";
  case Schedule::Kind::Decode:
    return "decode";
  case Schedule::Kind::Chunk:
    return "chunk:" + std::to_string(schedule.chunk);
  case Schedule::Kind::Mixed:
    return "mixed:" + std::to_string(schedule.seed);
  case Schedule::Kind::Batch:
    return "batch:" + std::to_string(schedule.seed);
  }
  return "";
}

namespace {
/// SplitMix64: the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t x = state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  /// A number from `low` to `high`, both included.
  int64_t range(int64_t low, int64_t high) {
    return low + int64_t(next() % uint64_t(high - low + 1));
  }
  bool chance(int percent) { return range(1, 100) <= percent; }

private:
  uint64_t state;
};

/// A sequence in flight.
struct Running {
  int64_t handle = 0;
  int64_t source = 0; ///< its first row in the input
  int64_t length = 0; ///< tokens it will process
  int64_t done = 0;
  int64_t target = -1; ///< its first row in the result; -1: not written out
};

class Driver {
public:
  Driver(StepBackend &backend, const Input &input, const Schedule &schedule,
         const ScheduleOptions &options)
      : backend(backend), input(input), schedule(schedule), options(options),
        random(schedule.seed),
        sequences(backend.caches(), {options.poison, {}}) {}

  std::string run();
  RunResult result;

private:
  class Sink;
  int64_t chunkOf(const Running &running);
  void churnGuests();
  std::string step();
  void collect(const std::vector<std::pair<Running *, int64_t>> &work);
  bool ownDone() const {
    return std::all_of(own.begin(), own.end(),
                       [](auto &one) { return one.done == one.length; });
  }

  StepBackend &backend;
  const Input &input;
  const Schedule &schedule;
  const ScheduleOptions &options;
  Random random;
  Sequences sequences;
  std::vector<Running> own, guests;
  size_t guestLimit = 0;
  std::vector<float> rowsIn, rowsOut;
  /// Row of the batch -> row of the result, or -1.
  std::vector<int64_t> targets;
};

/// Puts traced rows where their tokens belong.
class Driver::Sink : public TraceSink {
public:
  explicit Sink(Driver &driver) : driver(driver) {}
  void rows(const std::string &name, int64_t row, int64_t count, int64_t width,
            const float *data, int64_t stride) override {
    RunResult::Trace &trace = driver.result.traces[name];
    if (trace.rows.empty()) {
      // Rows that nobody publishes stay NaN, so a comparison finds them.
      trace.width = width;
      trace.rows.assign(size_t(driver.input.tokens * width), NAN);
    }
    for (int64_t i = 0; i < count; ++i)
      if (int64_t to = driver.targets[size_t(row + i)]; to >= 0)
        std::copy_n(data + i * stride, std::min(width, trace.width),
                    trace.rows.data() + to * trace.width);
  }

private:
  Driver &driver;
};

/// How many tokens of a sequence the next step takes; 0: it pauses.
int64_t Driver::chunkOf(const Running &running) {
  int64_t left = running.length - running.done;
  switch (schedule.kind) {
  case Schedule::Kind::Prefill:
    return left;
  case Schedule::Kind::Decode:
    return std::min<int64_t>(left, 1);
  case Schedule::Kind::Chunk:
    return std::min(left, schedule.chunk);
  case Schedule::Kind::Mixed:
  case Schedule::Kind::Batch:
    break;
  }
  if (left == 0)
    return 0;
  if (schedule.kind == Schedule::Kind::Batch && random.chance(15))
    return 0;
  // Single tokens, small chunks and large ones, about equally often.
  switch (random.range(0, 2)) {
  case 0:
    return 1;
  case 1:
    return random.range(1, std::min<int64_t>(left, 6));
  default:
    return random.range(1, left);
  }
}

/// Starts and stops the sequences that share the steps of a batch schedule.
void Driver::churnGuests() {
  for (size_t i = 0; i < guests.size();) {
    if (guests[i].done < guests[i].length && !random.chance(10)) {
      ++i;
      continue;
    }
    sequences.drop(guests[i].handle);
    guests.erase(guests.begin() + int64_t(i));
  }
  while (guests.size() < guestLimit && random.chance(60)) {
    const Running &model = own[size_t(random.range(0, int64_t(own.size()) - 1))];
    Running guest;
    guest.handle = sequences.create();
    guest.source = model.source;
    guest.length = random.range(1, model.length);
    guests.push_back(guest);
  }
}

void Driver::collect(const std::vector<std::pair<Running *, int64_t>> &work) {
  int64_t tokens = 0;
  for (const auto &[running, count] : work)
    tokens += count;
  rowsIn.resize(size_t(tokens * input.hidden));
  rowsOut.assign(size_t(tokens * input.hidden), NAN);
  targets.clear();
  float *to = rowsIn.data();
  for (const auto &[running, count] : work) {
    to = std::copy_n(input.row(running->source + running->done),
                     count * input.hidden, to);
    for (int64_t i = 0; i < count; ++i)
      targets.push_back(running->target < 0
                            ? -1
                            : running->target + running->done + i);
  }
}

std::string Driver::step() {
  std::vector<std::pair<Running *, int64_t>> work;
  for (auto *group : {&own, &guests})
    for (Running &running : *group)
      if (int64_t count = chunkOf(running))
        work.emplace_back(&running, count);
  if (work.empty())
    return "";
  if (schedule.kind == Schedule::Kind::Batch)
    for (size_t i = work.size() - 1; i > 0; --i)
      std::swap(work[i], work[size_t(random.range(0, int64_t(i)))]);
  collect(work);

  std::vector<Growth> growth;
  for (const auto &[running, count] : work)
    growth.push_back({running->handle, count});
  if (std::string error = sequences.reserve(growth); !error.empty())
    return error;
  StepBatch batch;
  batch.caches = sequences.storage();
  batch.input = rowsIn.data();
  batch.output = rowsOut.data();
  for (const auto &[running, count] : work) {
    batch.sequences.push_back(
        sequences.slice(running->handle, count, batch.tokens));
    batch.sequences.back().remaining = running->length - running->done - count;
    batch.tokens += count;
  }
  Sink sink(*this);
  std::string error = backend.step(batch, options.trace ? &sink : nullptr);
  if (!error.empty())
    return error;
  for (int64_t row = 0; row < batch.tokens; ++row)
    if (int64_t to = targets[size_t(row)]; to >= 0)
      std::copy_n(rowsOut.data() + row * input.hidden, input.hidden,
                  result.hidden.data() + to * input.hidden);
  sequences.commit(growth);
  for (auto &[running, count] : work)
    running->done += count;
  ++result.steps;
  result.cacheBytes = std::max(result.cacheBytes, sequences.usedBytes());
  return "";
}

std::string Driver::run() {
  if (input.hidden != backend.hidden())
    return "the input has rows of " + std::to_string(input.hidden) +
           " channels; expected " + std::to_string(backend.hidden());
  result.hidden.assign(size_t(input.tokens * input.hidden), NAN);
  int64_t row = 0;
  for (int64_t length : input.lengths) {
    own.push_back({sequences.create(), row, length, 0, row});
    row += length;
  }
  if (schedule.kind == Schedule::Kind::Batch)
    guestLimit = size_t(random.range(2, 7));
  while (!ownDone()) {
    if (guestLimit)
      churnGuests();
    if (std::string error = step(); !error.empty())
      return error;
  }
  return "";
}
} // namespace

Result<RunResult> runSchedule(StepBackend &backend, const Input &input,
                              const Schedule &schedule,
                              const ScheduleOptions &options) {
  try {
    Driver driver(backend, input, schedule, options);
    if (std::string error = driver.run(); !error.empty())
      return Error{error};
    return std::move(driver.result);
  } catch (const std::exception &exception) {
    return Error{std::string("the run does not fit the memory (") +
                 exception.what() + "); expected a shorter input"};
  }
}

} // namespace attnc
