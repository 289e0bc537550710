//===- Result.h - a value or one sentence of error --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// No exception crosses one of our interfaces. A function that can fail returns
// a Result, or, when it has no value to give, an error text that is empty on
// success. Texts start in lower case and end without a full stop.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FORMATS_RESULT_H
#define ATTNC_FORMATS_RESULT_H

#include <string>
#include <utility>
#include <variant>

namespace attnc {

/// Turns a text into a failed Result of any type: `return Error{"..."};`.
struct Error {
  std::string message;
};

template <typename T> class Result {
public:
  Result(T value) : storage(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : storage(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return storage.index() == 0; }
  T &operator*() { return *std::get_if<0>(&storage); }
  const T &operator*() const { return *std::get_if<0>(&storage); }
  T *operator->() { return std::get_if<0>(&storage); }
  const T *operator->() const { return std::get_if<0>(&storage); }

  /// The text of a failed result; only to be asked for when there is one.
  const std::string &error() const { return std::get_if<1>(&storage)->message; }

private:
  std::variant<T, Error> storage;
};

} // namespace attnc

#endif // ATTNC_FORMATS_RESULT_H
