//===- Weights.cpp - tensors of checkpoints ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Weights.h"
#include "formats/Json.h"

#include <charconv>
#include <set>
#include <sys/stat.h>

namespace attnc {

static bool isFolder(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

static bool isFile(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// A shard lies beside its index.
static bool plainName(const std::string &name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

Result<std::unique_ptr<SafetensorsWeights>>
SafetensorsWeights::open(const std::string &path) {
  std::unique_ptr<SafetensorsWeights> weights(new SafetensorsWeights(path));
  std::string error;
  if (isFolder(path)) {
    error = weights->openFolder(path);
  } else {
    Result<std::shared_ptr<SafetensorsFile>> file = SafetensorsFile::open(path);
    error = file ? weights->addShard(*file) : file.error();
  }
  if (!error.empty())
    return Error{error};
  return weights;
}

std::string
SafetensorsWeights::addShard(std::shared_ptr<SafetensorsFile> file) {
  for (const auto &entry : file->tensors()) {
    auto [it, fresh] = owner.emplace(entry.first, file);
    if (!fresh)
      return file->path() + ": tensor " + entry.first + " is also in " +
             it->second->path() + "; expected it in one shard";
  }
  return "";
}

std::string SafetensorsWeights::openFolder(const std::string &path) {
  std::string single = path + "/model.safetensors";
  std::string index = path + "/model.safetensors.index.json";
  if (isFile(index) && !isFile(single))
    return openIndex(path, index);
  if (!isFile(single))
    return path + ": the folder has neither model.safetensors nor "
                  "model.safetensors.index.json; expected one of them";
  Result<std::shared_ptr<SafetensorsFile>> file = SafetensorsFile::open(single);
  return file ? addShard(*file) : file.error();
}

/// "a, b, c and 7 more".
static std::string listSome(const std::set<std::string> &names) {
  std::string text;
  size_t shown = 0;
  for (const std::string &name : names) {
    if (shown == 20)
      return text + " and " + std::to_string(names.size() - shown) + " more";
    text += (shown++ ? ", " : "") + name;
  }
  return text;
}

std::string SafetensorsWeights::openIndex(const std::string &folder,
                                          const std::string &file) {
  Result<std::string> text = readTextFile(file);
  if (!text)
    return text.error();
  Result<Json> json = parseJson(*text, file);
  if (!json)
    return json.error();
  JsonErrors errors{file, ""};
  JsonReader map = JsonReader(*json, errors).at("weight_map");
  if (map.ok() && !map.json().is_object())
    map.fail("found no object; expected tensor names with their files");
  if (errors.failed())
    return errors.first;
  std::map<std::string, std::string> wanted;
  std::set<std::string> shards, missing;
  for (auto it = map.json().begin(); it != map.json().end(); ++it) {
    if (!it.value().is_string() ||
        !plainName(it.value().get_ref<const std::string &>()))
      return file + " at /weight_map/" + it.key() +
             ": found a path that leaves the folder; expected the name of a "
             "file beside the index";
    wanted[it.key()] = it.value().get<std::string>();
    shards.insert(wanted[it.key()]);
  }
  for (const std::string &shard : shards)
    if (!isFile(folder + "/" + shard))
      missing.insert(shard);
  if (!missing.empty())
    return file + ": shards are missing: " + listSome(missing) +
           "; expected every file that the index names";
  for (const std::string &shard : shards) {
    Result<std::shared_ptr<SafetensorsFile>> opened =
        SafetensorsFile::open(folder + "/" + shard);
    if (!opened)
      return opened.error();
    if (std::string error = addShard(*opened); !error.empty())
      return error;
  }
  std::set<std::string> absent, unlisted;
  for (const auto &[name, shard] : wanted) {
    auto it = owner.find(name);
    if (it == owner.end() || it->second->path() != folder + "/" + shard)
      absent.insert(name + " (in " + shard + ")");
  }
  for (const auto &entry : owner)
    if (!wanted.count(entry.first))
      unlisted.insert(entry.first);
  if (!absent.empty())
    return file + ": shards lack tensors: " + listSome(absent) +
           "; expected every tensor that the index names";
  if (!unlisted.empty())
    return file + ": the index lacks tensors: " + listSome(unlisted) +
           "; expected every tensor of its shards";
  return "";
}

const float *SafetensorsWeights::get(const std::string &name,
                                     const std::vector<int64_t> &shape,
                                     std::string &error) {
  auto it = owner.find(name);
  if (it == owner.end())
    it = owner.find("model." + name);
  if (it == owner.end()) {
    error = origin + ": tensor " + name + " is missing; expected shape " +
            shapeString(shape);
    return nullptr;
  }
  const SafetensorsFile &file = *it->second;
  const TensorInfo &info = *file.find(it->first);
  if (info.shape != shape) {
    error = file.path() + ": tensor " + it->first + " has shape " +
            shapeString(info.shape) + "; expected " + shapeString(shape);
    return nullptr;
  }
  const uint8_t *data = file.data(info);
  if (info.type == DType::F32 && reinterpret_cast<uintptr_t>(data) % 4 == 0)
    return reinterpret_cast<const float *>(data);
  std::lock_guard<std::mutex> hold(lock);
  auto [slot, fresh] = converted.try_emplace(it->first);
  if (!fresh)
    return slot->second.data();
  slot->second.resize(size_t(info.elements()));
  if (convertToF32(info.type, data, info.elements(), slot->second.data()))
    return slot->second.data();
  converted.erase(slot);
  error = file.path() + ": tensor " + it->first + " has type " +
          std::string(stringify(info.type)) + "; expected F32, BF16 or F16";
  return nullptr;
}

Result<std::unique_ptr<WeightSource>> openWeights(const std::string &spec) {
  const std::string prefix = "random:";
  if (spec.compare(0, prefix.size(), prefix) == 0) {
    uint64_t seed = 0;
    const char *begin = spec.data() + prefix.size();
    const char *end = spec.data() + spec.size();
    auto [at, status] = std::from_chars(begin, end, seed);
    if (status != std::errc() || at != end)
      return Error{"found the weights '" + spec + "'; expected random:SEED"};
    return std::unique_ptr<WeightSource>(new RandomWeights(seed));
  }
  Result<std::unique_ptr<SafetensorsWeights>> weights =
      SafetensorsWeights::open(spec);
  if (!weights)
    return Error{weights.error()};
  return std::unique_ptr<WeightSource>(std::move(*weights));
}

} // namespace attnc
