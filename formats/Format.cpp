//===- Format.cpp - names and sizes of number formats -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/Format.h"

#include <charconv>

namespace attnc {

unsigned Format::elementBits() const {
  switch (elem) {
  case Elem::F32:
    return 32;
  case Elem::BF16:
  case Elem::F16:
    return 16;
  case Elem::E4M3:
  case Elem::E5M2:
    return 8;
  case Elem::E2M1:
    return 4;
  }
  return 0;
}

int64_t Format::dataBytes(int64_t channels) const {
  return (channels * elementBits() + 7) / 8;
}

int64_t Format::scaleBytes(int64_t channels) const {
  if (block == 0 || scale == Scale::None || channels == 0)
    return 0;
  int64_t blocks = block < 0 ? 1 : (channels + block - 1) / block;
  return blocks * (scale == Scale::F32 ? 4 : 1);
}

std::string Format::str() const {
  std::string text(stringify(elem));
  if (block == 0 || scale == Scale::None)
    return text;
  text += block < 0 ? " block row" : " block " + std::to_string(block);
  return text + " scale " + std::string(stringify(scale));
}

std::string_view stringify(Elem elem) {
  switch (elem) {
  case Elem::F32:
    return "f32";
  case Elem::BF16:
    return "bf16";
  case Elem::F16:
    return "f16";
  case Elem::E4M3:
    return "e4m3";
  case Elem::E5M2:
    return "e5m2";
  case Elem::E2M1:
    return "e2m1";
  }
  return "";
}

std::string_view stringify(Scale scale) {
  switch (scale) {
  case Scale::None:
    return "none";
  case Scale::F32:
    return "f32";
  case Scale::E8M0:
    return "e8m0";
  case Scale::E4M3:
    return "e4m3";
  }
  return "";
}

std::optional<Elem> parseElem(std::string_view text) {
  for (Elem elem : {Elem::F32, Elem::BF16, Elem::F16, Elem::E4M3, Elem::E5M2,
                    Elem::E2M1})
    if (text == stringify(elem))
      return elem;
  return std::nullopt;
}

std::optional<Scale> parseScale(std::string_view text) {
  for (Scale scale : {Scale::None, Scale::F32, Scale::E8M0, Scale::E4M3})
    if (text == stringify(scale))
      return scale;
  return std::nullopt;
}

std::optional<Format> parseFormat(std::string_view text) {
  Format format;
  size_t blockAt = text.find(" block "), scaleAt = text.find(" scale ");
  std::optional<Elem> elem = parseElem(text.substr(0, blockAt));
  if (!elem)
    return std::nullopt;
  format.elem = *elem;
  if (blockAt == text.npos)
    return format;
  if (scaleAt == text.npos || scaleAt < blockAt + 7)
    return std::nullopt;
  std::string_view block = text.substr(blockAt + 7, scaleAt - blockAt - 7);
  std::optional<Scale> scale = parseScale(text.substr(scaleAt + 7));
  if (!scale || *scale == Scale::None)
    return std::nullopt;
  format.scale = *scale;
  if (block == "row") {
    format.block = -1;
    return format;
  }
  const char *end = block.data() + block.size();
  auto [at, status] = std::from_chars(block.data(), end, format.block);
  if (status != std::errc() || at != end || format.block <= 0)
    return std::nullopt;
  return format;
}

} // namespace attnc
