//===- InputText.cpp - the text of an input, and what it is
//----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend/InputText.h"

#include "formats/Json.h"

#include <filesystem>

namespace attnc {

namespace fs = std::filesystem;

/// Far beyond any config; a tree of it still fits in memory.
static constexpr uintmax_t maxConfigBytes = 4u << 20;
static constexpr uintmax_t maxMlirBytes = 256u << 20;

/// The name of a model: a config.json is called after its folder.
static std::string nameOf(const fs::path &file) {
  std::string stem = file.stem().string();
  if (file.filename() == "config.json") {
    fs::path folder = fs::absolute(file).lexically_normal().parent_path();
    if (!folder.filename().empty())
      stem = folder.filename().string();
  }
  return stem.empty() ? "model" : stem;
}

/// Names what is certainly no input of ours; empty otherwise.
static std::string refuseContent(std::string_view text) {
  auto startsWith = [&](std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
  };
  const char *expected = "; expected a config.json or MLIR text";
  if (startsWith("ML\xEFR"))
    return std::string("found MLIR bytecode") + expected;
  if (startsWith("version https://git-lfs"))
    return std::string("found a git-lfs pointer") + expected;
  if (startsWith("<"))
    return std::string("found markup, perhaps a web page") + expected;
  // Zeros among the first four bytes are UTF-16, which the JSON reader names.
  size_t zero = text.substr(0, 8).find('\0');
  if (zero != std::string_view::npos && zero >= 4)
    return std::string("found binary data") + expected;
  return "";
}

static InputText::Kind kindOf(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos ||
      text.substr(0, 4).find('\0') != std::string_view::npos ||
      text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF")
    return InputText::Kind::Config;
  // "{-#" opens the resources of MLIR text.
  bool json = text[first] == '[' ||
              (text[first] == '{' && text.substr(first, 2) != "{-");
  return json ? InputText::Kind::Config : InputText::Kind::Mlir;
}

Result<InputText> readInputText(const std::string &path) {
  InputText input;
  input.file = path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    input.folder = path;
    input.file = (fs::path(path) / "config.json").string();
    if (!fs::exists(input.file, ignored))
      return Error{path + ": found a folder without config.json; expected a "
                          "config, MLIR text or a folder with config.json"};
  }
  input.name = nameOf(input.file);
  uintmax_t size = fs::file_size(input.file, ignored);
  if (!ignored && size > maxMlirBytes)
    return Error{input.file + ": found " + std::to_string(size) +
                 " bytes; expected at most " + std::to_string(maxMlirBytes)};
  Result<std::string> text = readTextFile(input.file);
  if (!text)
    return Error{text.error()};
  if (text->compare(0, 3, "\xEF\xBB\xBF") == 0)
    text->erase(0, 3);
  std::string refusal = refuseContent(*text);
  if (!refusal.empty())
    return Error{input.file + ": " + refusal};
  input.text = std::move(*text);
  input.kind = kindOf(input.text);
  if (input.kind == InputText::Kind::Config &&
      input.text.size() > maxConfigBytes)
    return Error{input.file + ": found " + std::to_string(input.text.size()) +
                 " bytes; expected a config of at most " +
                 std::to_string(maxConfigBytes)};
  return input;
}

} // namespace attnc
