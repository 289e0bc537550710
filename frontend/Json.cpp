//===- Json.cpp - a JSON document that knows its places
//--------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The grammar is nlohmann's; its events carry no positions. As the library has
// accepted every token by the time it reports it, a cursor that skips one token
// per event finds them with a few rules.
//
//===----------------------------------------------------------------------===//

#include "frontend/Json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <unordered_map>

namespace attnc {

static constexpr size_t maxDepth = 64;

TextPosition positionOf(std::string_view text, size_t offset) {
  text = text.substr(0, std::min(offset, text.size()));
  TextPosition position;
  position.line += std::count(text.begin(), text.end(), '\n');
  size_t newline = text.rfind('\n');
  position.column +=
      text.size() - (newline == std::string_view::npos ? 0 : newline + 1);
  return position;
}

std::string atPosition(const std::string &file, TextPosition position,
                       const std::string &message) {
  return file + ":" + std::to_string(position.line) + ":" +
         std::to_string(position.column) + ": " + message;
}

std::string joinPointer(const std::string &pointer, std::string_view key) {
  std::string result = pointer + "/";
  for (char c : key) {
    if (c == '~')
      result += "~0";
    else if (c == '/')
      result += "~1";
    else
      result += c;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

const JsonNode *JsonNode::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key)
      return &elements[i];
  return nullptr;
}

static std::string quote(const std::string &text) {
  constexpr size_t limit = 40;
  std::string result = "\"";
  for (unsigned char c : text.substr(0, limit))
    result += c < 0x20 || c == 0x7f ? '?' : char(c);
  return result + (text.size() > limit ? "...\"" : "\"");
}

std::string JsonNode::str() const {
  switch (kind) {
  case Kind::Null:
    return "null";
  case Kind::Bool:
    return boolean ? "true" : "false";
  case Kind::Integer:
    return std::to_string(integer);
  case Kind::Float:
    return nlohmann::json(number).dump();
  case Kind::NonFinite:
    return text;
  case Kind::String:
    return quote(text);
  case Kind::Array:
    return "a list of " + std::to_string(elements.size());
  case Kind::Object:
    return "an object of " + std::to_string(elements.size());
  }
  return "";
}

bool JsonNode::operator==(const JsonNode &other) const {
  auto isNumber = [](Kind k) { return k == Kind::Integer || k == Kind::Float; };
  if (isNumber(kind) && isNumber(other.kind))
    return kind == Kind::Integer && other.kind == Kind::Integer
               ? integer == other.integer
               : number == other.number;
  if (kind != other.kind)
    return false;
  if (kind == Kind::Object) {
    if (keys.size() != other.keys.size())
      return false;
    for (size_t i = 0; i < keys.size(); ++i) {
      const JsonNode *match = other.find(keys[i]);
      if (!match || !(elements[i] == *match))
        return false;
    }
    return true;
  }
  return boolean == other.boolean && text == other.text &&
         elements == other.elements;
}

//===----------------------------------------------------------------------===//
// Bare NaN and Infinity
//===----------------------------------------------------------------------===//

/// Replaces bare NaN, Infinity and -Infinity by a number of the same length and
/// remembers where they were. Strings stay as they are.
static std::unordered_map<size_t, std::string>
hideNonFinite(std::string &text) {
  std::unordered_map<size_t, std::string> found;
  auto isWordByte = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '-' || c == '+' || c == '.';
  };
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
      continue;
    }
    if (c == '"') {
      inString = true;
      continue;
    }
    if (!isWordByte(c))
      continue;
    size_t end = i;
    while (end < text.size() && isWordByte(text[end]))
      ++end;
    std::string word = text.substr(i, end - i);
    if (word == "NaN" || word == "Infinity" || word == "-Infinity") {
      text.replace(i, word.size(), "0" + std::string(word.size() - 1, ' '));
      found.emplace(i, word);
    }
    i = end - 1;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

