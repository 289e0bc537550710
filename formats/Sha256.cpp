//===- Sha256.cpp - checksums of artifact files -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// FIPS 180-4. Written out here, so that neither the compiler nor the runtime
// depends on a cryptography library for a checksum.
//
//===----------------------------------------------------------------------===//
#include "formats/Sha256.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace attnc {

namespace {
constexpr uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

class Hasher {
public:
  void update(const uint8_t *data, size_t size) {
    total += size;
    while (size > 0) {
      size_t take = std::min(size, block.size() - filled);
      std::memcpy(block.data() + filled, data, take);
      filled += take;
      data += take;
      size -= take;
      if (filled == block.size())
        flush();
    }
  }

  std::string finish() {
    uint64_t bits = total * 8;
    uint8_t pad = 0x80;
    update(&pad, 1);
    for (pad = 0; filled != 56;)
      update(&pad, 1);
    for (int shift = 56; shift >= 0; shift -= 8) {
      uint8_t byte = uint8_t(bits >> shift);
      update(&byte, 1);
    }
    std::string text;
    for (uint32_t word : state)
      for (int shift = 28; shift >= 0; shift -= 4)
        text += "0123456789abcdef"[word >> shift & 15];
    return text;
  }

private:
  void flush() {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i)
      w[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 |
             uint32_t(block[4 * i + 2]) << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; ++i) {
      uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
             (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    std::array<uint32_t, 8> s = state;
    for (int i = 0; i < 64; ++i) {
      uint32_t t1 = s[7] +
                    (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
                    ((s[4] & s[5]) ^ (~s[4] & s[6])) + roundConstants[i] + w[i];
      uint32_t t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
                    ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
    }
    for (int i = 0; i < 8; ++i)
      state[i] += s[i];
    filled = 0;
  }

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                   0xa54ff53a, 0x510e527f, 0x9b05688c,
                                   0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> block{};
  size_t filled = 0;
  uint64_t total = 0;
};
} // namespace

std::string sha256(const void *data, size_t size) {
  Hasher hasher;
  hasher.update(static_cast<const uint8_t *>(data), size);
  return hasher.finish();
}

Result<std::string> sha256File(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return Error{path + ": cannot be opened; expected a readable file"};
  Hasher hasher;
  std::vector<uint8_t> buffer(1 << 16);
  size_t got;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), file)) > 0)
    hasher.update(buffer.data(), got);
  bool bad = std::ferror(file);
  std::fclose(file);
  if (bad)
    return Error{path + ": reading failed; expected a readable file"};
  return hasher.finish();
}

} // namespace attnc
