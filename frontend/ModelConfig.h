//===- ModelConfig.h - a model's attention, described by fields
//------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the readers of the families produce and the graph builder consumes. No
// field names a family: a model is what its fields say. The builder emits what
// is present and skips what is not.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FRONTEND_MODELCONFIG_H
#define ATTNC_FRONTEND_MODELCONFIG_H

#include "formats/Rotary.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// y = W x (+ b), W [out, in], under the checkpoint's names.
struct ProjectionDesc {
  std::string weight;
  std::string bias; ///< empty: none
  int64_t in = 0, out = 0;
};

/// RMS norm over `width` channels; the checkpoint stores weight - offset.
struct NormDesc {
  std::string weight;
  int64_t width = 0;
  double eps = 0;
  double offset = 0;
};

/// A rotation of the last `rotary.dims` channels of each head.
struct RopeDesc {
  Rotary rotary;
  bool interleaved = false; ///< pairs (2i, 2i+1), else (i, i + dims/2)
};

/// hidden -> (down -> norm ->) up -> per-head norm -> rope.
struct QueryDesc {
  int64_t width = 0; ///< channels of a head
  std::optional<ProjectionDesc> down;
  std::optional<NormDesc> downNorm;
  ProjectionDesc up;
  std::optional<NormDesc> headNorm;
  RopeDesc rope;
};

/// Keys and values projected from the layer's input, per key-value head.
struct ProjectedSource {
  int64_t heads = 0, width = 0;
  ProjectionDesc key, value;
  std::optional<NormDesc> keyNorm;
  RopeDesc rope;
};

/// Keys and values of every head expanded from one latent, beside one rotated
/// key part that all heads share. `down` gives latent, then shared part; `up`
/// gives, head by head, the unrotated key part, then the value.
struct LatentSource {
  int64_t heads = 0;
  int64_t rank = 0;
  int64_t keyWidth = 0; ///< of the unrotated part
  int64_t valueWidth = 0;
  ProjectionDesc down;
  NormDesc norm; ///< of the latent
  ProjectionDesc up;
  RopeDesc rope; ///< of the shared part
};

/// One set of keys and values under a layer's softmax: one of the kinds above.
struct SourceDesc {
  std::optional<ProjectedSource> projected;
  std::optional<LatentSource> latent;
  int64_t window = 0; ///< newest tokens visible; 0: all
};

struct LayerDesc {
  NormDesc inputNorm;
  QueryDesc query;
  int64_t heads = 0;
  int64_t valueWidth = 0;
  std::vector<SourceDesc> sources;
  double scale = 0;
  std::optional<double> softCap; ///< c * tanh(score / c)
  std::string sink;              ///< weight of one logit per head; empty: none
  ProjectionDesc output;
  std::optional<NormDesc> outputNorm;
  std::string feedForward; ///< name of the block that follows the attention
};

struct ModelConfig {
  std::string modelType;
  int64_t hidden = 0;
  int64_t maxPositions = 0; ///< 0: not said
  std::string torchDtype;   ///< of the checkpoint, as written
  std::vector<LayerDesc> layers;

  std::vector<std::string> defaulted; ///< "/key = value" of absent keys
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  std::vector<std::string> unknownKeys; ///< pointers of keys nobody reads
};

} // namespace attnc

#endif // ATTNC_FRONTEND_MODELCONFIG_H
