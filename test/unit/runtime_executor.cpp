//===- runtime_executor.cpp - programs run right under every schedule -------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Schedule.h"
#include "runtime/ThreadPool.h"
#include "runtime/Weights.h"
#include "runtime_kernels.h"

#include <gtest/gtest.h>

using namespace attnc;
using namespace attnc::test;

namespace {

std::unique_ptr<CpuExecutor> makeExecutor(const TinyOptions &options,
                                          WeightSource &weights,
                                          ThreadPool *pool = nullptr) {
  Program program = tinyProgram(options);
  EXPECT_EQ(checkProgram(program, "program"), "");
  ExecutorOptions settings;
  settings.pool = pool;
  settings.poison = true;
  auto executor = CpuExecutor::create(
      std::move(program), std::make_shared<TestKernels>(), weights, settings);
  EXPECT_TRUE(bool(executor)) << (executor ? "" : executor.error());
  return executor ? std::move(*executor) : nullptr;
}

double distance(const std::vector<float> &found,
                const std::vector<double> &expected) {
  double error = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (double(found[i]) - expected[i]) * (double(found[i]) - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

/// Runs `input` and compares with the whole-sequence reference.
void expectRight(const TinyOptions &options, const Input &input,
                 const std::string &schedule) {
  RandomWeights weights(7);
  auto executor = makeExecutor(options, weights);
  ASSERT_TRUE(executor);
  Result<RunResult> result = runSchedule(
      *executor, input, *parseSchedule(schedule), {true, true});
  ASSERT_TRUE(bool(result)) << result.error();
  std::vector<double> expected;
  int64_t row = 0;
  for (int64_t length : input.lengths) {
    auto part = tinyReference(weights, input.row(row), length, options);
    expected.insert(expected.end(), part.begin(), part.end());
    row += length;
  }
  EXPECT_LE(distance(result->hidden, expected), 1e-6)
      << schedule << " plan " << int(options.plan) << " window "
      << options.window << " page " << options.pageEntries << " rows "
      << options.maxRows << " split " << options.splitEntries;
  // The trace is what was added to the input.
  std::vector<float> sum = result->traces["layer0.attention"].rows;
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] += input.rows[i];
  EXPECT_LE(distance(sum, expected), 1e-6) << schedule;
}

const char *const schedules[] = {"prefill", "decode",  "chunk:1", "chunk:5",
                                 "mixed:1", "mixed:2", "mixed:3", "batch:1",
                                 "batch:2", "batch:3", "batch:4"};

TEST(Executor, PagedCacheUnderEverySchedule) {
  Input input = *openInput("random:3:37", hidden);
  for (const char *schedule : schedules)
    for (int64_t page : {1, 4, 64}) {
      TinyOptions options;
      options.pageEntries = page;
      options.sink = page == 4;
      expectRight(options, input, schedule);
    }
}

TEST(Executor, AnyTileAndSplit) {
  Input input = *openInput("random:4:70", hidden);
  for (int64_t rows : {1, 2, 3, 8, 64})
    for (int64_t split : {1, 7, 1000})
      for (const char *schedule : {"prefill", "decode", "mixed:5"}) {
        TinyOptions options;
        options.maxRows = rows;
        options.splitEntries = split;
        expectRight(options, input, schedule);
      }
}

TEST(Executor, WindowOverPages) {
  Input input = *openInput("random:5:40", hidden);
  for (const char *schedule : schedules) {
    TinyOptions options;
    options.window = 6;
    expectRight(options, input, schedule);
  }
}

TEST(Executor, RingUnderEverySchedule) {
  Input input = *openInput("random:6:41", hidden);
  for (const char *schedule : schedules)
    for (int64_t window : {1, 2, 6, 50}) {
      TinyOptions options;
      options.plan = Plan::Ring;
      options.window = window;
      options.sink = window == 2;
      expectRight(options, input, schedule);
    }
}

TEST(Executor, ChunkLongerThanTheRing) {
  Input input = *openInput("random:8:30", hidden);
  TinyOptions options;
  options.plan = Plan::Ring;
  options.window = 4;
  for (const char *schedule : {"prefill", "chunk:4", "chunk:5", "chunk:11"})
    expectRight(options, input, schedule);
}

TEST(Executor, AppendSkipsRowsThatTheRingWouldLose) {
  RandomWeights weights(7);
  TinyOptions options;
  options.plan = Plan::Ring;
  options.window = 4;
  auto executor = makeExecutor(options, weights);
  ASSERT_TRUE(bool(runSchedule(*executor, *openInput("random:3:30", hidden), {})));
  // 4 of 30 rows, 2 to an item.
  EXPECT_EQ(executor->stats().at("append_kv").items, 2);
}

TEST(Executor, TwoSourcesMayCutTheirTokensDifferently) {
  Input input = *openInput("random:13:40", hidden);
  for (int64_t cacheRows : {2, 6})
    for (const char *schedule : schedules) {
      TinyOptions options;
      options.plan = Plan::Ring;
      options.window = 6;
      options.cacheRows = cacheRows;
      expectRight(options, input, schedule);
    }
}

TEST(Executor, RowThatSeesNothingIsZero) {
  RandomWeights weights(7);
  TinyOptions options;
  options.plan = Plan::Ring;
  options.window = 3;
  options.threshold = 1;
  Program program = tinyProgram(options);
  // Without the chunk's own rows, the first chunk sees nothing.
  auto &list = program.prefill.launches;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].kernel == "attend_dense")
      list.erase(list.begin() + int64_t(i));
  auto executor = CpuExecutor::create(
      program, std::make_shared<TestKernels>(), weights);
  Input input = *openInput("random:3:7", hidden);
  Result<RunResult> result =
      runSchedule(**executor, input, *parseSchedule("chunk:4"), {true, true});
  ASSERT_TRUE(bool(result)) << result.error();
  const std::vector<float> &added = result->traces["layer0.attention"].rows;
  for (size_t i = 0; i < 4 * hidden; ++i)
    EXPECT_EQ(added[i], 0);
  EXPECT_NE(added[4 * hidden], 0); // position 4 sees 2 and 3
  EXPECT_EQ(added[6 * hidden], 0) << "position 6 sees no entry before 4";
}

