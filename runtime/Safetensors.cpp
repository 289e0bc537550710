//===- Safetensors.cpp - reading safetensors files --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Safetensors.h"
#include "formats/Format.h"
#include "formats/Json.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace attnc {

/// The usual limit; a header of real models has a few megabytes.
static constexpr uint64_t maxHeader = 100'000'000;

namespace {
struct TypeRow {
  DType type;
  const char *name;
  unsigned bits;
};
constexpr TypeRow types[] = {
    {DType::F64, "F64", 64},         {DType::F32, "F32", 32},
    {DType::F16, "F16", 16},         {DType::BF16, "BF16", 16},
    {DType::F8E4M3, "F8_E4M3", 8},   {DType::F8E5M2, "F8_E5M2", 8},
    {DType::F8E8M0, "F8_E8M0", 8},   {DType::F4, "F4", 4},
    {DType::I64, "I64", 64},         {DType::I32, "I32", 32},
    {DType::I16, "I16", 16},         {DType::I8, "I8", 8},
    {DType::U8, "U8", 8},            {DType::Bool, "BOOL", 8}};

const TypeRow &rowOf(DType type) {
  for (const TypeRow &row : types)
    if (row.type == type)
      return row;
  return types[0];
}
} // namespace

std::string_view stringify(DType type) { return rowOf(type).name; }
unsigned bitsOf(DType type) { return rowOf(type).bits; }

std::string shapeString(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

int64_t TensorInfo::elements() const {
  int64_t product = 1;
  for (int64_t dim : shape)
    product *= dim;
  return product;
}

SafetensorsFile::~SafetensorsFile() {
  if (mapping)
    ::munmap(mapping, size_t(fileBytes));
}

const TensorInfo *SafetensorsFile::find(const std::string &name) const {
  auto it = table.find(name);
  return it == table.end() ? nullptr : &it->second;
}

/// Names the things that people find under a .safetensors name by accident.
static std::string impostor(std::string_view head) {
  auto starts = [&](std::string_view prefix) {
    return head.substr(0, prefix.size()) == prefix;
  };
  if (starts("version https://git-lfs"))
    return "a git-lfs pointer, not the file it points to";
  if (starts("<!DOCTYPE") || starts("<!doctype") || starts("<html") ||
      starts("<HTML") || starts("<?xml"))
    return "an HTML page";
  if (starts("PK\x03\x04"))
    return "a zip archive (a PyTorch checkpoint?)";
  return "";
}

Result<std::shared_ptr<SafetensorsFile>>
SafetensorsFile::open(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return Error{path + ": " + std::strerror(errno) +
                 "; expected a safetensors file"};
  struct stat info;
  bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  std::shared_ptr<SafetensorsFile> file(new SafetensorsFile);
  file->filePath = path;
  file->fileBytes = regular ? int64_t(info.st_size) : 0;
  void *memory = MAP_FAILED;
  if (regular && info.st_size > 0)
    memory = ::mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (!regular)
    return Error{path + ": not a regular file; expected a safetensors file"};
  if (info.st_size > 0 && memory == MAP_FAILED)
    return Error{path + ": cannot be mapped into memory; expected a readable "
                        "safetensors file"};
  if (memory != MAP_FAILED)
    file->mapping = memory;
  if (std::string error = file->parse(); !error.empty())
    return Error{path + ": " + error};
  return file;
}

/// Reads one entry of the header; the text says what is wrong with it.
static std::string parseEntry(const std::string &name, const Json &entry,
                              uint64_t dataBytes, TensorInfo &info) {
  std::string who = "tensor " + name;
  if (!entry.is_object() || !entry.contains("dtype") ||
      !entry.contains("shape") || !entry.contains("data_offsets"))
    return who + " has no dtype, shape or data_offsets; expected all three";
  const Json &type = entry["dtype"], &shape = entry["shape"],
             &offsets = entry["data_offsets"];
  const TypeRow *row = std::find_if(
      std::begin(types), std::end(types),
      [&](const TypeRow &r) { return type.is_string() && type == r.name; });
  if (row == std::end(types))
    return who + " has dtype " +
           type.dump(-1, ' ', true, Json::error_handler_t::replace) +
           "; expected one of F64, F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0, "
           "F4, I64, I32, I16, I8, U8, BOOL";
  info.type = row->type;
  if (!shape.is_array())
    return who + " has no shape; expected an array";
  int64_t bits = row->bits;
  for (const Json &dim : shape) {
    if (!dim.is_number_unsigned() ||
        dim.get<uint64_t>() > uint64_t(1) << 48 ||
        __builtin_mul_overflow(bits, dim.get<int64_t>(), &bits))
      return who + " has shape " + shape.dump() +
             "; expected non-negative integers whose product fits 64 bits";
    info.shape.push_back(dim.get<int64_t>());
  }
  if (row->bits < 8 && !info.shape.empty() && info.shape.back() % 2 != 0)
    return who + " is F4 with shape " + shape.dump() +
           "; expected an even last dimension";
  if (bits % 8 != 0)
    return who + " ends within a byte; expected whole bytes";
  info.bytes = bits / 8;
  bool pair = offsets.is_array() && offsets.size() == 2 &&
              offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned();
  if (!pair)
    return who + " has data_offsets " +
           offsets.dump(-1, ' ', true, Json::error_handler_t::replace) +
           "; expected two non-negative integers";
  uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end)
    return who + " has data_offsets " + offsets.dump() +
           "; expected the first not above the second";
  if (end > dataBytes)
    return who + " ends at byte " + std::to_string(end) +
           " of the data, of which the file has " + std::to_string(dataBytes) +
           "; expected the whole tensor (is the file cut short?)";
  if (end - begin != uint64_t(info.bytes))
    return who + " has " + std::to_string(end - begin) +
           " bytes; expected " + std::to_string(info.bytes) + " for " +
           std::string(row->name) + " " + shapeString(info.shape);
  info.begin = int64_t(begin);
  return "";
}

