//===- passes_mincut.cpp - minimum cuts --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/MinCut.h"

#include <gtest/gtest.h>

#include <random>

using namespace attnc;

static constexpr int S = MinCut::kSource, T = MinCut::kSink;

TEST(MinCut, CutsTheNarrowestEdge) {
  MinCut cut;
  int a = cut.addNode(), b = cut.addNode();
  cut.addEdge(S, a, 5);
  cut.addEdge(a, b, 3);
  cut.addEdge(b, T, 4);
  std::vector<bool> side = cut.sinkSide();
  EXPECT_FALSE(side[a]);
  EXPECT_TRUE(side[b]);
}

TEST(MinCut, OfEqualCutsTakesTheOneNearestTheSink) {
  MinCut cut;
  int a = cut.addNode(), b = cut.addNode();
  cut.addEdge(S, a, 3);
  cut.addEdge(a, b, 3);
  cut.addEdge(b, T, 3);
  std::vector<bool> side = cut.sinkSide();
  EXPECT_FALSE(side[a]);
  EXPECT_FALSE(side[b]);
  EXPECT_TRUE(side[T]);
}

TEST(MinCut, UnreachableSinkCutsNothing) {
  MinCut cut;
  int a = cut.addNode(), b = cut.addNode();
  cut.addEdge(S, a, 3);
  cut.addEdge(b, T, 3);
  std::vector<bool> side = cut.sinkSide();
  EXPECT_FALSE(side[a]);
  EXPECT_TRUE(side[b]);
}

TEST(MinCut, WeighsCapacitiesThatDifferInTheLastOf125Bits) {
  Int128 large = Int128(1) << 124;
  MinCut cut;
  int a = cut.addNode(), b = cut.addNode();
  cut.addEdge(S, a, large);
  cut.addEdge(a, b, large - 1);
  cut.addEdge(b, T, large);
  std::vector<bool> side = cut.sinkSide();
  EXPECT_FALSE(side[a]);
  EXPECT_TRUE(side[b]);
}

/// On random networks no other cut is cheaper, and none as cheap has fewer
/// nodes on the sink's side.
TEST(MinCut, AgreesWithTryingAllCuts) {
  std::mt19937 engine(1);
  for (int round = 0; round < 300; ++round) {
    const int inner = 6, nodes = inner + 2;
    MinCut cut;
    for (int i = 0; i < inner; ++i)
      cut.addNode();
    std::vector<std::vector<int>> capacity(nodes, std::vector<int>(nodes, 0));
    for (int edge = 0; edge < 16; ++edge) {
      int from = engine() % nodes, to = engine() % nodes, c = engine() % 5;
      if (from == to || from == T || to == S)
        continue;
      capacity[from][to] += c;
      cut.addEdge(from, to, c);
    }
    // A node is on the sink's side where its bit is set; S's never, T's always.
    auto cost = [&](unsigned side) {
      int sum = 0;
      for (int i = 0; i < nodes; ++i)
        for (int j = 0; j < nodes; ++j)
          if (!(side >> i & 1) && (side >> j & 1))
            sum += capacity[i][j];
      return sum;
    };
    std::vector<bool> found = cut.sinkSide();
    unsigned side = 0;
    for (int i = 0; i < nodes; ++i)
      side |= unsigned(found[i]) << i;
    for (unsigned other = 0; other < 1u << nodes; ++other) {
      if ((other >> S & 1) || !(other >> T & 1))
        continue;
      ASSERT_GE(cost(other), cost(side));
      if (cost(other) == cost(side))
        ASSERT_GE(__builtin_popcount(other), __builtin_popcount(side));
    }
  }
}
