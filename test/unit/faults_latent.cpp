//===- faults_latent.cpp - absorbed and rebuilt latents, to the number -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Keys of five channels (three from a latent of eight, two shared), values of
// two: whatever form a plan takes, the scale is that of the graph and every head
// reads its own values. Entries 30, 33, 62 and 63 of docs/field-faults.md.
//
//===----------------------------------------------------------------------===//
#include "test/unit/faults_fixture.h"

using namespace attnc;
using namespace attnc::test;

namespace {

constexpr int64_t hidden = 8, heads = 2, nope = 3, shared = 2, latent = 8, width = 2;
/// Not one over the root of any width here.
constexpr double scale = 0.6;

std::map<std::string, std::vector<float>> latentWeights() {
  std::vector<float> output(hidden * heads * width);
  for (size_t i = 0; i < heads * width; ++i)
    output[i * (heads * width) + i] = 1;
  return {{"q", someNumbers(heads * (nope + shared) * hidden, 1)},
          {"down", someNumbers(latent * hidden, 2)},
          {"up", someNumbers(heads * (nope + width) * latent, 3)},
          {"r", someNumbers(shared * hidden, 4)},
          {"o", output}};
}

std::unique_ptr<CompiledGraph> latentGraph(const std::string &absorb) {
  return std::make_unique<CompiledGraph>(R"(
attn.weight @q : 10x8
attn.weight @down : 8x8
attn.weight @up : 10x8
attn.weight @r : 2x8
attn.weight @o : 8x4
attn.model @latent(%x: !attn.stream<8>) -> !attn.stream<8> {
  %q = attn.linear %x, @q : (!attn.stream<8>) -> !attn.stream<2x5>
  %qn = attn.slice %q[0, 3] : !attn.stream<2x5> -> !attn.stream<2x3>
  %qr = attn.slice %q[3, 2] : !attn.stream<2x5> -> !attn.stream<2x2>
  %c = attn.linear %x, @down : (!attn.stream<8>) -> !attn.stream<8>
  %k = attn.linear %c, @up groups 2 rows [0, 3] : (!attn.stream<8>) -> !attn.stream<2x3>
  %v = attn.linear %c, @up groups 2 rows [3, 2] : (!attn.stream<8>) -> !attn.stream<2x2>
  %r = attn.linear %x, @r : (!attn.stream<8>) -> !attn.stream<2>
  %a = attn.attend scale 0.6
      causal (%qn, %k : !attn.stream<2x3>, !attn.stream<2x3>),
             (%qr, %r : !attn.stream<2x2>, !attn.stream<2>)
      values %v : !attn.stream<2x2> -> !attn.stream<2x2>
  %y = attn.linear %a, @o : (!attn.stream<2x2>) -> !attn.stream<8>
  attn.return %y : !attn.stream<8>
}
)",
                                         latentWeights(),
                                         std::map<std::string, std::string>{{"absorb", absorb}});
}

/// Channel i of matrix times vector.
double row(const std::vector<float> &matrix, int64_t i, const std::vector<double> &x) {
  double sum = 0;
  for (size_t j = 0; j < x.size(); ++j)
    sum += double(matrix[size_t(i) * x.size() + j]) * x[j];
  return sum;
}

/// The naive form, in f64, for tokens whose channels are all `values[t]`.
std::vector<double> naive(const std::vector<double> &values, double scaleUsed) {
  auto weights = latentWeights();
  std::vector<double> result;
  std::vector<std::vector<double>> inputs, latents;
  for (double value : values) {
    inputs.emplace_back(hidden, value);
    std::vector<double> c;
    for (int64_t i = 0; i < latent; ++i)
      c.push_back(row(weights["down"], i, inputs.back()));
    latents.push_back(c);
  }
  for (size_t t = 0; t < values.size(); ++t)
    for (int64_t h = 0; h < heads; ++h) {
      double sum = 0;
      std::vector<double> out(width);
      for (size_t e = 0; e <= t; ++e) {
        double score = 0;
        for (int64_t i = 0; i < nope + shared; ++i) {
          double key = i < nope ? row(weights["up"], h * (nope + width) + i, latents[e])
                                : row(weights["r"], i - nope, inputs[e]);
          score += row(weights["q"], h * (nope + shared) + i, inputs[t]) * key;
        }
        double weight = std::exp(scaleUsed * score);
        sum += weight;
        for (int64_t i = 0; i < width; ++i)
          out[size_t(i)] += weight * row(weights["up"], h * (nope + width) + nope + i, latents[e]);
      }
      for (double value : out)
        result.push_back(value / sum);
    }
  return result;
}

/// Output rows of tokens from position `first` on.
void expectRows(const std::vector<float> &rows, const std::vector<double> &want, int64_t first) {
  for (int64_t token = 0; token < int64_t(rows.size()) / hidden; ++token)
    for (int64_t channel = 0; channel < heads * width; ++channel)
      EXPECT_NEAR(rows[size_t(token * hidden + channel)],
                  want[size_t((first + token) * heads * width + channel)], 2e-6)
          << "position " << first + token << " channel " << channel;
}

TEST(LatentFaults, AbsorptionKeepsScaleAndHeads) {
  std::vector<double> values;
  for (int t = 0; t < 12; ++t)
    values.push_back(double(float(0.15 * ((t * 7) % 12 - 5))));
  std::vector<double> want = naive(values, scale);
  // The test would see the scale of another width.
  double apart = 0;
  std::vector<double> wrong = naive(values, scale * std::sqrt(5.0 / 10));
  for (size_t i = 0; i < want.size(); ++i)
    apart = std::max(apart, std::abs(want[i] - wrong[i]));
  ASSERT_GT(apart, 1e-2);

  std::vector<float> rows;
  for (double value : values)
    rows.insert(rows.end(), hidden, float(value));
  for (const char *absorb : {"always", "never", "cost"}) {
    auto graph = latentGraph(absorb);
    ASSERT_EQ(graph->error, "");
    expectRows(graph->interpret(rows), want, 0);
    for (auto &[name, backend] : graph->backends)
      for (const std::vector<int64_t> &chunks :
           {std::vector<int64_t>{12}, std::vector<int64_t>{2, 1, 1, 5, 3}}) {
        SCOPED_TRACE(name + " absorb " + absorb);
        Session session(*backend);
        session.valueOf = [&](int64_t, int64_t p) { return values[size_t(p)]; };
        int64_t one = session.sequences.create(), done = 0;
        for (int64_t chunk : chunks) {
          session.step({{one, chunk}});
          ASSERT_EQ(session.rows.size(), size_t(chunk * hidden));
          expectRows(session.rows, want, done);
          done += chunk;
        }
      }
  }
}

} // namespace
