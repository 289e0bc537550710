//===- Json.h - a JSON document that knows its places
//----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Config files come from many writers. This reader keeps what a good complaint
// needs (line, column and order of every value), tolerates what the common
// Python writer emits (a byte-order mark, bare NaN and Infinity) and refuses
// what makes two readers of one file disagree: repeated keys, integers that no
// integer type holds, numbers that overflow.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FRONTEND_JSON_H
#define ATTNC_FRONTEND_JSON_H

#include "formats/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// Line and column, both counted from 1; columns count bytes.
struct TextPosition {
  int64_t line = 1, column = 1;
};

/// The place of byte `offset` of `text`.
TextPosition positionOf(std::string_view text, size_t offset);

/// "FILE:LINE:COL: message".
std::string atPosition(const std::string &file, TextPosition position,
                       const std::string &message);

struct JsonNode {
  /// NonFinite: a bare NaN, Infinity or -Infinity, which is not JSON. It may
  /// stand in a field that nobody reads.
  enum class Kind : uint8_t {
    Null,
    Bool,
    Integer,
    Float,
    NonFinite,
    String,
    Array,
    Object
  };

  Kind kind = Kind::Null;
  bool boolean = false;
  int64_t integer = 0;            ///< Integer
  double number = 0;              ///< Integer and Float
  std::string text;               ///< String; NonFinite: as written
  std::vector<std::string> keys;  ///< Object, in file order, each once
  std::vector<JsonNode> elements; ///< Array, or the values of an object
  TextPosition position;

  /// The member `key` of an object, or null.
  const JsonNode *find(std::string_view key) const;
  /// The value as a message shows it: short, on one line.
  std::string str() const;
  /// Same value; numbers compare as numbers, objects without order.
  bool operator==(const JsonNode &other) const;
};

/// Appends "/key" to a JSON pointer, escaped as RFC 6901 says.
std::string joinPointer(const std::string &pointer, std::string_view key);

/// Parses a config. Nesting deeper than 64 is refused. A failed result is
/// "FILE:LINE:COL: found; expected", or "FILE at POINTER: ..." for repeated
/// keys.
Result<JsonNode> parseConfigJson(std::string_view text,
                                 const std::string &file);

} // namespace attnc

#endif // ATTNC_FRONTEND_JSON_H
