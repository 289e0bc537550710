//===- Json.cpp - reading JSON that may be hostile --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/Json.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <sys/stat.h>

namespace attnc {

namespace {
constexpr size_t maxDepth = 64;

/// Thrown by the parse callback; caught in parseJson.
struct Refusal {
  std::string message;
};

/// Sees every key and every bracket while a document is parsed.
class Watcher {
public:
  void see(Json::parse_event_t event, const Json &value) {
    using Event = Json::parse_event_t;
    switch (event) {
    case Event::object_start:
    case Event::array_start:
      keys.emplace_back();
      if (keys.size() > maxDepth)
        throw Refusal{"nested deeper than " + std::to_string(maxDepth) +
                      " levels; expected a shallow document"};
      return;
    case Event::object_end:
    case Event::array_end:
      keys.pop_back();
      return;
    case Event::key: {
      const auto &key = value.get_ref<const std::string &>();
      if (!keys.back().insert(key).second)
        throw Refusal{"the key '" + key +
                      "' occurs twice in one object; expected it once"};
      return;
    }
    case Event::value:
      return;
    }
  }

private:
  std::vector<std::set<std::string>> keys;
};

std::string lineAndColumn(std::string_view text, size_t byte) {
  byte = std::min(byte ? byte - 1 : 0, text.size());
  size_t line = 1 + std::count(text.begin(), text.begin() + byte, '\n');
  size_t start = text.rfind('\n', byte ? byte - 1 : 0);
  if (start == text.npos || start >= byte)
    start = 0;
  else
    ++start;
  return std::to_string(line) + ":" + std::to_string(byte - start + 1);
}

/// The interesting part of the library's message.
std::string reason(const std::string &what) {
  size_t at = what.find("syntax error");
  if (at == what.npos)
    at = what.rfind("] ") == what.npos ? 0 : what.rfind("] ") + 2;
  return what.substr(at);
}

/// A short rendering of a value for messages.
std::string show(const Json &value) {
  if (value.is_structured())
    return value.is_object() ? "an object" : "an array";
  std::string text =
      value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 60)
    text = text.substr(0, 60) + "...";
  return text;
}

/// Stands for every member and element after a failure.
const Json nothing;
} // namespace

Result<Json> parseJson(std::string_view text, const std::string &file) {
  Watcher watcher;
  try {
    return Json::parse(text.begin(), text.end(),
                       [&](int, Json::parse_event_t event, Json &value) {
                         watcher.see(event, value);
                         return true;
                       });
  } catch (const Refusal &refusal) {
    return Error{file + ": " + refusal.message};
  } catch (const Json::parse_error &error) {
    return Error{file + ":" + lineAndColumn(text, error.byte) + ": " +
                 reason(error.what()) + "; expected JSON"};
  } catch (const std::exception &error) {
    return Error{file + ": " + reason(error.what()) + "; expected JSON"};
  }
}

Result<std::string> readTextFile(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return Error{path + ": " + std::strerror(errno) +
                 "; expected a readable file"};
  if (!S_ISREG(info.st_mode))
    return Error{path + ": not a regular file; expected a readable file"};
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return Error{path + ": " + std::strerror(errno) +
                 "; expected a readable file"};
  std::string text;
  char buffer[1 << 14];
  size_t got;
  while ((got = std::fread(buffer, 1, sizeof buffer, file)) > 0)
    text.append(buffer, got);
  bool bad = std::ferror(file);
  std::fclose(file);
  if (bad)
    return Error{path + ": reading failed; expected a readable file"};
  return text;
}

void JsonReader::fail(const std::string &message) const {
  if (!errors->failed())
    errors->first = errors->file + " at " + (pointer.empty() ? "/" : pointer) +
                    ": " + message;
}

bool JsonReader::has(const char *key) const {
  return value->is_object() && value->contains(key);
}

JsonReader JsonReader::at(const char *key) const {
  std::string inner = pointer + "/" + key;
  if (!value->is_object()) {
    fail("found " + show(*value) + "; expected an object");
    return {nothing, *errors, inner};
  }
  auto found = value->find(key);
  if (found == value->end()) {
    fail(std::string("the key '") + key + "' is missing");
    return {nothing, *errors, inner};
  }
  return {*found, *errors, inner};
}

JsonReader JsonReader::at(size_t index) const {
  std::string inner = pointer + "/" + std::to_string(index);
  if (!value->is_array() || index >= value->size()) {
    fail("element " + std::to_string(index) + " is missing");
    return {nothing, *errors, inner};
  }
  return {(*value)[index], *errors, inner};
}

size_t JsonReader::size(size_t limit) const {
  if (!value->is_array()) {
    fail("found " + show(*value) + "; expected an array");
    return 0;
  }
  if (value->size() > limit) {
    fail("found " + std::to_string(value->size()) +
         " elements; expected at most " + std::to_string(limit));
    return 0;
  }
  return value->size();
}

void JsonReader::only(std::initializer_list<const char *> known) const {
  if (!value->is_object()) {
    fail("found " + show(*value) + "; expected an object");
    return;
  }
  for (auto it = value->begin(); it != value->end(); ++it)
    if (std::find(known.begin(), known.end(), it.key()) == known.end())
      fail("found the key '" + it.key() + "', which nothing reads");
}

int64_t JsonReader::integer(int64_t min, int64_t max) const {
  bool fits = value->is_number_integer() &&
              (!value->is_number_unsigned() ||
               value->get<uint64_t>() <=
                   uint64_t(std::numeric_limits<int64_t>::max()));
  if (!fits) {
    fail("found " + show(*value) + "; expected an integer");
    return std::max<int64_t>(min, 0);
  }
  int64_t result = value->get<int64_t>();
  if (result < min || result > max) {
    fail("found " + std::to_string(result) + "; expected an integer from " +
         std::to_string(min) + " to " + std::to_string(max));
    return std::max<int64_t>(min, 0);
  }
  return result;
}

double JsonReader::number() const {
  if (value->is_number())
    return value->get<double>();
  fail("found " + show(*value) + "; expected a number");
  return 0;
}

bool JsonReader::boolean() const {
  if (value->is_boolean())
    return value->get<bool>();
  fail("found " + show(*value) + "; expected true or false");
  return false;
}

std::string JsonReader::text() const {
  if (value->is_string())
    return value->get<std::string>();
  fail("found " + show(*value) + "; expected a string");
  return "";
}

std::vector<int64_t> JsonReader::integers(int64_t min, int64_t max,
                                          size_t limit) const {
  std::vector<int64_t> result(size(limit));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = at(i).integer(min, max);
  return result;
}

} // namespace attnc
