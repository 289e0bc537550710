//===- ArgList.h - the arguments of one kernel call -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_RUNTIME_ARGLIST_H
#define ATTNC_RUNTIME_ARGLIST_H

#include "formats/KernelAbi.h"
#include "formats/Program.h"

#include <cstdint>
#include <cstring>

namespace attnc {

/// A row source as attend kernels take it (formats/KernelAbi.h).
struct RowSource {
  const void *base = nullptr;
  const int32_t *table = nullptr;
  int64_t pageBytes = 0, pageEntries = 1, modulo = 0, first = 0;
  int64_t slotStride = 0, headStride = 0;
};

/// Builds an argument list in the order of formats/KernelAbi.h. checkProgram
/// bounds the operands of a launch, so the room always suffices.
class ArgList {
public:
  void pointer(const void *value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    values[count++] = bits;
  }
  void integer(int64_t value) { values[count++] = uint64_t(value); }
  /// A view whose token 0 lies `shift` tokens into the buffer.
  void view(const View &view, float *buffer, int64_t shift = 0) {
    pointer(buffer + view.offset + shift * view.tokenStride);
    integer(view.tokenStride);
    integer(view.headStride);
  }
  void source(const RowSource &source) {
    pointer(source.base);
    pointer(source.table);
    integer(source.pageBytes);
    integer(source.pageEntries);
    integer(source.modulo);
    integer(source.first);
    integer(source.slotStride);
    integer(source.headStride);
  }

  /// Calls `fn` with the arguments given so far.
  void call(KernelFn fn) {
    void *pointers[room];
    for (int i = 0; i < count; ++i)
      pointers[i] = &values[i];
    fn(pointers);
  }

  ArgList() = default;
  ArgList(const ArgList &other) : count(other.count) {
    std::memcpy(values, other.values, size_t(count) * sizeof values[0]);
  }
  ArgList &operator=(const ArgList &) = delete;

private:
  static constexpr int room = 256;
  int count = 0;
  uint64_t values[room];
};

} // namespace attnc

#endif // ATTNC_RUNTIME_ARGLIST_H
