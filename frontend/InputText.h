//===- InputText.h - the text of an input, and what it is
//------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FRONTEND_INPUTTEXT_H
#define ATTNC_FRONTEND_INPUTTEXT_H

#include "formats/Result.h"

#include <string>
#include <string_view>

namespace attnc {

/// One input of the compiler, recognised by what it holds.
struct InputText {
  enum class Kind : uint8_t { Config, Mlir };
  Kind kind = Kind::Config;
  std::string file;   ///< the file that was read
  std::string folder; ///< the folder that was named instead of it, or empty
  std::string name;   ///< of the model: the file's stem, or its folder's name
  std::string text;   ///< without a byte-order mark
};

/// Reads a file, or the config.json of a folder. Refused: what is neither a
/// config nor MLIR text, such as bytecode, a web page or a git-lfs pointer.
Result<InputText> readInputText(const std::string &path);

/// Complains (non-empty) about MLIR text that the parser would not survive:
/// brackets or aliases nested deeper than 64, affine maps, and the attributes
/// whose parsers crash (sparse constants, resources).
std::string checkMlirText(std::string_view text, const std::string &file);

} // namespace attnc

#endif // ATTNC_FRONTEND_INPUTTEXT_H
