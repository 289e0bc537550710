//===- faults_fixture.h - one small graph on everything that runs it --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A graph is compiled once, in this process, for the CPU and for the reference
// executor. A Session feeds either one step by step, with sequences that the
// test starts, grows and drops; with OwnPages the test says what lies where.
// Where answers are known by hand the graphs use zero queries: every visible
// position weighs the same, and the output is the mean of the visible values.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_TEST_UNIT_FAULTS_FIXTURE_H
#define ATTNC_TEST_UNIT_FAULTS_FIXTURE_H

#include "dialect/Kv/Reference/ReferenceExecutor.h"
#include "runtime/Run.h"
#include "runtime/Sequences.h"
#include "test/unit/runtime_files.h"
#include "tools/attnc/Backends.h"
#include "tools/attnc/CompileArtifact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace attnc::test {

/// Tensors that a test wrote.
class GivenWeights : public WeightSource {
public:
  std::map<std::string, std::vector<float>> tensors;

  const float *get(const std::string &name, const std::vector<int64_t> &shape,
                   std::string &error) override {
    auto it = tensors.find(name);
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    if (it != tensors.end() && int64_t(it->second.size()) == count)
      return it->second.data();
    error = "the test has no tensor '" + name + "' of this shape";
    return nullptr;
  }
};

/// Numbers that differ but repeat in every run.
inline std::vector<float> someNumbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = float(int(random() % 2001) - 1000) / 1000;
  return numbers;
}

/// The reference executor as a backend of sessions.
class ReferenceSteps : public StepBackend {
public:
  explicit ReferenceSteps(std::unique_ptr<mlir::kv::ReferenceExecutor> executor)
      : executor(std::move(executor)) {}
  int64_t hidden() const override { return executor->hidden(); }
  const std::vector<CacheDesc> &caches() const override { return executor->caches(); }
  std::string step(StepBatch &batch, TraceSink *) override { return executor->step(batch); }

private:
  std::unique_ptr<mlir::kv::ReferenceExecutor> executor;
};

/// A graph with its weights, compiled.
class CompiledGraph {
public:
  CompiledGraph(const std::string &text, std::map<std::string, std::vector<float>> tensors,
                std::map<std::string, std::string> plan = {}) {
    auto given = std::make_unique<GivenWeights>();
    given->tensors = std::move(tensors);
    work.weights = std::move(given);
    error = compile(text, std::move(plan));
  }

  /// "cpu" and "reference".
  std::map<std::string, std::unique_ptr<StepBackend>> backends;
  std::string error;

  /// What the interpreter makes of rows that are one sequence.
  std::vector<float> interpret(const std::vector<float> &rows) {
    work.input.hidden = backends.at("cpu")->hidden();
    work.input.tokens = int64_t(rows.size()) / work.input.hidden;
    work.input.rows = rows;
    work.input.lengths = {work.input.tokens};
    Result<RunResult> result = interpretGraph(*compilation, work);
    if (!result)
      ADD_FAILURE() << result.error();
    return result ? result->hidden : std::vector<float>{};
  }

private:
  std::string compile(const std::string &text, std::map<std::string, std::string> plan) {
    Invocation invocation;
    invocation.plan = std::move(plan);
    auto made = Compilation::create(folder.write("graph.mlir", text), invocation, "exact");
    if (!made)
      return made.error();
    compilation = std::move(*made);
    std::string path = folder.path("artifact");
    if (std::string failed = compileArtifact(*compilation, {"cpu"}, path); !failed.empty())
      return failed;
    Result<LoadedArtifact> artifact = loadArtifact(path, *work.weights);
    if (!artifact)
      return artifact.error();
    auto reference = mlir::kv::ReferenceExecutor::create(compilation->step(), *work.weights);
    if (!reference)
      return reference.error();
    backends["cpu"] = std::move(artifact->executor);
    backends["reference"] = std::make_unique<ReferenceSteps>(std::move(*reference));
    return "";
  }

  Folder folder;
  Workload work;
  std::unique_ptr<Compilation> compilation;
};

/// What a small graph varies: its source, the queries (0: uniform), a sink.
struct SmallGraph {
  std::string visibility = "causal";
  std::vector<float> query = std::vector<float>(64);
  std::vector<float> sinks = {}; ///< of two heads, or none
  std::map<std::string, std::string> plan = {};
};

/// Two heads of four channels over one key head; with queries 0, the uniform
/// graph. A row whose channels are all v has the value v.
inline std::unique_ptr<CompiledGraph> compileSmall(const SmallGraph &graph) {
  std::string text = R"(
attn.weight @q : 8x8
attn.weight @k : 4x8
attn.weight @v : 4x8
attn.weight @o : 8x8
attn.weight @sinks : 2
attn.model @small(%x: !attn.stream<8>) -> !attn.stream<8> {
  %q = attn.linear %x, @q : (!attn.stream<8>) -> !attn.stream<2x4>
  %k = attn.linear %x, @k : (!attn.stream<8>) -> !attn.stream<1x4>
  %v = attn.linear %x, @v : (!attn.stream<8>) -> !attn.stream<1x4>
  %a = attn.attend scale 0.5 )" +
                     std::string(graph.sinks.empty() ? "" : "sink @sinks ") + graph.visibility +
                     R"( (%q, %k : !attn.stream<2x4>, !attn.stream<1x4>)
      values %v : !attn.stream<1x4> -> !attn.stream<2x4>
  %y = attn.linear %a, @o : (!attn.stream<2x4>) -> !attn.stream<8>
  attn.return %y : !attn.stream<8>
}
)";
  std::vector<float> value(32), output(64);
  for (size_t i = 0; i < 8; ++i)
    output[i * 9] = 1;
  for (size_t i = 0; i < 4; ++i)
    value[i * 9] = 1;
  return std::make_unique<CompiledGraph>(
      text,
      std::map<std::string, std::vector<float>>{{"q", graph.query},
                                                {"k", someNumbers(32, 1)},
                                                {"v", value},
                                                {"o", output},
                                                {"sinks", graph.sinks}},
      graph.plan);
}

