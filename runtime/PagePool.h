//===- PagePool.h - the pages of one cache ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_RUNTIME_PAGEPOOL_H
#define ATTNC_RUNTIME_PAGEPOOL_H

#include <cstdint>
#include <vector>

namespace attnc {

/// Equally large, reference-counted pages in one address range. Sizes are 64
/// bits wide; page numbers are int32, as page tables are.
class PagePool {
public:
  /// `capacity` 0: grows on demand; otherwise that many pages at most. With
  /// `poison`, an allocated page is filled with 0xFF bytes.
  PagePool(int64_t pageBytes, int64_t capacity, bool poison);
  ~PagePool();
  PagePool(PagePool &&other) noexcept;
  PagePool(const PagePool &) = delete;
  PagePool &operator=(const PagePool &) = delete;

  /// Makes sure that `count` more pages can be allocated; false when they
  /// cannot. May move the pages: base() changes.
  bool reserve(int64_t count);
  /// A page with one reference, or -1.
  int32_t allocate();
  void retain(int32_t page) { ++references[page]; }
  /// Gives back one reference; the page is free when none is left.
  void release(int32_t page);
  bool shared(int32_t page) const { return references[page] > 1; }

  uint8_t *base() const { return memory; }
  uint8_t *page(int32_t number) const { return memory + number * bytes; }
  int64_t pageBytes() const { return bytes; }
  int64_t used() const { return int64_t(references.size() - freed.size()); }

private:
  bool grow(int64_t pages);

  int64_t bytes = 0, limit = 0;
  bool poisoned = false;
  uint8_t *memory = nullptr;
  int64_t mappedBytes = 0;
  std::vector<int32_t> references; ///< of every page ever handed out
  std::vector<int32_t> freed;      ///< numbers to be used again, newest first
};

} // namespace attnc

#endif // ATTNC_RUNTIME_PAGEPOOL_H
