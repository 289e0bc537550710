//===- Json.h - reading JSON that may be hostile ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Two helpers for every JSON reader of ours. parseJson refuses what the JSON
// library tolerates (repeated keys, deep nesting). JsonReader walks a value,
// knows where it is, and keeps the first complaint, so that readers are
// straight-line code and every message names the file and the JSON pointer.
// Include it from libraries that are built with exceptions only.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FORMATS_JSON_H
#define ATTNC_FORMATS_JSON_H

#include "formats/Result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

using Json = nlohmann::json;

/// Parses `text`. Refused: syntax errors, a key that occurs twice in one
/// object, nesting deeper than 64. Messages read "FILE:LINE:COL: what".
Result<Json> parseJson(std::string_view text, const std::string &file);

/// Reads a whole file as text.
Result<std::string> readTextFile(const std::string &path);

/// The first complaint about a document; shared by the readers of its parts.
struct JsonErrors {
  std::string file;
  std::string first;

  bool failed() const { return !first.empty(); }
};

/// A place in a document. Every accessor returns a harmless value once
/// something has failed, so callers check once, at the end.
class JsonReader {
public:
  JsonReader(const Json &value, JsonErrors &errors, std::string pointer = "")
      : value(&value), errors(&errors), pointer(std::move(pointer)) {}

  /// Records "FILE at POINTER: message", unless something failed before.
  void fail(const std::string &message) const;
  bool ok() const { return !errors->failed(); }
  const std::string &where() const { return pointer; }
  const Json &json() const { return *value; }

  bool has(const char *key) const;
  /// The member `key`; complains when it is missing.
  JsonReader at(const char *key) const;
  /// Element `index` of an array.
  JsonReader at(size_t index) const;
  /// Number of elements; complains when this is no array or exceeds `limit`.
  size_t size(size_t limit = 1u << 20) const;
  /// Complains about members whose key is not in `known`.
  void only(std::initializer_list<const char *> known) const;

  int64_t integer(int64_t min = std::numeric_limits<int64_t>::min(),
                  int64_t max = std::numeric_limits<int64_t>::max()) const;
  double number() const;
  bool boolean() const;
  std::string text() const;
  std::vector<int64_t>
  integers(int64_t min = std::numeric_limits<int64_t>::min(),
           int64_t max = std::numeric_limits<int64_t>::max(),
           size_t limit = 1u << 20) const;

private:
  const Json *value;
  JsonErrors *errors;
  std::string pointer;
};

} // namespace attnc

#endif // ATTNC_FORMATS_JSON_H
