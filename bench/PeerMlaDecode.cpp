//===- PeerMlaDecode.cpp - the hand-written kernel to compare with ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Heads in lanes, a tile of rows widened to f32 once for all heads, vertical
// softmax. What a person would write for these shapes alone.
//
//===----------------------------------------------------------------------===//
#include "bench/PeerMlaDecode.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace attnc::bench {

constexpr int64_t keyWidth = 576, valueWidth = 512, tileEntries = 48;

struct FloatArray {
  explicit FloatArray(int64_t count)
      : data(static_cast<float *>(std::aligned_alloc(64, size_t(count * 4 + 63) / 64 * 64))),
        count(count) {
    std::fill_n(data, count, 0.0f);
  }
  FloatArray(FloatArray &&other) : data(std::exchange(other.data, nullptr)), count(other.count) {}
  ~FloatArray() { std::free(data); }
  float *data;
  int64_t count;
};

/// What one thread needs.
struct PeerWorker {
  explicit PeerWorker(int64_t heads)
      : tile(tileEntries * keyWidth), scores(tileEntries * 32), acc(heads * valueWidth),
        max(heads), sum(heads) {}
  FloatArray tile, scores, acc, max, sum;
};

struct PeerMlaDecode::State {
  State(int64_t heads, int64_t entries)
      : heads(heads), entries(entries), queries(heads * keyWidth), out(heads * valueWidth),
        rows(size_t(entries * keyWidth)) {}
  int64_t heads, entries;
  FloatArray queries; ///< [channel][head]
  FloatArray out;
  std::vector<uint16_t> rows;
  std::vector<PeerWorker> workers;
};

#ifdef __AVX512F__

