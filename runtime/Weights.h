//===- Weights.h - where a run's weights come from --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_RUNTIME_WEIGHTS_H
#define ATTNC_RUNTIME_WEIGHTS_H

#include "formats/Result.h"
#include "formats/WeightSource.h"
#include "runtime/Safetensors.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace attnc {

/// Tensors of one safetensors file, or of a folder with model.safetensors or
/// model.safetensors.index.json and its shards. Everything that does not fit
/// together (a missing shard, an index that disagrees with its shards) is
/// refused when it is opened. Values are converted once and kept.
class SafetensorsWeights : public WeightSource {
public:
  static Result<std::unique_ptr<SafetensorsWeights>>
  open(const std::string &path);

  /// `name`, or "model." + name where a checkpoint carries that prefix.
  const float *get(const std::string &name, const std::vector<int64_t> &shape,
                   std::string &error) override;

  /// Every tensor name, sorted; where each lies.
  const std::map<std::string, std::shared_ptr<SafetensorsFile>> &
  index() const {
    return owner;
  }

private:
  explicit SafetensorsWeights(std::string path) : origin(std::move(path)) {}
  std::string addShard(std::shared_ptr<SafetensorsFile> file);
  std::string openFolder(const std::string &path);
  std::string openIndex(const std::string &folder, const std::string &file);

  std::string origin;
  std::map<std::string, std::shared_ptr<SafetensorsFile>> owner;
  std::mutex lock;
  std::map<std::string, std::vector<float>> converted;
};

/// Weights made up from a seed: values depend on the seed, the tensor's name
/// and its shape only. Matrices are normal with standard deviation
/// 1/sqrt(last dimension); vectors named *norm* are 1 + 0.1 normal, other
/// vectors 0.1 normal.
class RandomWeights : public WeightSource {
public:
  explicit RandomWeights(uint64_t seed) : seed(seed) {}
  const float *get(const std::string &name, const std::vector<int64_t> &shape,
                   std::string &error) override;

private:
  uint64_t seed;
  std::mutex lock;
  std::map<std::string, std::pair<std::vector<int64_t>, std::vector<float>>>
      made;
};

/// Fills `values` with normal deviates of mean 0 and deviation 1 that depend on
/// `key` and the index only (65,536 equally likely quantiles). Uses the default
/// thread pool.
void fillNormal(uint64_t key, float *values, int64_t count);

/// A key for fillNormal from a seed and a name.
uint64_t randomKey(uint64_t seed, const std::string &name);

/// "random:SEED", a .safetensors file, or a folder.
Result<std::unique_ptr<WeightSource>> openWeights(const std::string &spec);

} // namespace attnc

#endif // ATTNC_RUNTIME_WEIGHTS_H