TEST(Executor, LayersReuseOneState) {
  RandomWeights weights(7);
  Input input = *openInput("random:14:21", hidden);
  for (Plan plan : {Plan::Paged, Plan::Ring, Plan::Rebuild})
    for (const char *schedule : {"prefill", "decode", "mixed:1"}) {
      TinyOptions options;
      options.plan = plan;
      options.window = plan == Plan::Ring ? 5 : 0;
      options.layers = 3;
      auto executor = makeExecutor(options, weights);
      Result<RunResult> result = runSchedule(
          *executor, input, *parseSchedule(schedule), {true, true});
      ASSERT_TRUE(bool(result)) << result.error();
      EXPECT_EQ(result->traces.size(), 3u);
      std::vector<float> rows = input.rows;
      std::vector<double> expected;
      for (int layer = 0; layer < options.layers; ++layer) {
        expected = tinyReference(weights, rows.data(), input.tokens, options);
        rows.assign(expected.begin(), expected.end());
      }
      EXPECT_LE(distance(result->hidden, expected), 1e-6) << schedule;
    }
}

TEST(Executor, RebuiltRowsUnderEverySchedule) {
  Input input = *openInput("random:9:33", hidden);
  for (const char *schedule : schedules)
    for (int64_t window : {0, 5}) {
      TinyOptions options;
      options.plan = Plan::Rebuild;
      options.window = window;
      expectRight(options, input, schedule);
    }
}

TEST(Executor, RebuildTakesSeveralTiles) {
  Input input = *openInput("random:10:600", hidden);
  TinyOptions options;
  options.plan = Plan::Rebuild;
  for (const char *schedule : {"prefill", "chunk:200", "mixed:1"})
    expectRight(options, input, schedule);
}

TEST(Executor, SeveralSequencesInOneInput) {
  Input input = *openInput("random:11:30", hidden);
  input.lengths = {1, 12, 2, 15};
  for (const char *schedule : schedules)
    for (Plan plan : {Plan::Paged, Plan::Ring, Plan::Rebuild}) {
      TinyOptions options;
      options.plan = plan;
      options.window = plan == Plan::Ring ? 5 : 0;
      expectRight(options, input, schedule);
    }
}

