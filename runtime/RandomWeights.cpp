//===- RandomWeights.cpp - weights made up from a seed ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values are a function of (seed, name, index), so neither the order of requests
// nor the number of threads shows. A value is one of 65,536 quantiles of the
// normal distribution, drawn by 16 bits of a counter-based generator: fast
// enough for full-size models, and the same on every machine.
//
//===----------------------------------------------------------------------===//
#include "runtime/ThreadPool.h"
#include "runtime/Weights.h"

#include <algorithm>
#include <cmath>

namespace attnc {

/// The finaliser of SplitMix64: a bijection that scatters every bit.
static uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ x >> 31;
}

uint64_t randomKey(uint64_t seed, const std::string &name) {
  uint64_t key = mix(seed + 0x9e3779b97f4a7c15);
  for (unsigned char c : name)
    key = mix(key ^ c) + 0x9e3779b97f4a7c15;
  return key;
}

/// x with P(normal < x) = p, 0 < p <= 1/2, by bisection.
static double quantile(double p) {
  double low = -10, high = 0;
  for (int i = 0; i < 60; ++i) {
    double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle * 0.70710678118654752440) < p ? low : high) =
        middle;
  }
  return low;
}

static const std::vector<float> &quantiles() {
  static const std::vector<float> table = [] {
    std::vector<float> values(65536);
    for (int i = 0; i < 32768; ++i) {
      values[i] = float(quantile((i + 0.5) / 65536));
      values[65535 - i] = -values[i];
    }
    return values;
  }();
  return table;
}

void fillNormal(uint64_t key, float *values, int64_t count) {
  const float *table = quantiles().data();
  constexpr int64_t block = 1 << 16;
  int64_t blocks = (count + block - 1) / block;
  defaultPool().parallelFor(blocks, [&](int64_t number, int) {
    int64_t end = std::min(count, (number + 1) * block);
    for (int64_t i = number * block; i < end; i += 4) {
      uint64_t bits = mix(key + uint64_t(i / 4) * 0x9e3779b97f4a7c15);
      for (int64_t j = i; j < std::min(i + 4, end); ++j, bits >>= 16)
        values[j] = table[bits & 0xFFFF];
    }
  });
}

/// The distribution of a tensor: mean + deviation * normal.
static std::pair<float, float> distribution(const std::string &name,
                                            const std::vector<int64_t> &shape) {
  if (shape.size() > 1)
    return {0.0f, float(1 / std::sqrt(double(shape.back())))};
  bool norm = name.find("norm") != name.npos;
  bool bias = name.size() >= 5 && name.compare(name.size() - 5, 5, ".bias") == 0;
  return {norm && !bias ? 1.0f : 0.0f, 0.1f};
}

const float *RandomWeights::get(const std::string &name,
                                const std::vector<int64_t> &shape,
                                std::string &error) {
  std::lock_guard<std::mutex> hold(lock);
  auto it = made.find(name);
  if (it != made.end()) {
    if (it->second.first == shape)
      return it->second.second.data();
    error = "random weights: tensor " + name + " was asked for with shape " +
            shapeString(it->second.first) + " and " + shapeString(shape) +
            "; expected one shape";
    return nullptr;
  }
  int64_t count = 1;
  for (int64_t dim : shape)
    if (dim < 1 || __builtin_mul_overflow(count, dim, &count) ||
        count > int64_t(1) << 40) {
      error = "random weights: tensor " + name + " has shape " +
              shapeString(shape) + "; expected 1 to 2^40 elements";
      return nullptr;
    }
  auto [mean, deviation] = distribution(name, shape);
  std::vector<float> values;
  try {
    values.resize(size_t(count));
  } catch (const std::exception &) {
    error = "random weights: tensor " + name + " with shape " +
            shapeString(shape) + " does not fit the memory";
    return nullptr;
  }
  fillNormal(randomKey(seed, name), values.data(), count);
  for (float &value : values)
    value = mean + deviation * value;
  auto &slot = made[name];
  slot = {shape, std::move(values)};
  return slot.second.data();
}

} // namespace attnc
