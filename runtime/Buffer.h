//===- Buffer.h - aligned memory that only grows ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_RUNTIME_BUFFER_H
#define ATTNC_RUNTIME_BUFFER_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace attnc {

/// Bytes, 64-byte aligned, not initialised; kept from step to step.
class Buffer {
public:
  Buffer() = default;
  ~Buffer() { std::free(memory); }
  Buffer(Buffer &&other) noexcept
      : memory(std::exchange(other.memory, nullptr)),
        capacity(std::exchange(other.capacity, 0)) {}
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  /// At least `bytes` bytes, with the first `keep` of the old content. Throws
  /// std::bad_alloc.
  void *reserve(int64_t bytes, int64_t keep = 0) {
    if (bytes <= capacity)
      return memory;
    int64_t wanted =
        std::max(bytes, keep > 0 ? capacity + capacity / 2 : bytes);
    void *fresh = nullptr;
    if (::posix_memalign(&fresh, 64, size_t((wanted + 63) / 64 * 64)) != 0)
      throw std::bad_alloc();
    if (keep > 0)
      std::memcpy(fresh, memory, size_t(std::min(keep, capacity)));
    std::free(memory);
    memory = fresh;
    capacity = wanted;
    return memory;
  }

  template <typename T = float> T *as() const { return static_cast<T *>(memory); }

private:
  void *memory = nullptr;
  int64_t capacity = 0;
};

} // namespace attnc

#endif // ATTNC_RUNTIME_BUFFER_H
