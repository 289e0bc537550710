//===- runtime_kernels.h - hand-written kernels for executor tests ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Scalar kernels of formats/KernelAbi.h for one tiny attention shape, and the
// programs that use them. What a code generator would put into constants are
// constants here.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_TEST_UNIT_RUNTIME_KERNELS_H
#define ATTNC_TEST_UNIT_RUNTIME_KERNELS_H

#include "runtime/Executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace attnc::test {

constexpr int64_t hidden = 8, qHeads = 4, kvHeads = 2, dim = 4, panel = 4;
constexpr int64_t kvWidth = kvHeads * dim, qWidth = qHeads * dim;
/// A cache row: keys of all heads, then values; f32.
constexpr int64_t rowBytes = 2 * kvWidth * 4;

/// Reads an argument list in order.
class Args {
public:
  explicit Args(void **args) : args(args) {}
  template <typename T> T *pointer() { return *static_cast<T **>(args[at++]); }
  int64_t integer() { return *static_cast<int64_t *>(args[at++]); }

private:
  void **args;
  int at = 0;
};

struct ViewArg {
  float *base;
  int64_t tokenStride, headStride;
  explicit ViewArg(Args &args)
      : base(args.pointer<float>()), tokenStride(args.integer()),
        headStride(args.integer()) {}
  float *row(int64_t token, int64_t head = 0) const {
    return base + token * tokenStride + head * headStride;
  }
};

struct SourceArg {
  uint8_t *base;
  const int32_t *table;
  int64_t pageBytes, pageEntries, modulo, first, slotStride, headStride;
  explicit SourceArg(Args &args)
      : base(args.pointer<uint8_t>()), table(args.pointer<int32_t>()),
        pageBytes(args.integer()), pageEntries(args.integer()),
        modulo(args.integer()), first(args.integer()),
        slotStride(args.integer()), headStride(args.integer()) {}
  uint8_t *page(int64_t n) const { return base + table[n] * pageBytes; }
  /// The values of one head of an entry; `offset` < 0: a dense buffer.
  const float *head(int64_t entry, int64_t kv, int64_t offset) const {
    int64_t n = entry - first;
    if (modulo)
      n %= modulo;
    uint8_t *at = page(n / pageEntries);
    int64_t slot = n % pageEntries;
    at += offset < 0 ? slot * slotStride + kv * headStride * 4
                     : slot * rowBytes + offset + kv * dim * 4;
    return reinterpret_cast<const float *>(at);
  }
};

template <int64_t in, int64_t out> void project(void **raw) {
  Args args(raw);
  ViewArg x(args), y(args);
  auto *panels = args.pointer<float>();
  auto *bias = args.pointer<float>();
  int64_t item = args.integer(), t0 = args.integer(), t1 = args.integer();
  const float *matrix = panels + item * in * panel;
  for (int64_t t = t0; t < t1; ++t)
    for (int64_t o = item * panel; o < std::min(out, (item + 1) * panel); ++o) {
      float sum = bias ? bias[o] : 0;
      for (int64_t i = 0; i < in; ++i)
        sum += matrix[i * panel + o - item * panel] * x.row(t)[i];
      y.row(t)[o] = sum;
    }
}

inline void norm(void **raw) {
  Args args(raw);
  ViewArg x(args), y(args);
  auto *gamma = args.pointer<float>();
  int64_t t0 = args.integer(), t1 = args.integer();
  for (int64_t t = t0; t < t1; ++t) {
    float square = 0;
    for (int64_t i = 0; i < hidden; ++i)
      square += x.row(t)[i] * x.row(t)[i];
    float scale = 1 / std::sqrt(square / hidden + 1e-6f);
    for (int64_t i = 0; i < hidden; ++i)
      y.row(t)[i] = x.row(t)[i] * scale * gamma[i];
  }
}

template <int64_t heads> void rope(void **raw) {
  Args args(raw);
  ViewArg x(args), y(args);
  auto *table = args.pointer<float>();
  int64_t t0 = args.integer(), t1 = args.integer();
  for (int64_t t = t0; t < t1; ++t)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < dim / 2; ++i) {
        const float *cs = table + (t * dim / 2 + i) * 2;
        float a = x.row(t, h)[i], b = x.row(t, h)[i + dim / 2];
        y.row(t, h)[i] = a * cs[0] - b * cs[1];
        y.row(t, h)[i + dim / 2] = a * cs[1] + b * cs[0];
      }
}

inline void addMap(void **raw) {
  Args args(raw);
  ViewArg a(args), b(args), y(args);
  int64_t t0 = args.integer(), t1 = args.integer();
  for (int64_t t = t0; t < t1; ++t)
    for (int64_t i = 0; i < hidden; ++i)
      y.row(t)[i] = a.row(t)[i] + b.row(t)[i];
}

/// One segment per view, each `width` values, one after another.
template <int64_t segments, int64_t width> void append(void **raw) {
  Args args(raw);
  std::vector<ViewArg> x;
  for (int64_t i = 0; i < segments; ++i)
    x.emplace_back(args);
  auto *base = args.pointer<uint8_t>();
  auto *table = args.pointer<int32_t>();
  int64_t pageBytes = args.integer(), pageEntries = args.integer();
  int64_t e0 = args.integer(), modulo = args.integer();
  int64_t t0 = args.integer(), t1 = args.integer();
  for (int64_t t = t0; t < t1; ++t) {
    int64_t n = e0 + t - t0;
    if (modulo)
      n %= modulo;
    uint8_t *row = base + table[n / pageEntries] * pageBytes +
                   n % pageEntries * segments * width * 4;
    for (int64_t i = 0; i < segments; ++i)
      std::memcpy(row + i * width * 4, x[size_t(i)].row(t), width * 4);
  }
}

