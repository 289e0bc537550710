//===- CpuAttend.h - attend on pages, and the plain sum it must equal -------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TEST_UNIT_CPUATTEND_H
#define ATTNC_TEST_UNIT_CPUATTEND_H

#include "test/unit/CpuKernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

namespace attnc::test {

constexpr float poison = std::numeric_limits<float>::quiet_NaN();

/// What an attend test varies.
struct AttendShape {
  struct Part {
    int64_t dim = 0;
    int64_t heads = 1;
  };
  int64_t heads = 1, kvHeads = 1;
  std::vector<Part> keys;
  int64_t valueKey = -1;
  Part value;
  Format format{Elem::F32};
  double scale = 0.1;
  int64_t pageEntries = 16;
  bool dense = false;
  int64_t every = 1;
};

/// One query token: it sees entries [low, high).
struct Query {
  int64_t low = 0, high = 0, position = 0;
};

/// Rows, pages and queries of one attend, all of it surrounded by NaN.
class AttendProblem {
public:
  AttendProblem(const AttendShape &shape, int64_t entries, std::vector<Query> queries,
                unsigned seed = 1, float spread = 1)
      : shape(shape), entries(entries), queries(std::move(queries)) {
    allParts = shape.keys;
    if (shape.valueKey < 0)
      allParts.push_back(shape.value);
    layOut();
    fillRows(seed);
    std::mt19937 random(seed + 1);
    std::normal_distribution<float> normal(0, spread);
    q.resize(parts().size());
    for (size_t p = 0; p < shape.keys.size(); ++p) {
      q[p].assign(size_t(tokens() * qTokenStride(p)), poison);
      for (int64_t t = 0; t < tokens(); ++t)
        for (int64_t h = 0; h < shape.heads; ++h)
          for (int64_t c = 0; c < shape.keys[p].dim; ++c)
            query(p, t, h)[c] = normal(random);
    }
  }

  int64_t tokens() const { return int64_t(queries.size()); }
  int64_t dv() const { return valuePart().dim; }

  KernelSpec spec(const std::string &name) const {
    AttendSpec op;
    op.heads = shape.heads;
    op.kvHeads = shape.kvHeads;
    for (size_t p = 0; p < shape.keys.size(); ++p)
      op.keys.push_back(rowSpec(p));
    op.valueKey = shape.valueKey;
    if (op.valueKey < 0)
      op.value = rowSpec(shape.keys.size());
    op.scale = shape.scale;
    op.every = shape.every;
    op.scoreMap.region = scoreMap;
    op.consts = int64_t(consts.size());
    return {name, op};
  }

  /// The stored value of channel c of head h of part p of entry e.
  float &row(size_t p, int64_t e, int64_t h, int64_t c) {
    return values[p][size_t((e * parts()[p].heads + h) * parts()[p].dim + c)];
  }
  float *query(size_t p, int64_t t, int64_t h) {
    return &q[p][size_t(t * qTokenStride(p) + h * qHeadStride(p))];
  }
  /// Writes `values` into the pages; call after changing row().
  void pack();

  /// The state after folding entries [begin, end) in, `splits` of them.
  struct State {
    std::vector<float> acc, max, sum; // [split][token][head](dv)
  };
  State run(const LoadedKernels &kernels, const std::string &name, int64_t splits = 1,
            int64_t pieces = 1);
  /// run, then the kernel "combine": [token][head][dv].
  std::vector<float> answer(const LoadedKernels &kernels, const std::string &name,
                            int64_t splits = 1, int64_t pieces = 1,
                            const float *sink = nullptr);
  KernelSpec combineSpec(bool sink = false) const {
    return {"combine", CombineSpec{shape.heads, dv(), sink}};
  }

  /// The answer in f64: [token][head][dv]; 0 for rows that see nothing.
  std::vector<double> expected(const float *sink = nullptr);
  /// The greatest |score| of the last expected(), in natural units.
  double greatestScore = 0;

  std::function<double(double, double, double, int64_t)> scoreFunction;
  mlir::Region *scoreMap = nullptr;
  std::vector<std::vector<float>> consts;
  std::vector<std::vector<float>> q, values;
  AttendShape shape;
  int64_t entries;
  std::vector<Query> queries;

private:
  /// The key parts, then a value of its own.
  const std::vector<AttendShape::Part> &parts() const { return allParts; }
  const AttendShape::Part &valuePart() const {
    return shape.valueKey >= 0 ? shape.keys[size_t(shape.valueKey)] : shape.value;
  }
  int64_t qHeadStride(size_t p) const { return shape.keys[p].dim + 3; }
  int64_t qTokenStride(size_t p) const { return shape.heads * qHeadStride(p) + 5; }
  RowSpec rowSpec(size_t p) const {
    AttendShape::Part part = parts()[p];
    RowSpec rows{part.heads, part.dim, shape.dense, shape.format, {}};
    if (!shape.dense)
      rows.place = cache.places[p];
    return rows;
  }
  void layOut();
  void fillRows(unsigned seed);
  float *scratchFor(const KernelDesc &desc) {
    // NaN: a kernel that counts on zeros would show.
    scratch.assign(size_t(desc.params.at("scratch_bytes") / 4 + 16), poison);
    auto address = reinterpret_cast<uintptr_t>(scratch.data());
    return scratch.data() + (64 - address % 64) % 64 / 4;
  }
  void rowSource(Arguments &args, size_t p);
  void item(const LoadedKernels &kernels, const std::string &name, State &state,
            int64_t split, int64_t kvHead, int64_t firstToken, int64_t tokenCount,
            int64_t begin, int64_t end, bool init);

