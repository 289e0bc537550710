//===- Diagnostics.cpp - what a user sees when something is wrong ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/Diagnostics.h"

#include <cstdio>
#include <unistd.h>

using namespace attnc;

MessageStyle &attnc::messageStyle() {
  static MessageStyle style;
  return style;
}

bool attnc::wantsColor(std::string_view choice) {
  return choice == "always" || (choice != "never" && isatty(STDERR_FILENO));
}

static void print(const char *color, const char *word, std::string_view text) {
  bool colored = messageStyle().color;
  std::fprintf(stderr, "%s%s:%s %.*s\n", colored ? color : "", word, colored ? "\033[0m" : "",
               int(text.size()), text.data());
}

void attnc::printError(std::string_view text) { print("\033[1;31m", "error", text); }

void attnc::printWarning(std::string_view text) {
  if (!messageStyle().quiet)
    print("\033[1;35m", "warning", text);
}

void attnc::printNote(std::string_view text) {
  if (!messageStyle().quiet)
    print("\033[1;36m", "note", text);
}
