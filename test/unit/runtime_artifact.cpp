//===- runtime_artifact.cpp - artifact folders, attn-run, the C interface ---===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/Sha256.h"
#include "runtime/Input.h"
#include "runtime/Run.h"
#include "runtime/attn_runtime.h"
#include "runtime_files.h"
#include "runtime_kernels.h"

#include <gtest/gtest.h>

#include <cstdio>

using namespace attnc;
using namespace attnc::test;

namespace {

#define EXPECT_SAYS(found, part)                                               \
  EXPECT_NE(std::string(found).find(part), std::string::npos)                  \
      << std::string(found)

/// An artifact folder of the tiny program.
class Artifact : public ::testing::Test {
protected:
  void SetUp() override {
    std::filesystem::create_directories(folder.path("out/cpu"));
    std::filesystem::copy_file(ATTNC_TINY_KERNELS, folder.path("out/cpu/k.so"));
    manifest.name = "tiny";
    manifest.plan = {{"storage", "exact"}, {"page-size", "4"}};
    manifest.files = {{"cpu/k.so", "cpu", "cpu:generic",
                       *sha256File(folder.path("out/cpu/k.so")), {}}};
    manifest.program = tinyProgram(options);
    save();
  }
  void save() { folder.write("out/manifest.json", toJson(manifest)); }
  std::string dir() const { return folder.path("out"); }

  std::string loadError() {
    RandomWeights weights(1);
    Result<LoadedArtifact> loaded = loadArtifact(dir(), weights);
    return loaded ? "" : loaded.error();
  }