TEST(Executor, ThreadsCannotBeSeen) {
  RandomWeights weights(7);
  Input input = *openInput("random:12:90", hidden);
  for (Plan plan : {Plan::Paged, Plan::Ring, Plan::Rebuild})
    for (const char *schedule : {"prefill", "decode", "batch:2"}) {
      TinyOptions options;
      options.plan = plan;
      options.window = plan == Plan::Ring ? 20 : 0;
      std::vector<std::vector<float>> results;
      for (int threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        auto executor = makeExecutor(options, weights, &pool);
        results.push_back(
            runSchedule(*executor, input, *parseSchedule(schedule))->hidden);
      }
      EXPECT_EQ(results[0], results[1]);
      EXPECT_EQ(results[0], results[2]);
    }
}

TEST(Executor, NaNInTheOutputIsLocated) {
  RandomWeights weights(7);
  auto executor = makeExecutor({}, weights);
  Input input = *openInput("random:3:9", hidden);
  input.rows[5 * hidden + 2] = NAN;
  Result<RunResult> result = runSchedule(*executor, input, {});
  ASSERT_FALSE(bool(result));
  EXPECT_NE(result.error().find("NaN in sequence 0 of the batch at position 5"),
            std::string::npos)
      << result.error();
}

TEST(Executor, MissingKernelIsNamed) {
  RandomWeights weights(7);
  Program program = tinyProgram({});
  program.kernels[0].name = "project_z";
  program.decode.launches[1].kernel = "project_z";
  auto executor = CpuExecutor::create(
      program, std::make_shared<TestKernels>(), weights);
  ASSERT_FALSE(bool(executor));
  EXPECT_EQ(executor.error(),
            "the kernel project_z is not in the library; expected it there");
}

TEST(Executor, KernelForAnotherMachineIsNamed) {
  RandomWeights weights(7);
  Program program = tinyProgram({});
  for (KernelDesc &kernel : program.kernels)
    kernel.params.erase("max_rows");
  EXPECT_EQ(checkProgram(program, "program"), "");
  auto executor = CpuExecutor::create(
      program, std::make_shared<TestKernels>(), weights);
  ASSERT_FALSE(bool(executor));
  EXPECT_EQ(executor.error(), "the kernel attend_cache says no max_rows; "
                              "expected a kernel for the CPU");
}

TEST(Executor, OptionalExternAddsZero) {
  RandomWeights weights(7);
  TinyOptions options;
  Program program = tinyProgram(options);
  Launch call;
  call.op = "extern";
  call.name = "mlp";
  call.optional = true;
  call.in = {program.decode.output};
  call.out = {program.decode.launches.back().in[1]}; // the delta buffer
  Launch add = program.decode.launches.back();
  for (Body *body : {&program.decode, &program.prefill}) {
    body->launches.push_back(call);
    body->launches.push_back(add);
  }
  Input input = *openInput("random:3:6", hidden);
  auto run = [&](ExecutorOptions settings) {
    auto executor = CpuExecutor::create(
        program, std::make_shared<TestKernels>(), weights, settings);
    return runSchedule(**executor, input, {})->hidden;
  };
  std::vector<float> plain = run({});
  EXPECT_LE(distance(plain, tinyReference(weights, input.row(0), 6, options)),
            1e-6);
  ExecutorOptions doubled;
  doubled.externs["mlp"] = [](int64_t tokens, int64_t width, const float *x,
                              int64_t, float *y) {
    std::copy_n(x, tokens * width, y);
    return std::string();
  };
  std::vector<float> twice = run(doubled);
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_FLOAT_EQ(twice[i], 2 * plain[i]);

  program.decode.launches[program.decode.launches.size() - 2].optional = false;
  auto executor = CpuExecutor::create(
      program, std::make_shared<TestKernels>(), weights);
  ASSERT_FALSE(bool(executor));
  EXPECT_NE(executor.error().find("external function mlp"), std::string::npos);
}

TEST(Executor, CountsVisibleAndLoadedBytes) {
  RandomWeights weights(7);
  TinyOptions options;
  options.splitEntries = 1000;
  auto executor = makeExecutor(options, weights);
  Input input = *openInput("random:3:10", hidden);
  ASSERT_TRUE(bool(runSchedule(*executor, input, *parseSchedule("decode"))));
  const KernelStats &stats = executor->stats().at("attend_cache");
  EXPECT_EQ(stats.launches, 10);
  EXPECT_EQ(stats.bytesVisible, 55 * rowBytes);
  EXPECT_EQ(stats.bytesLoaded, 55 * rowBytes);
  EXPECT_EQ(stats.flopsUseful, 55 * qHeads * 2 * 2 * dim);
}

} // namespace