static __m512 widen(const uint16_t *from) {
  __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

static __m512 powerOfTwo(__m512 x) {
  x = _mm512_max_ps(x, _mm512_set1_ps(-126));
  __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 part = _mm512_sub_ps(x, whole), p = _mm512_set1_ps(1.3333558e-3f);
  for (float c : {9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.0f})
    p = _mm512_fmadd_ps(p, part, _mm512_set1_ps(c));
  return _mm512_scalef_ps(p, whole);
}

template <int G>
static void scoreTile(const float *queries, int64_t stride, const PeerWorker &w) {
  constexpr int keys = 24 / G;
  for (int k = 0; k < tileEntries; k += keys) {
    __m512 sums[keys][G] = {};
    for (int d = 0; d < keyWidth; ++d) {
      __m512 q[G];
      for (int g = 0; g < G; ++g)
        q[g] = _mm512_load_ps(queries + d * stride + 16 * g);
#pragma GCC unroll 24
      for (int i = 0; i < keys; ++i) {
        __m512 key = _mm512_set1_ps(w.tile.data[(k + i) * keyWidth + d]);
        for (int g = 0; g < G; ++g)
          sums[i][g] = _mm512_fmadd_ps(key, q[g], sums[i][g]);
      }
    }
    for (int i = 0; i < keys; ++i)
      for (int g = 0; g < G; ++g)
        _mm512_store_ps(w.scores.data + ((k + i) * G + g) * 16, sums[i][g]);
  }
}

template <int G>
static void softenTile(float *max, float *sum, const PeerWorker &w, __m512 *rescale) {
  for (int g = 0; g < G; ++g) {
    __m512 before = _mm512_load_ps(max + 16 * g), most = before;
    for (int k = 0; k < tileEntries; ++k)
      most = _mm512_max_ps(most, _mm512_load_ps(w.scores.data + (k * G + g) * 16));
    rescale[g] = powerOfTwo(_mm512_sub_ps(before, most));
    __m512 total = _mm512_mul_ps(_mm512_load_ps(sum + 16 * g), rescale[g]);
    for (int k = 0; k < tileEntries; ++k) {
      float *score = w.scores.data + (k * G + g) * 16;
      __m512 p = powerOfTwo(_mm512_sub_ps(_mm512_load_ps(score), most));
      total = _mm512_add_ps(total, p);
      _mm512_store_ps(score, p);
    }
    _mm512_store_ps(max + 16 * g, most);
    _mm512_store_ps(sum + 16 * g, total);
  }
}

template <int G>
static void gatherTile(float *acc, const PeerWorker &w, const __m512 *rescale) {
  constexpr int channels = G == 1 ? 16 : 8;
  for (int c = 0; c < valueWidth; c += channels) {
    __m512 sums[channels][G];
    for (int i = 0; i < channels; ++i)
      for (int g = 0; g < G; ++g)
        sums[i][g] = _mm512_mul_ps(rescale[g], _mm512_load_ps(acc + ((c + i) * G + g) * 16));
    for (int k = 0; k < tileEntries; ++k) {
      __m512 p[G];
      for (int g = 0; g < G; ++g)
        p[g] = _mm512_load_ps(w.scores.data + (k * G + g) * 16);
#pragma GCC unroll 16
      for (int i = 0; i < channels; ++i) {
        __m512 value = _mm512_set1_ps(w.tile.data[k * keyWidth + c + i]);
        for (int g = 0; g < G; ++g)
          sums[i][g] = _mm512_fmadd_ps(value, p[g], sums[i][g]);
      }
    }
    for (int i = 0; i < channels; ++i)
      for (int g = 0; g < G; ++g)
        _mm512_store_ps(acc + ((c + i) * G + g) * 16, sums[i][g]);
  }
}

template <int G>
static void tileOfHeads(const float *queries, int64_t stride, int64_t head, const PeerWorker &w) {
  __m512 rescale[G];
  scoreTile<G>(queries + head, stride, w);
  softenTile<G>(w.max.data + head, w.sum.data + head, w, rescale);
  gatherTile<G>(w.acc.data + head * valueWidth, w, rescale);
}

static void decodeRange(const float *queries, const uint16_t *rows, int64_t begin, int64_t end,
                        int64_t heads, PeerWorker &w) {
  std::fill_n(w.acc.data, w.acc.count, 0.0f);
  std::fill_n(w.max.data, heads, -1e30f);
  std::fill_n(w.sum.data, heads, 0.0f);
  for (int64_t n = begin; n < end; n += tileEntries) {
    for (int64_t k = 0; k < tileEntries; ++k)
      for (int64_t d = 0; d < keyWidth; d += 16)
        _mm512_store_ps(w.tile.data + k * keyWidth + d, widen(rows + (n + k) * keyWidth + d));
    if (heads == 16)
      tileOfHeads<1>(queries, heads, 0, w);
    for (int64_t h = 0; heads > 16 && h < heads; h += 32)
      tileOfHeads<2>(queries, heads, h, w);
  }
}

bool PeerMlaDecode::available() { return true; }
#else
static void decodeRange(const float *, const uint16_t *, int64_t, int64_t, int64_t, PeerWorker &) {}
bool PeerMlaDecode::available() { return false; }
#endif

PeerMlaDecode::PeerMlaDecode(int64_t heads, int64_t entries)
    : state(std::make_unique<State>(heads, entries)) {
  uint32_t random = 1;
  for (int64_t i = 0; i < state->queries.count; ++i)
    state->queries.data[i] = float((random = random * 1664525 + 1013904223) >> 16) / 65536 * 0.1f;
  for (uint16_t &x : state->rows)
    x = uint16_t(0x3E00 + ((random = random * 1664525 + 1013904223) >> 24));
}
PeerMlaDecode::~PeerMlaDecode() = default;

int64_t PeerMlaDecode::entries(int threads) const {
  return state->entries / (tileEntries * threads) * (tileEntries * threads);
}

/// Merges the threads' states.
static void mergeWorkers(const std::vector<PeerWorker> &workers, int64_t heads, float *out) {
  int64_t lanes = heads == 16 ? 16 : 32;
  for (int64_t h = 0; h < heads; ++h) {
    float most = -1e30f, total = 0;
    for (const PeerWorker &w : workers)
      most = std::max(most, w.max.data[h]);
    std::vector<float> weights;
    for (const PeerWorker &w : workers) {
      weights.push_back(std::exp2(w.max.data[h] - most));
      total += weights.back() * w.sum.data[h];
    }
    for (int64_t c = 0; c < valueWidth; ++c) {
      float sum = 0;
      for (size_t i = 0; i < workers.size(); ++i)
        sum += weights[i] *
               workers[i].acc.data[(h / lanes * valueWidth + c) * lanes + h % lanes];
      out[h * valueWidth + c] = sum / total;
    }
  }
}

void PeerMlaDecode::run(ThreadPool &pool) {
  int threads = pool.threads();
  while (int(state->workers.size()) < threads)
    state->workers.emplace_back(state->heads);
  int64_t each = entries(threads) / threads;
  pool.parallelFor(threads, [&](int64_t i, int) {
    decodeRange(state->queries.data, state->rows.data(), i * each, (i + 1) * each, state->heads,
                state->workers[size_t(i)]);
  });
  mergeWorkers(state->workers, state->heads, state->out.data);
}

} // namespace attnc::bench