  std::vector<AttendShape::Part> allParts;
  CacheDesc cache;
  std::vector<int32_t> table;
  std::vector<uint8_t> pages;
  std::vector<std::vector<float>> denseRows;
  std::vector<float> scratch;
};

inline void AttendProblem::layOut() {
  for (const AttendShape::Part &part : parts())
    cache.segments.push_back({"part", shape.format, part.dim * part.heads, false});
  cache.segments.push_back({"pad", {}, 3, true}); // odd rows: nothing is aligned
  cache.pageEntries = shape.pageEntries;
  std::string error = cache.place();
  if (!error.empty())
    std::abort();
  int64_t count = (entries + shape.pageEntries - 1) / shape.pageEntries;
  for (int64_t i = 0; i < count; ++i)
    table.push_back(int32_t(i));
  std::shuffle(table.begin(), table.end(), std::mt19937(7));
  // One page in front of the first and one behind the last are not ours.
  for (int32_t &page : table)
    ++page;
  pages.assign(size_t((count + 2) * cache.pageBytes), 0xFF);
}

inline void AttendProblem::fillRows(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  for (const AttendShape::Part &part : parts()) {
    std::vector<float> rows(size_t(entries * part.heads * part.dim));
    for (float &x : rows)
      x = normal(random);
    values.push_back(std::move(rows));
  }
  pack();
}

inline void AttendProblem::pack() {
  denseRows.clear();
  const std::vector<AttendShape::Part> &all = parts();
  for (size_t p = 0; p < all.size(); ++p) {
    int64_t dim = all[p].dim, heads = all[p].heads;
    int64_t rowSize = heads * (dim + 2) + 7;
    std::vector<float> padded(size_t(std::max<int64_t>(entries, 1) * rowSize), poison);
    for (int64_t e = 0; e < entries; ++e)
      for (int64_t h = 0; h < heads; ++h) {
        float *value = &row(p, e, h, 0);
        for (int64_t c = 0; c < dim; ++c)
          padded[size_t(e * rowSize + h * (dim + 2) + c)] = value[c];
        int64_t page = table[size_t(e / shape.pageEntries)], slot = e % shape.pageEntries;
        uint8_t *data = pages.data() + page * cache.pageBytes + cache.places[p].data +
                        slot * cache.places[p].dataStride + h * shape.format.dataBytes(dim);
        encode(shape.format, value, dim, data, nullptr);
        if (!shape.dense)
          decode(shape.format, data, nullptr, dim, value);
      }
    denseRows.push_back(std::move(padded));
  }
}

inline void AttendProblem::rowSource(Arguments &args, size_t p) {
  static const int32_t onePage = 0;
  if (!shape.dense) {
    args.pointer(pages.data()).pointer(table.data());
    args.integer(cache.pageBytes).integer(shape.pageEntries).integer(0).integer(0);
    args.integer(0).integer(0);
    return;
  }
  AttendShape::Part part = parts()[p];
  args.pointer(denseRows[p].data()).pointer(&onePage);
  args.integer(0).integer(int64_t(1) << 40).integer(0).integer(0);
  args.integer((part.heads * (part.dim + 2) + 7) * 4).integer(part.dim + 2);
}

/// One item: all heads of a KV head for some tokens.
inline void AttendProblem::item(const LoadedKernels &kernels, const std::string &name,
                                State &state, int64_t split, int64_t kvHead,
                                int64_t firstToken, int64_t tokenCount, int64_t begin,
                                int64_t end, bool init) {
  int64_t perToken = shape.heads / shape.kvHeads;
  std::vector<int32_t> rowToken, rowHead, low, high, position;
  for (int64_t t = firstToken; t < firstToken + tokenCount; ++t)
    for (int64_t h = 0; h < perToken; ++h) {
      rowToken.push_back(int32_t(t));
      rowHead.push_back(int32_t(kvHead * perToken + h));
      low.push_back(int32_t(queries[size_t(t)].low));
      high.push_back(int32_t(queries[size_t(t)].high));
      position.push_back(int32_t(queries[size_t(t)].position));
    }
  Arguments args;
  for (size_t p = 0; p < shape.keys.size(); ++p)
    args.view(q[p].data(), qTokenStride(p), qHeadStride(p));
  for (size_t p = 0; p < parts().size(); ++p)
    rowSource(args, p);
  args.integer(int64_t(rowToken.size())).pointer(rowToken.data()).pointer(rowHead.data());
  args.pointer(low.data()).pointer(high.data()).pointer(position.data());
  args.integer(kvHead).integer(begin).integer(end).integer(init);
  int64_t rows = split * tokens() * shape.heads;
  args.pointer(&state.acc[size_t(rows * dv())]).pointer(&state.max[size_t(rows)]);
  args.pointer(&state.sum[size_t(rows)]).pointer(scratchFor(kernels.desc(name)));
  for (const std::vector<float> &values : consts)
    args.pointer(values.data());
  args.call(kernels.find(name));
}

inline AttendProblem::State AttendProblem::run(const LoadedKernels &kernels,
                                               const std::string &name, int64_t splits,
                                               int64_t pieces) {
  State state;
  size_t rows = size_t(splits * tokens() * shape.heads);
  state.acc.assign(rows * size_t(dv()), poison);
  state.max.assign(rows, poison);
  state.sum.assign(rows, poison);
  int64_t begin = entries, end = 0;
  for (const Query &query : queries) {
    begin = std::min(begin, query.low);
    end = std::max(end, query.high);
  }
  begin = std::min(begin, end);
  int64_t group = shape.heads / shape.kvHeads, cuts = splits * pieces;
  int64_t perItem = std::max<int64_t>(1, kernels.desc(name).params.at("max_rows") / group);
  auto cut = [&](int64_t i) { return begin + (end - begin) * i / cuts; };
  for (int64_t i = 0; i < cuts; ++i)
    for (int64_t kv = 0; kv < shape.kvHeads; ++kv)
      for (int64_t t = 0; t < tokens(); t += perItem)
        item(kernels, name, state, i / pieces, kv, t, std::min(perItem, tokens() - t), cut(i),
             cut(i + 1), i % pieces == 0);
  return state;
}

inline std::vector<float> AttendProblem::answer(const LoadedKernels &kernels,
                                                const std::string &name, int64_t splits,
                                                int64_t pieces, const float *sink) {
  State state = run(kernels, name, splits, pieces);
  std::vector<float> y(size_t(tokens() * shape.heads * dv()), poison);
  Arguments args;
  args.pointer(state.acc.data()).pointer(state.max.data()).pointer(state.sum.data());
  args.integer(splits).integer(tokens()).pointer(sink);
  args.view(y.data(), shape.heads * dv(), dv()).integer(0).integer(tokens());
  args.call(kernels.find("combine"));
  return y;
}

inline double dot(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += double(a[i]) * double(b[i]);
  return sum;
}

inline std::vector<double> AttendProblem::expected(const float *sink) {
  std::vector<double> y;
  greatestScore = 0;
  size_t valuePartNumber = shape.valueKey >= 0 ? size_t(shape.valueKey) : shape.keys.size();
  auto headOf = [&](const AttendShape::Part &part, int64_t h) {
    return h / (shape.heads / part.heads);
  };
  for (int64_t t = 0; t < tokens(); ++t)
    for (int64_t h = 0; h < shape.heads; ++h) {
      std::vector<double> scores;
      const Query &query = queries[size_t(t)];
      double most = sink ? double(sink[h]) : -std::numeric_limits<double>::infinity();
      for (int64_t e = query.low; e < query.high; ++e) {
        double score = 0;
        for (size_t p = 0; p < shape.keys.size(); ++p)
          score += dot(this->query(p, t, h), &row(p, e, headOf(shape.keys[p], h), 0),
                       shape.keys[p].dim);
        score *= shape.scale;
        greatestScore = std::max(greatestScore, std::fabs(score));
        if (scoreFunction)
          score = scoreFunction(score, double(query.position), double(e * shape.every), h);
        scores.push_back(score);
        most = std::max(most, score);
      }
      std::vector<double> sums(size_t(dv()), 0.0);
      double total = sink ? std::exp(double(sink[h]) - most) : 0;
      for (size_t i = 0; i < scores.size(); ++i) {
        double weight = std::exp(scores[i] - most);
        total += weight;
        const float *value =
            &row(valuePartNumber, query.low + int64_t(i), headOf(valuePart(), h), 0);
        for (size_t c = 0; c < sums.size(); ++c)
          sums[c] += weight * double(value[c]);
      }
      for (double sum : sums)
        y.push_back(scores.empty() ? 0 : sum / total);
    }
  return y;
}

/// f32 rounding of scores grows with their size; the rest is a few ulp.
inline void expectClose(AttendProblem &problem, const std::vector<float> &got,
                        const std::vector<double> &want) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 1, bound = 2e-6 * (1 + problem.greatestScore);
  for (double w : want)
    largest = std::max(largest, std::fabs(w));
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], bound * largest) << "at " << i;
}

/// The last `tokens` tokens of a sequence, each seeing the entries up to itself,
/// or the newest `window` of them.
inline std::vector<Query> causal(int64_t entries, int64_t tokens, int64_t window = 0) {
  std::vector<Query> queries;
  for (int64_t t = 0; t < tokens; ++t) {
    int64_t high = std::max<int64_t>(0, entries - tokens + 1 + t);
    queries.push_back({window ? std::max<int64_t>(0, high - window) : 0, high, high - 1});
  }
  return queries;
}

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_CPUATTEND_H
