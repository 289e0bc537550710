//===- Input.cpp - the rows that a run is fed -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Input.h"
#include "runtime/Safetensors.h"
#include "runtime/Weights.h"

#include <charconv>

namespace attnc {

/// "random:SEED:TOKENS".
static Result<Input> randomInput(const std::string &spec, int64_t hidden) {
  Error usage{"found the input '" + spec +
              "'; expected random:SEED:TOKENS with 1 to 16777216 tokens"};
  uint64_t seed = 0;
  int64_t tokens = 0;
  const char *end = spec.data() + spec.size();
  auto first = std::from_chars(spec.data() + 7, end, seed);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':')
    return usage;
  auto second = std::from_chars(first.ptr + 1, end, tokens);
  if (second.ec != std::errc() || second.ptr != end || tokens < 1 ||
      tokens > 16777216)
    return usage;
  Input input;
  input.tokens = tokens;
  input.hidden = hidden;
  input.lengths = {tokens};
  input.rows.resize(size_t(tokens) * size_t(hidden));
  fillNormal(randomKey(seed, "hidden"), input.rows.data(), tokens * hidden);
  return input;
}

/// Reads `lengths`, which has to add up to the rows of `hidden`.
static std::string readLengths(const SafetensorsFile &file, Input &input) {
  const TensorInfo *info = file.find("lengths");
  if (!info) {
    input.lengths = {input.tokens};
    return "";
  }
  std::string who = file.path() + ": tensor lengths";
  if (info->type != DType::I32 || info->shape.size() != 1)
    return who + " is " + std::string(stringify(info->type)) + " " +
           shapeString(info->shape) + "; expected I32 [sequences]";
  Result<std::vector<int32_t>> values = file.readI32("lengths");
  if (!values)
    return values.error();
  int64_t sum = 0;
  for (int32_t length : *values) {
    if (length < 1)
      return who + " holds " + std::to_string(length) +
             "; expected lengths of at least 1";
    sum += length;
  }
  if (sum != input.tokens)
    return who + " adds up to " + std::to_string(sum) + "; expected " +
           std::to_string(input.tokens) + ", the rows of hidden";
  input.lengths.assign(values->begin(), values->end());
  return "";
}

Result<Input> openInput(const std::string &spec, int64_t hidden) {
  if (spec.compare(0, 7, "random:") == 0)
    return randomInput(spec, hidden);
  Result<std::shared_ptr<SafetensorsFile>> file = SafetensorsFile::open(spec);
  if (!file)
    return Error{file.error()};
  const TensorInfo *info = (*file)->find("hidden");
  if (!info)
    return Error{spec + ": tensor hidden is missing; expected [tokens, " +
                 std::to_string(hidden) + "]"};
  if (info->shape.size() != 2 || info->shape[1] != hidden || info->shape[0] < 1)
    return Error{spec + ": tensor hidden has shape " +
                 shapeString(info->shape) + "; expected [tokens, " +
                 std::to_string(hidden) + "]"};
  if (info->type != DType::F32 && info->type != DType::BF16)
    return Error{spec + ": tensor hidden has type " +
                 std::string(stringify(info->type)) + "; expected F32 or BF16"};
  Result<std::vector<float>> rows = (*file)->readF32("hidden");
  if (!rows)
    return Error{rows.error()};
  Input input;
  input.tokens = info->shape[0];
  input.hidden = hidden;
  input.rows = std::move(*rows);
  if (std::string error = readLengths(**file, input); !error.empty())
    return Error{error};
  return input;
}

std::string limitTokens(Input &input, int64_t tokens) {
  if (tokens < 1 || tokens > input.tokens)
    return "found --tokens " + std::to_string(tokens) + "; expected 1 to " +
           std::to_string(input.tokens) + ", the rows of the input";
  input.tokens = tokens;
  input.rows.resize(size_t(tokens) * size_t(input.hidden));
  int64_t left = tokens;
  std::vector<int64_t> lengths;
  for (int64_t length : input.lengths) {
    if (left == 0)
      break;
    lengths.push_back(std::min(length, left));
    left -= lengths.back();
  }
  input.lengths = std::move(lengths);
  return "";
}

} // namespace attnc
