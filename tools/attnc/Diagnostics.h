//===- Diagnostics.h - what a user sees when something is wrong --------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TOOLS_ATTNC_DIAGNOSTICS_H
#define ATTNC_TOOLS_ATTNC_DIAGNOSTICS_H

#include <string>
#include <string_view>

namespace attnc {

/// How messages go to stderr; set once from the command line.
struct MessageStyle {
  bool color = false;
  bool quiet = false; ///< -q: errors only
};
MessageStyle &messageStyle();

/// "auto" asks whether stderr is a terminal.
bool wantsColor(std::string_view choice);

/// One line each on stderr: "error: ...", "warning: ...", "note: ...". An error
/// text of several lines gives its first line the word "error".
void printError(std::string_view text);
void printWarning(std::string_view text);
void printNote(std::string_view text);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_DIAGNOSTICS_H
