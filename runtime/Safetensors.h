//===- Safetensors.h - reading and writing safetensors files ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A file is mapped, its header is checked completely (types, shapes, offsets,
// full coverage without overlap) before any tensor can be asked for, and
// nothing is copied until a tensor is converted.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_RUNTIME_SAFETENSORS_H
#define ATTNC_RUNTIME_SAFETENSORS_H

#include "formats/Result.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// The element types that we know the size of.
enum class DType : uint8_t {
  F64, F32, F16, BF16, F8E4M3, F8E5M2, F8E8M0, F4, I64, I32, I16, I8, U8, Bool
};
std::string_view stringify(DType type); ///< the spelling in a header: "BF16"
/// Bits of one element (F4: 4).
unsigned bitsOf(DType type);

std::string shapeString(const std::vector<int64_t> &shape); ///< "[576, 5120]"

struct TensorInfo {
  DType type = DType::F32;
  std::vector<int64_t> shape;
  int64_t begin = 0, bytes = 0; ///< within the file's data
  int64_t elements() const;
};

/// One mapped file.
class SafetensorsFile {
public:
  static Result<std::shared_ptr<SafetensorsFile>> open(const std::string &path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile &) = delete;
  SafetensorsFile &operator=(const SafetensorsFile &) = delete;

  const std::string &path() const { return filePath; }
  const std::map<std::string, TensorInfo> &tensors() const { return table; }
  const TensorInfo *find(const std::string &name) const;
  const uint8_t *data(const TensorInfo &info) const {
    return payload + info.begin;
  }

  /// A copy of the tensor's values: F32, BF16, F16 as f32; I32, U8 as int32.
  /// Other types are an error that names file and tensor.
  Result<std::vector<float>> readF32(const std::string &name) const;
  Result<std::vector<int32_t>> readI32(const std::string &name) const;

private:
  SafetensorsFile() = default;
  std::string parse();

  std::string filePath;
  void *mapping = nullptr;
  int64_t fileBytes = 0;
  const uint8_t *payload = nullptr;
  std::map<std::string, TensorInfo> table;
};

/// Converts `count` values of F32, BF16 or F16 to f32; false for other types.
bool convertToF32(DType type, const uint8_t *from, int64_t count, float *to);

/// A tensor to be written; `data` is borrowed.
struct OutputTensor {
  std::string name;
  DType type = DType::F32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
};

/// Writes a file whole or not at all: to a temporary name beside it, then
/// renamed. Tensors are stored in the order of their names.
std::string writeSafetensors(const std::string &path,
                             std::vector<OutputTensor> tensors);

} // namespace attnc

#endif // ATTNC_RUNTIME_SAFETENSORS_H
