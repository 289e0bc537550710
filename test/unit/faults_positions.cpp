//===- faults_positions.cpp - angles at far positions ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Entry 61 of docs/field-faults.md. The query (1, 0) turns with its position;
// the key before it was put into the ring unturned, so its score is the cosine of
// the position. The token's own key is 0. With values 0 and 1 the output is
// 1 / (1 + exp(cosine)).
//
//===----------------------------------------------------------------------===//
#include "test/unit/faults_fixture.h"

using namespace attnc;
using namespace attnc::test;

namespace {

std::vector<float> firstOnly(size_t count) {
  std::vector<float> values(count);
  values[0] = 1;
  return values;
}

TEST(PositionFaults, NeighboursStayApart) {
  CompiledGraph graph(R"(
attn.weight @q : 2x8
attn.weight @k : 2x8
attn.weight @v : 2x8
attn.weight @o : 8x2
attn.model @turned(%x: !attn.stream<8>) -> !attn.stream<8> {
  %q = attn.linear %x, @q : (!attn.stream<8>) -> !attn.stream<1x2>
  %k = attn.linear %x, @k : (!attn.stream<8>) -> !attn.stream<1x2>
  %v = attn.linear %x, @v : (!attn.stream<8>) -> !attn.stream<1x2>
  %qr = attn.rope %q last half_split <theta = 10000.0, dims = 2> : !attn.stream<1x2>
  %kr = attn.rope %k last half_split <theta = 10000.0, dims = 2> : !attn.stream<1x2>
  %a = attn.attend scale 1.0
      window 2 (%qr, %kr : !attn.stream<1x2>, !attn.stream<1x2>)
      values %v : !attn.stream<1x2> -> !attn.stream<1x2>
  %y = attn.linear %a, @o : (!attn.stream<1x2>) -> !attn.stream<8>
  attn.return %y : !attn.stream<8>
}
)",
                      {{"q", firstOnly(16)},
                       {"k", std::vector<float>(16)},
                       {"v", firstOnly(16)},
                       {"o", firstOnly(16)}});
  ASSERT_EQ(graph.error, "");
  const std::map<int64_t, double> cosines = {{15962, -0.908016},
                                             {15963, -0.843125},
                                             {15968, -0.754793},
                                             {1048575, std::cos(1048575.0)}};
  for (auto &[name, backend] : graph.backends)
    for (auto [position, cosine] : cosines) {
      SCOPED_TRACE(name + " position " + std::to_string(position));
      const CacheDesc &cache = backend->caches().at(0);
      ASSERT_EQ(cache.kind, CacheKind::Ring);
      ASSERT_EQ(cache.segments.size(), 2u);
      OwnPages ring(*backend, 1, 0xFF);
      int64_t slot = (position - 1) % cache.rows;
      ring.write(0, slot, 0, {1, 0});
      ring.write(0, slot, 1, {0, 0});
      std::vector<float> got = ring.step({{position, {1}, {0}}});
      EXPECT_NEAR(got[0], 1 / (1 + std::exp(cosine)), 1e-6);
    }
}

} // namespace
