//===- Pack.cpp - rows of values to bytes and back --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The block quantisers are those of the public models: the block's largest
// magnitude, not below a floor, divided by the largest element gives the scale.
// E8M0 and F32 scales are rounded up to a power of two, so no element
// saturates; an E4M3 scale is rounded to nearest, so some may. A NaN in a block
// makes its scale NaN, and with it the whole block; an infinity counts as the
// largest scale.
//
//===----------------------------------------------------------------------===//
#include "formats/Encoding.h"
#include "formats/Format.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace attnc {

/// The floor under a block's largest magnitude.
static float amaxFloor(const Format &format) {
  if (format.elem != Elem::E2M1)
    return 1e-4f;
  return format.scale == Scale::E4M3 ? 6 * 0x1p-9f : 6 * 0x1p-126f;
}

/// The largest magnitude of a block; NaN if there is one.
static float blockMax(const float *values, int64_t count) {
  float most = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(values[i]))
      return NAN;
    most = std::max(most, std::fabs(values[i]));
  }
  return most;
}

/// Chooses and stores the scale of a block; returns the stored scale's value.
static float encodeScale(const Format &format, float amax, uint8_t *to) {
  if (!std::isnan(amax))
    amax = std::max(amax, amaxFloor(format));
  if (format.scale == Scale::E4M3) {
    *to = encodeE4M3(amax / largest(format.elem));
    return decodeE4M3(*to);
  }
  uint8_t code = encodeE8M0Ceil(amax * (1 / largest(format.elem)));
  float value = decodeE8M0(code);
  if (format.scale == Scale::E8M0)
    *to = code;
  else
    std::memcpy(to, &value, sizeof value);
  return value;
}

static float decodeScale(Scale scale, const uint8_t *from) {
  if (scale == Scale::E8M0)
    return decodeE8M0(*from);
  if (scale == Scale::E4M3)
    return decodeE4M3(*from);
  float value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

static void storeElement(Elem elem, float x, int64_t i, uint8_t *data) {
  uint16_t half;
  switch (elem) {
  case Elem::F32:
    std::memcpy(data + 4 * i, &x, 4);
    return;
  case Elem::BF16:
  case Elem::F16:
    half = elem == Elem::BF16 ? encodeBF16(x) : encodeF16(x);
    std::memcpy(data + 2 * i, &half, 2);
    return;
  case Elem::E4M3:
    data[i] = encodeE4M3(x);
    return;
  case Elem::E5M2:
    data[i] = encodeE5M2(x);
    return;
  case Elem::E2M1:
    // The even element is the low nibble; it comes first and clears the byte.
    data[i / 2] = i % 2 ? uint8_t(data[i / 2] | encodeE2M1(x) << 4)
                        : encodeE2M1(x);
    return;
  }
}

static float loadElement(Elem elem, const uint8_t *data, int64_t i) {
  uint16_t half;
  float x;
  switch (elem) {
  case Elem::F32:
    std::memcpy(&x, data + 4 * i, 4);
    return x;
  case Elem::BF16:
  case Elem::F16:
    std::memcpy(&half, data + 2 * i, 2);
    return elem == Elem::BF16 ? decodeBF16(half) : decodeF16(half);
  case Elem::E4M3:
    return decodeE4M3(data[i]);
  case Elem::E5M2:
    return decodeE5M2(data[i]);
  case Elem::E2M1:
    return decodeE2M1(i % 2 ? data[i / 2] >> 4 : data[i / 2] & 15);
  }
  return 0;
}

static bool scaled(const Format &format) {
  return format.block != 0 && format.scale != Scale::None;
}

static int64_t blockSize(const Format &format, int64_t channels) {
  return format.block < 0 ? channels : format.block;
}

void encode(const Format &format, const float *values, int64_t channels,
            uint8_t *data, uint8_t *scales) {
  if (!scaled(format)) {
    for (int64_t i = 0; i < channels; ++i)
      storeElement(format.elem, values[i], i, data);
    return;
  }
  int64_t block = blockSize(format, channels);
  int64_t scaleSize = format.scale == Scale::F32 ? 4 : 1;
  float most = largest(format.elem);
  for (int64_t first = 0; first < channels; first += block) {
    int64_t end = std::min(first + block, channels);
    float scale =
        encodeScale(format, blockMax(values + first, end - first), scales);
    scales += scaleSize;
    for (int64_t i = first; i < end; ++i) {
      float x = values[i] / scale;
      // Not std::clamp: a NaN has to stay one.
      x = x > most ? most : x < -most ? -most : x;
      storeElement(format.elem, x, i, data);
    }
  }
}

void decode(const Format &format, const uint8_t *data, const uint8_t *scales,
            int64_t channels, float *values) {
  int64_t block = scaled(format) ? blockSize(format, channels) : channels;
  int64_t scaleSize = format.scale == Scale::F32 ? 4 : 1;
  for (int64_t first = 0; first < channels; first += block) {
    float scale = 1;
    if (scaled(format)) {
      scale = decodeScale(format.scale, scales);
      scales += scaleSize;
    }
    int64_t end = std::min(first + block, channels);
    for (int64_t i = first; i < end; ++i)
      values[i] = loadElement(format.elem, data, i) * scale;
  }
}

void roundTrip(const Format &format, double *values, int64_t channels) {
  if (channels <= 0)
    return;
  std::vector<float> narrow(values, values + channels);
  if (format.elem != Elem::F32) {
    std::vector<uint8_t> data(format.dataBytes(channels));
    std::vector<uint8_t> scales(format.scaleBytes(channels));
    encode(format, narrow.data(), channels, data.data(), scales.data());
    decode(format, data.data(), scales.data(), channels, narrow.data());
  }
  std::copy(narrow.begin(), narrow.end(), values);
}

} // namespace attnc