/// Every byte of the data has exactly one owner.
static std::string checkCoverage(const std::map<std::string, TensorInfo> &table,
                                 int64_t dataBytes) {
  std::vector<std::tuple<int64_t, int64_t, std::string>> order;
  for (const auto &[name, info] : table)
    order.emplace_back(info.begin, info.bytes, name);
  std::sort(order.begin(), order.end());
  int64_t at = 0;
  std::string last;
  for (const auto &[begin, bytes, name] : order) {
    if (begin < at)
      return "tensors " + last + " and " + name + " overlap by " +
             std::to_string(std::min(at - begin, bytes)) +
             " bytes; expected each byte to belong to one tensor";
    if (begin > at)
      return "a hole of " + std::to_string(begin - at) +
             " bytes lies before tensor " + name +
             "; expected tensors without gaps";
    at = begin + bytes;
    last = name;
  }
  if (at != dataBytes)
    return "the tensors end at byte " + std::to_string(at) +
           " of the data, of which the file has " + std::to_string(dataBytes) +
           "; expected no bytes after the last tensor";
  return "";
}

std::string SafetensorsFile::parse() {
  const auto *bytes = static_cast<const uint8_t *>(mapping);
  std::string_view head(reinterpret_cast<const char *>(bytes),
                        size_t(std::min<int64_t>(fileBytes, 64)));
  if (std::string what = impostor(head); !what.empty())
    return "found " + what + "; expected a safetensors file";
  if (fileBytes < 8)
    return "found a file of " + std::to_string(fileBytes) +
           " bytes; expected at least the 8 bytes of a header length";
  uint64_t header;
  std::memcpy(&header, bytes, 8);
  if (header > maxHeader)
    return "found a header length of " + std::to_string(header) +
           "; expected at most " + std::to_string(maxHeader);
  if (header > uint64_t(fileBytes) - 8)
    return "found a header length of " + std::to_string(header) +
           " in a file of " + std::to_string(fileBytes) +
           " bytes; expected the header to fit";
  std::string_view text(reinterpret_cast<const char *>(bytes + 8), header);
  if (text.empty() || text[0] != '{')
    return "the header does not begin with '{'; expected a safetensors file";
  Result<Json> json = parseJson(text, "header");
  if (!json)
    return json.error();
  payload = bytes + 8 + header;
  uint64_t dataBytes = uint64_t(fileBytes) - 8 - header;
  for (auto it = json->begin(); it != json->end(); ++it) {
    if (it.key() == "__metadata__")
      continue;
    TensorInfo info;
    std::string error = parseEntry(it.key(), it.value(), dataBytes, info);
    if (!error.empty())
      return error;
    table.emplace(it.key(), std::move(info));
  }
  return checkCoverage(table, int64_t(dataBytes));
}

bool convertToF32(DType type, const uint8_t *from, int64_t count, float *to) {
  switch (type) {
  case DType::F32:
    std::memcpy(to, from, size_t(count) * 4);
    return true;
  case DType::BF16:
  case DType::F16:
    for (int64_t i = 0; i < count; ++i) {
      uint16_t half;
      std::memcpy(&half, from + 2 * i, 2);
      to[i] = type == DType::BF16 ? decodeBF16(half) : decodeF16(half);
    }
    return true;
  default:
    return false;
  }
}

Result<std::vector<float>>
SafetensorsFile::readF32(const std::string &name) const {
  const TensorInfo *info = find(name);
  if (!info)
    return Error{filePath + ": tensor " + name + " is missing"};
  std::vector<float> values(info->elements());
  if (!convertToF32(info->type, data(*info), info->elements(), values.data()))
    return Error{filePath + ": tensor " + name + " has type " +
                 std::string(stringify(info->type)) +
                 "; expected F32, BF16 or F16"};
  return values;
}

Result<std::vector<int32_t>>
SafetensorsFile::readI32(const std::string &name) const {
  const TensorInfo *info = find(name);
  if (!info)
    return Error{filePath + ": tensor " + name + " is missing"};
  std::vector<int32_t> values(info->elements());
  const uint8_t *from = data(*info);
  if (info->type == DType::I32)
    std::memcpy(values.data(), from, size_t(info->bytes));
  else if (info->type == DType::U8)
    std::copy(from, from + info->bytes, values.begin());
  else
    return Error{filePath + ": tensor " + name + " has type " +
                 std::string(stringify(info->type)) + "; expected I32 or U8"};
  return values;
}

} // namespace attnc