/// Rows of one segment of `hidden` values.
inline void unpackHidden(void **raw) {
  Args args(raw);
  auto *base = args.pointer<uint8_t>();
  auto *table = args.pointer<int32_t>();
  int64_t pageBytes = args.integer(), pageEntries = args.integer();
  int64_t modulo = args.integer(), e0 = args.integer(), e1 = args.integer();
  ViewArg y(args);
  for (int64_t e = e0; e < e1; ++e) {
    int64_t n = modulo ? e % modulo : e;
    std::memcpy(y.row(e - e0),
                base + table[n / pageEntries] * pageBytes +
                    n % pageEntries * hidden * 4,
                hidden * 4);
  }
}

/// Key and value at these offsets of a row; -1: dense buffers.
template <int64_t keyAt, int64_t valueAt> void attend(void **raw) {
  Args args(raw);
  ViewArg q(args);
  SourceArg key(args), value(args);
  int64_t rows = args.integer();
  auto *rowToken = args.pointer<int32_t>(), *rowHead = args.pointer<int32_t>();
  auto *lo = args.pointer<int32_t>(), *hi = args.pointer<int32_t>();
  args.pointer<int32_t>(); // positions: this score map needs none
  int64_t kv = args.integer(), e0 = args.integer(), e1 = args.integer();
  int64_t init = args.integer();
  auto *acc = args.pointer<float>(), *max = args.pointer<float>();
  auto *sum = args.pointer<float>();
  auto *scratch = args.pointer<float>();
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = rowToken[r] * qHeads + rowHead[r];
    float *out = acc + at * dim;
    if (init) {
      std::fill_n(out, dim, 0.0f);
      max[at] = kEmptyMax;
      sum[at] = 0;
    }
    for (int64_t e = std::max<int64_t>(e0, lo[r]);
         e < std::min<int64_t>(e1, hi[r]); ++e) {
      const float *query = q.row(rowToken[r], rowHead[r]);
      scratch[0] = 0;
      for (int64_t i = 0; i < dim; ++i)
        scratch[0] += query[i] * key.head(e, kv, keyAt)[i];
      float score = scratch[0] / std::sqrt(float(dim));
      float top = std::max(max[at], score);
      float keep = std::exp(max[at] - top), weight = std::exp(score - top);
      for (int64_t i = 0; i < dim; ++i)
        out[i] = out[i] * keep + weight * value.head(e, kv, valueAt)[i];
      sum[at] = sum[at] * keep + weight;
      max[at] = top;
    }
  }
}

inline void combine(void **raw) {
  Args args(raw);
  auto *acc = args.pointer<float>(), *max = args.pointer<float>();
  auto *sum = args.pointer<float>();
  int64_t splits = args.integer(), tokens = args.integer();
  auto *sink = args.pointer<float>();
  ViewArg y(args);
  int64_t t0 = args.integer(), t1 = args.integer();
  for (int64_t t = t0; t < t1; ++t)
    for (int64_t h = 0; h < qHeads; ++h) {
      float top = sink ? sink[h] : kEmptyMax;
      for (int64_t s = 0; s < splits; ++s)
        top = std::max(top, max[(s * tokens + t) * qHeads + h]);
      float total = sink ? std::exp(sink[h] - top) : 0, out[dim] = {};
      for (int64_t s = 0; s < splits; ++s) {
        int64_t at = (s * tokens + t) * qHeads + h;
        float weight = std::exp(max[at] - top);
        total += weight * sum[at];
        for (int64_t i = 0; i < dim; ++i)
          out[i] += weight * acc[at * dim + i];
      }
      for (int64_t i = 0; i < dim; ++i)
        y.row(t, h)[i] = total > 0 ? out[i] / total : 0;
    }
}

class TestKernels : public KernelResolver {
public:
  KernelFn find(const std::string &name) override {
    static const std::map<std::string, KernelFn> all = {
        {"project_q", project<hidden, qWidth>},
        {"project_kv", project<hidden, kvWidth>},
        {"project_o", project<qWidth, hidden>},
        {"norm", norm},
        {"rope_q", rope<qHeads>},
        {"rope_k", rope<kvHeads>},
        {"map_add", addMap},
        {"append_kv", append<2, kvWidth>},
        {"append_hidden", append<1, hidden>},
        {"unpack_hidden", unpackHidden},
        {"attend_cache", attend<0, kvWidth * 4>},
        {"attend_dense", attend<-1, -1>},
        {"combine", combine}};
    auto it = all.find(name);
    return it == all.end() ? nullptr : it->second;
  }
};

/// paged: rows of keys and values for ever. ring: the same for a window.
/// rebuild: keeps the normalised input, recomputes keys and values on read.
enum class Plan { Paged, Ring, Rebuild };

struct TinyOptions {
  Plan plan = Plan::Paged;
  int64_t window = 0; ///< ring: the window
  int64_t pageEntries = 4, maxRows = 8, splitEntries = 3, threshold = 3;
  /// Rows of an item that reads a cache; 0: maxRows. Another number makes the
  /// two attends of a ring plan cut their tokens differently.
  int64_t cacheRows = 0;
  bool sink = false;
  /// The layer this many times, each with a cache of its own.
  int layers = 1;
};

Program tinyProgram(const TinyOptions &options);

/// The same model over a whole sequence, in f64, without caches.
std::vector<double> tinyReference(WeightSource &weights, const float *rows,
                                  int64_t tokens, const TinyOptions &options);

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_RUNTIME_KERNELS_H