  /// Runs the command; stderr goes to `err`.
  int command(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    int code = runArtifactCommand(arguments, "attn-run");
    out = ::testing::internal::GetCapturedStdout();
    err = ::testing::internal::GetCapturedStderr();
    return code;
  }
  std::vector<std::string> usual(std::vector<std::string> more = {}) {
    std::vector<std::string> all = {dir(),     "--weights", "random:7",
                                    "--input", "random:3:9", "--output", result()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string result() const { return folder.path("y.safetensors"); }

  Folder folder;
  TinyOptions options;
  Manifest manifest;
  std::string out, err;
};

TEST_F(Artifact, RunWritesHiddenAndTraces) {
  ASSERT_EQ(command(usual({"--trace", "--schedule=mixed:2", "--threads", "2"})),
            0)
      << err;
  EXPECT_SAYS(out, "tiny: 9 tokens in");
  auto file = SafetensorsFile::open(result());
  ASSERT_TRUE(bool(file)) << file.error();
  RandomWeights weights(7);
  Input input = *openInput("random:3:9", hidden);
  std::vector<double> expected =
      tinyReference(weights, input.row(0), 9, options);
  std::vector<float> found = *(*file)->readF32("hidden");
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-5);
  EXPECT_EQ((*file)->find("layer0.attention")->shape,
            (std::vector<int64_t>{9, hidden}));
}

TEST_F(Artifact, StatsGoToStderr) {
  ASSERT_EQ(command(usual({"--stats", "-q"})), 0) << err;
  EXPECT_EQ(out, "");
  EXPECT_SAYS(err, "stats attend_cache launches 1 bytes_loaded ");
  EXPECT_SAYS(err, "stats norm launches 1\n");
}

TEST_F(Artifact, TokensLimitTheInput) {
  ASSERT_EQ(command(usual({"--tokens", "4"})), 0) << err;
  EXPECT_SAYS(out, "tiny: 4 tokens");
  EXPECT_EQ(command(usual({"--tokens", "10"})), 1);
  EXPECT_SAYS(err, "expected 1 to 9");
}

TEST_F(Artifact, PlanOptionsMustBeTheManifests) {
  EXPECT_EQ(command(usual({"--storage", "exact", "--page-size", "4"})), 0)
      << err;
  EXPECT_EQ(command(usual({"--page-size", "8"})), 2);
  EXPECT_SAYS(err, "--page-size: found '8'; expected '4'");
  EXPECT_EQ(command(usual({"--layers", "0:1"})), 2);
  EXPECT_EQ(command(usual({"--target", "cpu"})), 0) << err;
  EXPECT_EQ(command(usual({"--target", "cpu:generic"})), 0) << err;
  EXPECT_EQ(command(usual({"--target", "sm_90a"})), 2);
  EXPECT_SAYS(err, "found 'sm_90a'; expected one of 'cpu:generic'");
}

TEST_F(Artifact, BadUsageExitsWith2) {
  const std::pair<std::vector<std::string>, const char *> cases[] = {
      {{}, "expected one artifact folder"},
      {{dir(), dir()}, "found 2 arguments"},
      {{dir()}, "--weights is missing"},
      {{dir(), "--weights", "random:1", "--output", "y"}, "--input is missing"},
      {usual({"--backend", "reference"}), "found 'reference'"},
      {usual({"--backend", "tpu"}), "expected one of cpu"},
      {usual({"--schedule", "chunk:0"}), "found the schedule 'chunk:0'"},
      {usual({"--threads", "0"}), "from 1 to 1024"},
      {usual({"--nonsense"}), "unknown option '--nonsense'"},
      {usual({"--trace=1"}), "expected none"},
      {usual({"--input"}), "found no value"},
      {usual({"--selection", "f"}), "computes no selection"}};
  for (const auto &[arguments, message] : cases) {
    EXPECT_EQ(command(arguments), 2) << message;
    EXPECT_SAYS(err, message);
    EXPECT_EQ(err.substr(0, 17), "error: attn-run: ");
  }
  EXPECT_EQ(command({"--help"}), 0);
  EXPECT_SAYS(out, "--schedule S");
}

TEST_F(Artifact, BadInputExitsWith1AndWritesNothing) {
  EXPECT_EQ(command({"/no/such", "--weights", "random:1", "--input",
                     "random:1:2", "--output", result()}),
            1);
  EXPECT_SAYS(err, "error: /no/such/manifest.json: No such file");
  std::vector<std::string> arguments = usual();
  arguments[2] = folder.path("none");
  EXPECT_EQ(command(arguments), 1);
  arguments = usual();
  arguments[4] = "random:1";
  EXPECT_EQ(command(arguments), 1);
  arguments = usual();
  arguments[6] = folder.path("no/dir/y");
  EXPECT_EQ(command(arguments), 1);
  EXPECT_FALSE(std::filesystem::exists(result()));
}

TEST_F(Artifact, ChangedLibraryIsRefused) {
  folder.write("out/cpu/k.so", "not a library");
  EXPECT_SAYS(loadError(), "from manifest.json");
  manifest.files[0].sha256 = *sha256File(folder.path("out/cpu/k.so"));
  save();
  EXPECT_SAYS(loadError(), "expected a shared object of kernels");
  std::filesystem::remove(folder.path("out/cpu/k.so"));
  EXPECT_SAYS(loadError(), "cannot be opened");
}

TEST_F(Artifact, MissingCpuFeatureIsNamed) {
  manifest.files[0].features = {"sse4.2", "64bit", "avx9001"};
  save();
  EXPECT_SAYS(loadError(), "need 'avx9001', which this machine lacks");
}

TEST_F(Artifact, AnotherTargetIsRefused) {
  RandomWeights weights(1);
  Result<LoadedArtifact> loaded = loadArtifact(dir(), weights, "cpu:z80");
  ASSERT_FALSE(bool(loaded));
  EXPECT_SAYS(loaded.error(), "found files for 'cpu:generic'; expected one for "
                              "'cpu:z80'");
}

TEST_F(Artifact, CInterfaceStepsForksAndTruncates) {
  attn_model *model = nullptr;
  ASSERT_EQ(attn_model_load(dir().c_str(), "random:7", nullptr, &model), ATTN_OK)
      << attn_last_error();
  EXPECT_EQ(attn_model_hidden(model), hidden);
  EXPECT_EQ(attn_model_caches(model), 1);
  Input input = *openInput("random:3:9", hidden);
  std::vector<float> whole(9 * hidden), parts(9 * hidden), copy(hidden);
  int64_t a, b, c;
  attn_sequence_create(model, &a);
  attn_sequence_create(model, &b);
  int64_t nine = 9, six = 6, three = 3, one = 1;
  ASSERT_EQ(attn_step(model, 1, &a, &nine, input.row(0), whole.data()), ATTN_OK);
  ASSERT_EQ(attn_step(model, 1, &b, &six, input.row(0), parts.data()), ATTN_OK);
  ASSERT_EQ(attn_sequence_fork(model, b, &c), ATTN_OK);
  ASSERT_EQ(attn_step(model, 1, &b, &three, input.row(6), &parts[6 * hidden]),
            ATTN_OK);
  ASSERT_EQ(attn_step(model, 1, &c, &one, input.row(6), copy.data()), ATTN_OK);
  for (size_t i = 0; i < whole.size(); ++i)
    EXPECT_NEAR(whole[i], parts[i], 1e-5);
  for (size_t i = 0; i < copy.size(); ++i)
    EXPECT_NEAR(whole[6 * hidden + i], copy[i], 1e-5);
  EXPECT_EQ(attn_sequence_truncate(model, a, 6), ATTN_OK);
  EXPECT_EQ(attn_sequence_length(model, a), 6);
  ASSERT_EQ(attn_step(model, 1, &a, &one, input.row(6), copy.data()), ATTN_OK);
  for (size_t i = 0; i < copy.size(); ++i)
    EXPECT_NEAR(whole[6 * hidden + i], copy[i], 1e-5);
  EXPECT_EQ(attn_sequence_free(model, a), ATTN_OK);
  EXPECT_EQ(attn_sequence_free(model, a), ATTN_ERROR);
  EXPECT_SAYS(attn_last_error(), "does not exist");
  EXPECT_EQ(attn_sequence_length(model, a), -1);
  attn_model_free(model);
}

TEST_F(Artifact, CInterfaceReportsFullPools) {
  int64_t pages = 2;
  attn_options settings = {sizeof settings, nullptr, &pages, 1};
  attn_model *model = nullptr;
  ASSERT_EQ(attn_model_load(dir().c_str(), "random:7", &settings, &model),
            ATTN_OK);
  Input input = *openInput("random:3:9", hidden);
  std::vector<float> y(9 * hidden);
  int64_t a, eight = 8, one = 1;
  attn_sequence_create(model, &a);
  EXPECT_EQ(attn_step(model, 1, &a, &eight, input.row(0), y.data()), ATTN_OK);
  EXPECT_EQ(attn_step(model, 1, &a, &one, input.row(8), y.data()), ATTN_NO_PAGES);
  EXPECT_EQ(attn_sequence_length(model, a), 8);
  EXPECT_EQ(attn_model_used_bytes(model), 2 * 4 * rowBytes);
  attn_model_free(model);
  EXPECT_EQ(attn_model_load("/no/such", "random:7", nullptr, &model),
            ATTN_ERROR);
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(attn_runtime_version(), ATTN_RUNTIME_VERSION);
}

} // namespace