/// Builds the tree from the library's events. The first complaint stays in
/// `error`; every callback returns false after it.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
public:
  TreeBuilder(std::string_view text, std::string file,
              const std::unordered_map<size_t, std::string> &nonFinite)
      : text(text), file(std::move(file)), nonFinite(nonFinite) {}

  JsonNode root;
  std::string error;

  bool null() override {
    return scalar(JsonNode::Kind::Null, [](JsonNode &) {});
  }
  bool boolean(bool value) override {
    return scalar(JsonNode::Kind::Bool,
                  [&](JsonNode &n) { n.boolean = value; });
  }
  bool number_integer(int64_t value) override {
    auto hidden = nonFinite.find(skipToToken());
    if (hidden != nonFinite.end())
      return scalar(JsonNode::Kind::NonFinite,
                    [&](JsonNode &n) { n.text = hidden->second; });
    return scalar(JsonNode::Kind::Integer, [&](JsonNode &n) {
      n.integer = value;
      n.number = double(value);
    });
  }
  bool number_unsigned(uint64_t value) override {
    if (value > uint64_t(std::numeric_limits<int64_t>::max()))
      return tooLarge(std::to_string(value));
    return number_integer(int64_t(value));
  }
  bool number_float(double value, const std::string &written) override {
    // The library turns integers that fit no 64 bits into floats.
    if (written.find_first_of(".eE") == std::string::npos)
      return tooLarge(written);
    return scalar(JsonNode::Kind::Float,
                  [&](JsonNode &n) { n.number = value; });
  }
  bool string(std::string &value) override {
    return scalar(JsonNode::Kind::String,
                  [&](JsonNode &n) { n.text = std::move(value); });
  }
  bool binary(nlohmann::json::binary_t &) override { return false; }

  bool start_object(std::size_t) override {
    return open(JsonNode::Kind::Object);
  }
  bool start_array(std::size_t) override { return open(JsonNode::Kind::Array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string &name) override {
    skipToToken();
    skipToken();
    Level &level = levels.back();
    level.repeated = !level.seen.insert(name).second;
    level.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t offset, const std::string &token,
                   const nlohmann::json::exception &exception) override {
    std::string what = exception.what();
    TextPosition position = positionOf(text, offset ? offset - 1 : 0);
    if (dynamic_cast<const nlohmann::json::out_of_range *>(&exception)) {
      std::string number = token;
      position = positionOf(text, skipToToken());
      error = atPosition(file, position,
                         "found the number " + number +
                             "; expected one that a double holds");
      return false;
    }
    // The library writes "[json....] parse error at line 1, column 2: what".
    size_t at = what.find("syntax error");
    if (at != std::string::npos)
      what = what.substr(at);
    if (what.find("; expected") == std::string::npos)
      what += "; expected JSON";
    error = atPosition(file, position, what);
    return false;
  }

private:
  struct Level {
    JsonNode *node;
    std::string key;
    bool repeated = false;
    std::set<std::string> seen;
  };

  size_t skipToToken() {
    while (cursor < text.size() &&
           std::string_view(" \t\r\n,:").find(text[cursor]) !=
               std::string_view::npos)
      ++cursor;
    return cursor;
  }

  void skipToken() {
    if (text[cursor] == '"') {
      for (++cursor; cursor < text.size() && text[cursor] != '"'; ++cursor)
        cursor += text[cursor] == '\\';
      ++cursor;
      return;
    }
    if (std::string_view("[]{}").find(text[cursor]) != std::string_view::npos) {
      ++cursor;
      return;
    }
    while (cursor < text.size() &&
           std::string_view(" \t\r\n,:[]{}").find(text[cursor]) ==
               std::string_view::npos)
      ++cursor;
  }

  /// The node for the value that begins here, under its parent.
  JsonNode *add(JsonNode::Kind kind) {
    TextPosition position = advance(skipToToken());
    JsonNode *node = &root;
    if (!levels.empty()) {
      Level &level = levels.back();
      if (level.node->kind == JsonNode::Kind::Object)
        level.node->keys.push_back(level.key);
      node = &level.node->elements.emplace_back();
    }
    node->kind = kind;
    node->position = position;
    return node;
  }

  /// A repeated key is reported once its second value is known.
  bool checkRepeated() {
    if (levels.empty() || !levels.back().repeated)
      return true;
    const Level &level = levels.back();
    std::string pointer;
    for (size_t i = 0; i < levels.size(); ++i)
      pointer = joinPointer(
          pointer, levels[i].node->kind == JsonNode::Kind::Object
                       ? levels[i].key
                       : std::to_string(levels[i].node->elements.size() - 1));
    error = file + " at " + pointer + ": found the key twice, with " +
            level.node->find(level.key)->str() + " and " +
            level.node->elements.back().str() + "; expected it once";
    return false;
  }

  template <typename Fill>
  bool scalar(JsonNode::Kind kind, Fill fill) {
    JsonNode *node = add(kind);
    fill(*node);
    skipToken();
    return checkRepeated();
  }

  bool open(JsonNode::Kind kind) {
    if (levels.size() >= maxDepth) {
      error =
          atPosition(file, positionOf(text, skipToToken()),
                     "found nesting deeper than " + std::to_string(maxDepth) +
                         " levels; expected a config");
      return false;
    }
    JsonNode *node = add(kind);
    skipToken();
    levels.push_back({node, "", false, {}});
    return true;
  }

  bool close() {
    skipToToken();
    skipToken();
    levels.pop_back();
    return checkRepeated();
  }

  bool tooLarge(const std::string &written) {
    error = atPosition(file, positionOf(text, skipToToken()),
                       "found the integer " + written +
                           "; expected one of 64 bits");
    return false;
  }

  /// The position of `offset`, found from the last one asked for.
  TextPosition advance(size_t offset) {
    for (; known < offset; ++known) {
      if (text[known] == '\n')
        position = {position.line + 1, 1};
      else
        ++position.column;
    }
    return position;
  }

  std::string_view text;
  std::string file;
  const std::unordered_map<size_t, std::string> &nonFinite;
  std::vector<Level> levels;
  size_t cursor = 0;
  size_t known = 0;
  TextPosition position;
};

} // namespace

/// Names files that are no JSON text at all; empty for the others.
static std::string refuseEncoding(std::string_view text) {
  auto startsWith = [&](std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
  };
  if (startsWith("\xFF\xFE") || startsWith("\xFE\xFF") ||
      text.substr(0, 4).find('\0') != std::string_view::npos)
    return "found UTF-16 or UTF-32 text; expected UTF-8";
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return "found an empty file; expected a JSON object";
  return "";
}

Result<JsonNode> parseConfigJson(std::string_view text,
                                 const std::string &file) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF")
    text.remove_prefix(3);
  std::string refusal = refuseEncoding(text);
  if (!refusal.empty())
    return Error{atPosition(file, {}, refusal)};

  std::string plain(text);
  auto nonFinite = hideNonFinite(plain);
  TreeBuilder builder(plain, file, nonFinite);
  bool parsed = nlohmann::json::sax_parse(plain, &builder);
  if (!parsed)
    return Error{builder.error};
  return std::move(builder.root);
}

} // namespace attnc
