//===- MlirText.cpp - refuses text that would crash MLIR's parser
//----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The parser of LLVM 19 is recursive and dies on text nested tens of thousands
// deep, and on malformed sparse constants (llvm/llvm-project#132891). Our
// graphs are shallow and need neither, so a scan of the tokens refuses both.
//
//===----------------------------------------------------------------------===//

#include "frontend/InputText.h"
#include "frontend/Json.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace attnc {

namespace {

class Scanner {
public:
  Scanner(std::string_view text, const std::string &file)
      : text(text), file(file) {}

  std::string scan() {
    while (at < text.size() && error.empty())
      step();
    return error;
  }

private:
  static constexpr int64_t maxDepth = 64;

  void step() {
    char c = text[at];
    std::string_view two = text.substr(at, 2);
    if (two == "//")
      at = std::min(text.find('\n', at), text.size());
    else if (c == '"')
      skipString();
    else if (two == "->" || two == ">=" || two == "<=")
      at += 2;
    else if (text.substr(at, 3) == "{-#")
      fail(at, "resources", "a graph without them");
    else if (c == '(' || c == '[' || c == '{' || c == '<')
      open();
    else if (c == ')' || c == ']' || c == '}' || c == '>')
      close();
    else if (c == '#' || c == '!')
      scanAlias();
    else if (c == '@' || c == '%' || c == '^')
      skipName();
    else if (isNameByte(c))
      scanWord();
    else
      ++at;
  }

  static bool isNameByte(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           c == '$' || c == '.';
  }

  void skipString() {
    for (++at; at < text.size() && text[at] != '"'; ++at)
      at += text[at] == '\\';
    ++at;
  }

  void skipName() {
    ++at;
    readName();
  }

  std::string_view readName() {
    size_t start = at;
    while (at < text.size() && isNameByte(text[at]))
      ++at;
    return text.substr(start, at - start);
  }

  void open() {
    reach(++depth);
    ++at;
  }

  void close() {
    depth = std::max<int64_t>(depth - 1, 0);
    ++at;
  }

  void reach(int64_t reached) {
    deepest = std::max(deepest, reached);
    if (reached > maxDepth)
      fail(at, "nesting deeper than " + std::to_string(maxDepth) + " levels",
           "a shallow graph");
  }

  /// `#name` and `!name` stand for their definition, however deep that is.
  /// Names with a point belong to a dialect.
  void scanAlias() {
    size_t start = at++;
    std::string name(1, text[start]);
    name += readName();
    if (name.size() == 1 || name.find('.') != std::string::npos)
      return;
    size_t next = text.find_first_not_of(" \t\r\n", at);
    bool defines = next != std::string_view::npos && text[next] == '=' &&
                   text.substr(next, 2) != "==";
    if (defines) {
      finishAlias();
      defining = name;
      deepest = depth;
      return;
    }
    if (name == defining)
      finishAlias();
    auto known = aliases.find(name);
    if (known != aliases.end()) {
      at = start;
      reach(depth + known->second);
      at = start + name.size();
    }
  }

  /// What follows an alias up to the next one counts as its definition, which
  /// errs on the safe side.
  void finishAlias() {
    if (!defining.empty())
      aliases[defining] = deepest + 1;
    defining.clear();
  }

  void scanWord() {
    size_t start = at;
    std::string_view word = readName();
    size_t next = text.find_first_not_of(" \t\r\n", at);
    if (next == std::string_view::npos || text[next] != '<')
      return;
    for (const char *refused :
         {"sparse", "dense_resource", "affine_map", "affine_set"})
      if (word == refused)
        fail(start, "a '" + std::string(word) + "' attribute",
             "a graph without them");
  }

  void fail(size_t offset, const std::string &found,
            const std::string &expected) {
    if (error.empty())
      error = atPosition(file, positionOf(text, offset),
                         "found " + found + "; expected " + expected);
  }

  std::string_view text;
  const std::string &file;
  std::string error;
  size_t at = 0;
  int64_t depth = 0;
  int64_t deepest = 0;  ///< since the last alias began
  std::string defining; ///< the alias whose definition may still go on
  std::map<std::string, int64_t> aliases;
};

} // namespace

std::string checkMlirText(std::string_view text, const std::string &file) {
  return Scanner(text, file).scan();
}

} // namespace attnc
