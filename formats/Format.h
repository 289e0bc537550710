//===- Format.h - number formats ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The number formats in which a cache row can be stored. A format is data: the
// interpreter, the code generators, the runtime and the report all read this
// description, so a new one is added here and nowhere else.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FORMATS_FORMAT_H
#define ATTNC_FORMATS_FORMAT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attnc {

/// Element encodings. F32 stands for "exact": no rounding beyond f32 itself.
enum class Elem : uint8_t { F32, BF16, F16, E4M3, E5M2, E2M1 };

/// Encodings of a block's scale. None: elements are stored as they are.
enum class Scale : uint8_t { None, F32, E8M0, E4M3 };

/// `elem`, one scale of type `scale` per `block` consecutive channels
/// (block 0: no scales; block -1: one scale per row).
struct Format {
  Elem elem = Elem::F32;
  int64_t block = 0;
  Scale scale = Scale::None;

  bool operator==(const Format &o) const {
    return elem == o.elem && block == o.block && scale == o.scale;
  }
  bool operator!=(const Format &o) const { return !(*this == o); }

  /// Bits of one element (E2M1: 4).
  unsigned elementBits() const;
  /// Bytes of the elements of `channels` channels; an odd count of 4-bit
  /// elements rounds up to a whole byte.
  int64_t dataBytes(int64_t channels) const;
  /// Bytes of the scales of `channels` channels; a partial last block counts.
  int64_t scaleBytes(int64_t channels) const;
  int64_t bytes(int64_t channels) const {
    return dataBytes(channels) + scaleBytes(channels);
  }

  /// "bf16", "e4m3 block 64 scale e8m0": the spelling used in every report.
  std::string str() const;
};

std::string_view stringify(Elem elem);
std::string_view stringify(Scale scale);
std::optional<Elem> parseElem(std::string_view text);
std::optional<Scale> parseScale(std::string_view text);
/// The inverse of Format::str().
std::optional<Format> parseFormat(std::string_view text);

/// Rounds `x` to bf16 (round to nearest even; NaN stays NaN, quiet).
uint16_t encodeBF16(float x);
float decodeBF16(uint16_t bits);
uint16_t encodeF16(float x);
float decodeF16(uint16_t bits);

/// Packs `channels` values into `data` (and `scales`, for block formats) and
/// back. `data` holds dataBytes(channels) bytes, `scales` scaleBytes(channels).
void encode(const Format &format, const float *values, int64_t channels,
            uint8_t *data, uint8_t *scales);
void decode(const Format &format, const uint8_t *data, const uint8_t *scales,
            int64_t channels, float *values);

/// decode(encode(x)): what a reader of the stored row sees, in f64.
void roundTrip(const Format &format, double *values, int64_t channels);

} // namespace attnc

#endif // ATTNC_FORMATS_FORMAT_H
