//===- PagePool.cpp - the pages of one cache --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/PagePool.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <sys/mman.h>
#include <utility>

namespace attnc {

PagePool::PagePool(int64_t pageBytes, int64_t capacity, bool poison)
    : bytes(pageBytes), limit(capacity), poisoned(poison) {
  constexpr int64_t numbers = std::numeric_limits<int32_t>::max();
  limit = limit > 0 ? std::min(limit, numbers) : numbers;
}

PagePool::~PagePool() {
  if (memory)
    ::munmap(memory, size_t(mappedBytes));
}

PagePool::PagePool(PagePool &&other) noexcept
    : bytes(other.bytes), limit(other.limit), poisoned(other.poisoned),
      memory(std::exchange(other.memory, nullptr)),
      mappedBytes(std::exchange(other.mappedBytes, 0)),
      references(std::move(other.references)), freed(std::move(other.freed)) {}

/// Makes room for `pages` pages in all.
bool PagePool::grow(int64_t pages) {
  int64_t wanted;
  if (__builtin_mul_overflow(pages, bytes, &wanted))
    return false;
  if (wanted <= mappedBytes)
    return true;
  // Half as much again, so that growing costs little; but never a page beyond
  // a capacity that was asked for.
  int64_t room = std::min(limit, pages + pages / 2);
  if (!__builtin_mul_overflow(room, bytes, &room))
    wanted = std::max(wanted, room);
  void *moved =
      memory ? ::mremap(memory, size_t(mappedBytes), size_t(wanted),
                        MREMAP_MAYMOVE)
             : ::mmap(nullptr, size_t(wanted), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (moved == MAP_FAILED)
    return false;
  memory = static_cast<uint8_t *>(moved);
  mappedBytes = wanted;
  return true;
}

bool PagePool::reserve(int64_t count) {
  int64_t fresh = count - int64_t(freed.size());
  if (fresh <= 0)
    return true;
  int64_t pages = int64_t(references.size()) + fresh;
  return pages <= limit && grow(pages);
}

int32_t PagePool::allocate() {
  if (!reserve(1))
    return -1;
  int32_t number = int32_t(references.size());
  if (!freed.empty()) {
    number = freed.back();
    freed.pop_back();
    references[number] = 1;
  } else {
    references.push_back(1);
  }
  if (poisoned)
    std::memset(page(number), 0xFF, size_t(bytes));
  return number;
}

void PagePool::release(int32_t page) {
  if (--references[page] == 0)
    freed.push_back(page);
}

} // namespace attnc
