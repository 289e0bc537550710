//===- runtime_options.cpp - schedules and command lines --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/RunOptions.h"

#include <gtest/gtest.h>

using namespace attnc;

namespace {

TEST(Schedule, NamesReadBack) {
  for (const char *name :
       {"prefill", "decode", "chunk:5", "mixed:20", "batch:3"}) {
    Result<Schedule> schedule = parseSchedule(name);
    ASSERT_TRUE(bool(schedule)) << name;
    EXPECT_EQ(stringify(*schedule), name);
  }
}

TEST(Schedule, OthersAreRefused) {
  for (const char *name : {"", "prefill:1", "decode:", "chunk", "chunk:",
                           "chunk:0", "chunk:-1", "chunk:99999999999", "mixed",
                           "mixed:x", "batch:1x", "random:1"}) {
    Result<Schedule> schedule = parseSchedule(name);
    ASSERT_FALSE(bool(schedule)) << name;
    EXPECT_EQ(schedule.error(),
              "found the schedule '" + std::string(name) +
                  "'; expected prefill, decode, chunk:K, mixed:SEED or "
                  "batch:SEED");
  }
}

TEST(RunOptions, BothSpellingsOfValues) {
  Result<RunOptions> options = parseRunOptions(
      {"in.json", "--absorb=never", "--page-size", "16", "--layers", "0:9",
       "--trace", "--target", "sm_80", "--target=sm_90a", "-v"});
  ASSERT_TRUE(bool(options)) << options.error();
  EXPECT_EQ(options->inputs, (std::vector<std::string>{"in.json"}));
  EXPECT_EQ(options->plan.at("absorb"), "never");
  EXPECT_EQ(options->plan.at("page-size"), "16");
  EXPECT_EQ(options->layers, (std::pair<int64_t, int64_t>(0, 9)));
  EXPECT_EQ(options->targets, (std::vector<std::string>{"sm_80", "sm_90a"}));
  EXPECT_TRUE(options->trace);
  EXPECT_TRUE(options->verbose);
  EXPECT_FALSE(options->stats);
}

TEST(RunOptions, DashDashEndsOptions) {
  Result<RunOptions> options = parseRunOptions({"--", "--trace", "-"});
  ASSERT_TRUE(bool(options));
  EXPECT_EQ(options->inputs, (std::vector<std::string>{"--trace", "-"}));
}

TEST(RunOptions, CallersKeepTheirOwnOptions) {
  Result<RunOptions> options = parseRunOptions(
      {"--json", "-o", "dir", "x"}, {{"--json", false}, {"-o", true}});
  ASSERT_TRUE(bool(options)) << options.error();
  ASSERT_EQ(options->extra.size(), 2u);
  EXPECT_EQ(options->extra[0].first, "--json");
  EXPECT_EQ(options->extra[1].second, "dir");
  EXPECT_EQ(options->inputs, (std::vector<std::string>{"x"}));
}

TEST(RunOptions, ValuesAreChecked) {
  const std::pair<std::vector<std::string>, const char *> cases[] = {
      {{"--absorb", "maybe"},
       "--absorb: found 'maybe'; expected one of cost, always, never"},
      {{"--cut", "x"}, "--cut: found 'x'; expected one of cost, bytes, flops"},
      {{"--want", "x"}, "--want: found 'x'; expected one of all, last"},
      {{"--replay", "x"}, "--replay: found 'x'; expected one of exact, bounded"},
      {{"--balance", "0"},
       "--balance: found '0'; expected an integer from 1 to 2^30"},
      {{"--page-size", "1.5"},
       "--page-size: found '1.5'; expected an integer from 1 to 2^30"},
      {{"--layers", "3:3"},
       "--layers: found '3:3'; expected A:B with A below B (layers A to B - 1)"},
      {{"--tokens", "0"}, "--tokens: found '0'; expected an integer of at least "
                          "1"},
      {{"--color", "red"},
       "--color: found 'red'; expected one of auto, always, never"},
      {{"--storage", ""}, "--storage: found ''; expected a name"},
      {{"--weights"}, "--weights: found no value; expected one"},
      {{"--bogus"}, "found the unknown option '--bogus'; --help lists the "
                    "known"}};
  for (const auto &[arguments, message] : cases) {
    Result<RunOptions> options = parseRunOptions(arguments);
    ASSERT_FALSE(bool(options)) << message;
    EXPECT_EQ(options.error(), message);
  }
}

} // namespace
