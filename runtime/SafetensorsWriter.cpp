//===- SafetensorsWriter.cpp - writing safetensors files --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace attnc {

static int64_t byteSize(const OutputTensor &tensor) {
  int64_t bits = bitsOf(tensor.type);
  for (int64_t dim : tensor.shape)
    bits *= dim;
  return bits / 8;
}

static std::string headerOf(const std::vector<OutputTensor> &tensors) {
  auto header = nlohmann::ordered_json::object();
  int64_t at = 0;
  for (const OutputTensor &tensor : tensors) {
    int64_t end = at + byteSize(tensor);
    header[tensor.name] = {{"dtype", stringify(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // Readers map the file; the data then begins on a multiple of 8.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

static bool writeAll(std::FILE *file, const void *data, size_t size) {
  return size == 0 || std::fwrite(data, 1, size, file) == size;
}

std::string writeSafetensors(const std::string &path,
                             std::vector<OutputTensor> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](auto &a, auto &b) { return a.name < b.name; });
  std::string header = headerOf(tensors);
  uint64_t length = header.size();
  std::string temporary = path + ".tmp." + std::to_string(::getpid());
  std::FILE *file = std::fopen(temporary.c_str(), "wb");
  if (!file)
    return path + ": " + std::strerror(errno) + "; expected a writable place";
  bool good = writeAll(file, &length, 8) &&
              writeAll(file, header.data(), header.size());
  for (const OutputTensor &tensor : tensors)
    good = good && writeAll(file, tensor.data, size_t(byteSize(tensor)));
  good = good && std::fflush(file) == 0;
  int reason = errno;
  good = std::fclose(file) == 0 && good;
  if (good && std::rename(temporary.c_str(), path.c_str()) == 0)
    return "";
  if (good)
    reason = errno;
  std::remove(temporary.c_str());
  return path + ": writing failed: " + std::strerror(reason) +
         "; expected a writable place";
}

} // namespace attnc
