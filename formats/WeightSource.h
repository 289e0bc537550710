//===- WeightSource.h - where weights come from -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FORMATS_WEIGHTSOURCE_H
#define ATTNC_FORMATS_WEIGHTSOURCE_H

#include <cstdint>
#include <string>
#include <vector>

namespace attnc {

/// A named set of tensors. Implementations: safetensors files, random weights.
class WeightSource {
public:
  virtual ~WeightSource() = default;

  /// The tensor `name` as f32, row-major. `shape` is what the model declares; a
  /// missing tensor, another shape or an unreadable type is an error: returns
  /// null and sets `error` to one sentence that names file, tensor, found and
  /// expected. The pointer stays valid as long as this object.
  virtual const float *get(const std::string &name,
                           const std::vector<int64_t> &shape,
                           std::string &error) = 0;
};

} // namespace attnc

#endif // ATTNC_FORMATS_WEIGHTSOURCE_H
