//===- faults_windows.cpp - which positions a window sees --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Windows over rings, cut into steps in every way that has gone wrong somewhere:
// entries 42, 66, 68 to 71 and 91 of docs/field-faults.md.
//
//===----------------------------------------------------------------------===//
#include "test/unit/faults_fixture.h"

using namespace attnc;
using namespace attnc::test;

namespace {

/// A graph with a window, compiled once per window.
class WindowFaults : public testing::Test {
protected:
  /// Without a window if `window` is 0.
  CompiledGraph &graphOf(int64_t window) {
    static std::map<int64_t, std::unique_ptr<CompiledGraph>> graphs;
    auto &graph = graphs[window];
    if (!graph)
      graph = compileSmall({window ? "window " + std::to_string(window) : "causal"});
    return *graph;
  }

  void forBoth(int64_t window, const std::function<void(Session &)> &body) {
    CompiledGraph &graph = graphOf(window);
    ASSERT_EQ(graph.error, "");
    for (auto &[name, backend] : graph.backends) {
      SCOPED_TRACE(name);
      ASSERT_EQ(backend->caches().size(), 1u);
      ASSERT_EQ(backend->caches()[0].kind, window ? CacheKind::Ring : CacheKind::Paged);
      Session session(*backend);
      body(session);
    }
  }
};

TEST_F(WindowFaults, PrefillAndDecodeCountTheTokenItself) {
  forBoth(4, [](Session &session) {
    int64_t whole = session.sequences.create(), stepped = session.sequences.create();
    EXPECT_FLOAT_EQ(session.step({{whole, 10}}).at(9), 7.5f);
    session.step({{stepped, 9}});
    EXPECT_FLOAT_EQ(session.step({{stepped, 1}}).at(0), 7.5f);
  });
}

TEST_F(WindowFaults, NoKeyIsLostAsTheLengthReachesTheWindow) {
  forBoth(8, [](Session &session) {
    int64_t one = session.sequences.create();
    session.step({{one, 6}});
    session.step({{one, 1}});
    EXPECT_FLOAT_EQ(session.step({{one, 1}}).at(0), 3.5f);
    EXPECT_FLOAT_EQ(session.step({{one, 1}}).at(0), 4.5f);
    EXPECT_FLOAT_EQ(session.step({{one, 1}}).at(0), 5.5f);
  });
}

TEST_F(WindowFaults, ChunksLongerThanTheWindow) {
  forBoth(4, [](Session &session) {
    int64_t one = session.sequences.create();
    session.step({{one, 8}});
    std::vector<float> second = session.step({{one, 8}});
    EXPECT_FLOAT_EQ(second.at(0), 6.5f);
    EXPECT_FLOAT_EQ(second.at(3), 9.5f);
    session.expectMeans(one, 5, 4);
    session.expectMeans(one, 23, 4);
    session.expectMeans(one, 1, 4);
  });
}

TEST_F(WindowFaults, LengthsAroundTheWindow) {
  for (int64_t window : {1, 4, 8})
    for (int64_t first : {window - 1, window, window + 1, 2 * window + 1})
      forBoth(window, [&](Session &session) {
        SCOPED_TRACE("window " + std::to_string(window) + " first " + std::to_string(first));
        for (int64_t second : {window - 1, window, window + 1, 2 * window + 1}) {
          int64_t one = session.sequences.create();
          for (int64_t chunk : {first, second, int64_t(1), int64_t(1), window + 1})
            if (chunk)
              session.expectMeans(one, chunk, window);
        }
      });
}

TEST_F(WindowFaults, TheInterpreterSeesTheSamePositions) {
  for (int64_t window : {0, 1, 4, 8}) {
    CompiledGraph &graph = graphOf(window);
    ASSERT_EQ(graph.error, "");
    std::vector<float> rows;
    for (int64_t p = 0; p < 20; ++p)
      rows.insert(rows.end(), 8, float(p));
    std::vector<float> got = graph.interpret(rows);
    ASSERT_EQ(got.size(), rows.size());
    for (int64_t p = 0; p < 20; ++p)
      EXPECT_FLOAT_EQ(got[size_t(p * 8)],
                      float(meanOfVisible(p, window, [](int64_t e) { return double(e); })));
  }
}

TEST_F(WindowFaults, ManyStepsAfterTheRingHasWrapped) {
  forBoth(512, [](Session &session) {
    int64_t one = session.sequences.create();
    session.expectMeans(one, 512, 512);
    session.expectMeans(one, 188, 512);
    for (int i = 0; i < 600; ++i)
      session.expectMeans(one, 1, 512);
    // The data are gone, so going back is refused, and the ring stays whole.
    EXPECT_NE(session.sequences.truncate(one, 1295), "");
    session.expectMeans(one, 1, 512);
  });
}

TEST_F(WindowFaults, InterleavedSequencesKeepTheirOwnWindows) {
  forBoth(16, [](Session &session) {
    session.valueOf = [](int64_t sequence, int64_t p) { return double(1000 * sequence + p); };
    std::vector<int64_t> all;
    for (int i = 0; i < 4; ++i)
      all.push_back(session.sequences.create());
    for (int token = 0; token < 40; ++token)
      for (int64_t one : all)
        session.expectMeans(one, 1, 16);
  });
}

TEST_F(WindowFaults, SequencesOfOneStepKeepTheirOwnWindows) {
  forBoth(16, [](Session &session) {
    session.valueOf = [](int64_t sequence, int64_t p) { return double(1000 * sequence + p); };
    int64_t a = session.sequences.create(), b = session.sequences.create();
    session.step({{a, 40}});
    std::vector<float> got = session.step({{b, 3}, {a, 2}});
    ASSERT_EQ(got.size(), 5u);
    EXPECT_FLOAT_EQ(got[2], float(1000 * b) + 1);
    EXPECT_FLOAT_EQ(got[3], float(1000 * a) + 32.5f);
    EXPECT_FLOAT_EQ(got[4], float(1000 * a) + 33.5f);
  });
}

TEST_F(WindowFaults, AReusedRingHoldsNothingOfItsFormerOwner) {
  forBoth(8, [](Session &session) {
    session.valueOf = [](int64_t sequence, int64_t p) { return double(1000 * sequence + p); };
    for (int life = 0; life < 3; ++life) {
      int64_t one = session.sequences.create();
      session.expectMeans(one, 3, 8);
      session.expectMeans(one, 9, 8);
      EXPECT_EQ(session.sequences.drop(one), "");
    }
  });
}

TEST_F(WindowFaults, ASinkCountsOnceHoweverTheKeysAreCut) {
  for (float sink : {0.0f, -std::numeric_limits<float>::infinity()}) {
    auto graph = compileSmall({"window 8", std::vector<float>(64), {sink, sink}});
    ASSERT_EQ(graph->error, "");
    for (auto &[name, backend] : graph->backends) {
      SCOPED_TRACE(name);
      Session session(*backend);
      session.valueOf = [](int64_t, int64_t) { return 4; };
      int64_t one = session.sequences.create();
      for (int64_t chunk : {1, 2, 1, 3, 9, 20, 1}) {
        int64_t start = session.sequences.length(one);
        std::vector<float> got = session.step({{one, chunk}});
        ASSERT_EQ(int64_t(got.size()), chunk);
        for (int64_t i = 0; i < chunk; ++i) {
          float seen = float(std::min<int64_t>(8, start + i + 1));
          EXPECT_FLOAT_EQ(got[size_t(i)], sink == 0 ? 4 * seen / (seen + 1) : 4);
        }
      }
    }
  }
}

TEST_F(WindowFaults, TheCausalTriangleEndsAtTheLastKey) {
  forBoth(0, [](Session &session) {
    int64_t one = session.sequences.create();
    session.step({{one, 3}});
    std::vector<float> got = session.step({{one, 2}});
    EXPECT_FLOAT_EQ(got.at(0), 1.5f);
    EXPECT_FLOAT_EQ(got.at(1), 2.0f);
  });
}

} // namespace
