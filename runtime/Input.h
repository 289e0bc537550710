//===- Input.h - the rows that a run is fed ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_RUNTIME_INPUT_H
#define ATTNC_RUNTIME_INPUT_H

#include "formats/Result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attnc {

/// Rows of `hidden` channels; the sequences lie one after another.
struct Input {
  int64_t tokens = 0, hidden = 0;
  std::vector<float> rows;      ///< [tokens, hidden]
  std::vector<int64_t> lengths; ///< of the sequences; sums to tokens

  const float *row(int64_t token) const { return rows.data() + token * hidden; }
};

/// A safetensors file with `hidden` [tokens, hidden] (F32 or BF16) and perhaps
/// `lengths` I32, or "random:SEED:TOKENS". Rows of another width than `hidden`
/// are refused.
Result<Input> openInput(const std::string &spec, int64_t hidden);

/// Keeps the first `tokens` rows (cutting or dropping sequences); asking for
/// more than there are is an error.
std::string limitTokens(Input &input, int64_t tokens);

} // namespace attnc

#endif // ATTNC_RUNTIME_INPUT_H
