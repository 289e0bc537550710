//===- Sha256.h - checksums of artifact files -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FORMATS_SHA256_H
#define ATTNC_FORMATS_SHA256_H

#include "formats/Result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace attnc {

/// SHA-256 of `size` bytes, as 64 lower-case hexadecimal digits.
std::string sha256(const void *data, size_t size);
inline std::string sha256(std::string_view text) {
  return sha256(text.data(), text.size());
}

/// SHA-256 of a file's content.
Result<std::string> sha256File(const std::string &path);

} // namespace attnc

#endif // ATTNC_FORMATS_SHA256_H
