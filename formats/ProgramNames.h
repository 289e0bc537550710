//===- ProgramNames.h - spellings of a program's enumerations ---------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FORMATS_PROGRAMNAMES_H
#define ATTNC_FORMATS_PROGRAMNAMES_H

#include "formats/Program.h"

#include <string_view>

namespace attnc {

inline std::string_view stringify(Visibility::Span span) {
  switch (span) {
  case Visibility::Span::Paged:
    return "paged";
  case Visibility::Span::RingPast:
    return "ring-past";
  case Visibility::Span::Chunk:
    return "chunk";
  }
  return "";
}

inline std::string_view stringify(Rotary::Scaling scaling) {
  switch (scaling) {
  case Rotary::Scaling::None:
    return "none";
  case Rotary::Scaling::Linear:
    return "linear";
  case Rotary::Scaling::Llama3:
    return "llama3";
  case Rotary::Scaling::Yarn:
    return "yarn";
  }
  return "";
}

} // namespace attnc

#endif // ATTNC_FORMATS_PROGRAMNAMES_H