/// The mean of `value` over the newest `window` positions up to `position`; 0:
/// over all.
inline double meanOfVisible(int64_t position, int64_t window,
                            const std::function<double(int64_t)> &value) {
  int64_t from = window ? std::max<int64_t>(0, position + 1 - window) : 0;
  double sum = 0;
  for (int64_t p = from; p <= position; ++p)
    sum += value(p);
  return sum / double(position + 1 - from);
}

/// Sequences on one backend. Fresh pages are full of NaN.
class Session {
public:
  explicit Session(StepBackend &backend)
      : backend(backend), sequences(backend.caches(), {true, {}}) {}

  /// Token p of a sequence has the value valueOf(sequence, p) in all channels.
  std::function<double(int64_t sequence, int64_t position)> valueOf =
      [](int64_t, int64_t position) { return double(position); };

  /// One step; the outputs' first channels, row by row. Output rows are NaN
  /// before, so that a row that is left out shows.
  std::vector<float> step(const std::vector<Growth> &growth) {
    int64_t hidden = backend.hidden();
    std::vector<float> in, out;
    StepBatch batch;
    if (std::string error = sequences.reserve(growth); !error.empty()) {
      ADD_FAILURE() << error;
      return {};
    }
    for (const Growth &one : growth) {
      batch.sequences.push_back(sequences.slice(one.sequence, one.tokens, batch.tokens));
      batch.tokens += one.tokens;
      for (int64_t i = 0; i < one.tokens; ++i)
        in.insert(in.end(), size_t(hidden),
                  float(valueOf(one.sequence, sequences.length(one.sequence) + i)));
    }
    out.assign(in.size(), std::numeric_limits<float>::quiet_NaN());
    batch.caches = sequences.storage();
    batch.input = in.data();
    batch.output = out.data();
    if (std::string error = backend.step(batch, nullptr); !error.empty()) {
      ADD_FAILURE() << error;
      return {};
    }
    sequences.commit(growth);
    std::vector<float> first;
    for (size_t i = 0; i < out.size(); i += size_t(hidden))
      first.push_back(out[i]);
    rows = std::move(out);
    return first;
  }

  /// Feeds `tokens` more of `sequence` and expects means over `window`.
  void expectMeans(int64_t sequence, int64_t tokens, int64_t window) {
    int64_t start = sequences.length(sequence);
    std::vector<float> got = step({{sequence, tokens}});
    ASSERT_EQ(int64_t(got.size()), tokens);
    for (int64_t i = 0; i < tokens; ++i) {
      double want = meanOfVisible(start + i, window,
                                  [&](int64_t p) { return valueOf(sequence, p); });
      ASSERT_NEAR(got[size_t(i)], want, 1e-5 * (1 + std::abs(want)))
          << "sequence " << sequence << " position " << start + i;
    }
  }

  StepBackend &backend;
  Sequences sequences;
  std::vector<float> rows; ///< all outputs of the last step
};

/// Some new tokens of a sequence, by the value of each.
struct Slice {
  int64_t start = 0;
  std::vector<float> values;
  std::vector<int32_t> table;
};

/// Pages of the one cache of a backend.
class OwnPages {
public:
  OwnPages(StepBackend &backend, int64_t count, uint8_t fill)
      : backend(backend), cache(backend.caches().at(0)),
        bytes(size_t(count * cache.pageBytes), fill) {}

  /// The rows of the output; NaN where the step left one out.
  std::vector<float> step(const std::vector<Slice> &slices) {
    std::vector<float> in;
    StepBatch batch;
    for (const Slice &slice : slices) {
      batch.sequences.push_back(
          {slice.start, int64_t(slice.values.size()), batch.tokens, {slice.table.data()}});
      batch.tokens += int64_t(slice.values.size());
      for (float value : slice.values)
        in.insert(in.end(), size_t(backend.hidden()), value);
    }
    std::vector<float> out(in.size(), std::numeric_limits<float>::quiet_NaN());
    batch.caches = {{bytes.data(), cache.pageBytes}};
    batch.input = in.data();
    batch.output = out.data();
    EXPECT_EQ(backend.step(batch, nullptr), "");
    return out;
  }

  /// Puts the values of one segment, kept in f32, into an entry.
  void write(int32_t page, int64_t slot, size_t segment, const std::vector<float> &values) {
    ASSERT_EQ(cache.segments[segment].bytes(), int64_t(values.size() * 4));
    const SegmentPlace &place = cache.places[segment];
    std::memcpy(bytes.data() + page * cache.pageBytes + place.data + slot * place.dataStride,
                values.data(), values.size() * 4);
  }

private:
  StepBackend &backend;
  const CacheDesc &cache;
  std::vector<uint8_t> bytes;
};

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_FAULTS_FIXTURE_H
