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

#include "formats/Format.h"
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
  std::string weight; ///< empty: none
  int64_t width = 0;
  double eps = 0;
  double offset = 0;
};

/// Norm that subtracts the mean first, over `width` channels.
struct LayerNormDesc {
  std::string weight, bias;
  int64_t width = 0;
  double eps = 0;
};

/// A rotation of the last `rotary.dims` channels of each head, or the first.
struct RopeDesc {
  Rotary rotary;
  bool interleaved = false; ///< pairs (2i, 2i+1), else (i, i + dims/2)
  bool first = false;
};

/// The formats in which the model was trained to keep a vector: what is not
/// rotated, and what is. f32: it was not trained to round.
struct RowFormats {
  Format plain, rotated;
};

/// hidden -> (down -> norm ->) up -> per-head norm -> rope. What comes after
/// the first norm is the query latent, from which an index projects too.
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
  RopeDesc rope;      ///< of the shared part
  RowFormats formats; ///< of the latent and of the shared part
};

/// One rotated vector per token that is key and value of all heads.
struct VectorSource {
  ProjectionDesc down;
  NormDesc norm;
  RopeDesc rope;
  RowFormats formats;
};

/// Every `every` tokens become one entry of `width` channels: the mean of their
/// values under a softmax of their gates, channel by channel, then normalised.
/// With `overlap` both projections give 2 * width channels: the first half is
/// what a token adds to the entry of the block after its own, the second what
/// it adds to that of its own.
struct PoolDesc {
  int64_t every = 1, width = 0;
  bool overlap = false;
  ProjectionDesc values;
  std::optional<ProjectionDesc> gates; ///< none: one token is one entry
  std::string bias; ///< of the gates, [every, their channels]; empty: none
  NormDesc norm;
};

/// Rotated entries that are key and value of all heads.
struct EntrySource {
  std::optional<PoolDesc> pool; ///< when this layer makes them
  int64_t layer = 0;            ///< that makes them
  RopeDesc rope;
  RowFormats formats;
};

/// One set of keys and values under a layer's softmax: one of the kinds above.
/// A key or value is seen if its token is causal, is among the newest `window`
/// and was picked.
struct SourceDesc {
  std::optional<ProjectedSource> projected;
  std::optional<LatentSource> latent;
  std::optional<VectorSource> vector;
  std::optional<EntrySource> entries;
  int64_t window = 0;                ///< 0: all
  std::optional<int64_t> selectedBy; ///< the layer whose index picks
};

/// The keys of an index: pooled from the layer's input, projected from it, or
/// projected from the entries of the layer's source before their rotation.
struct IndexKeyDesc {
  std::optional<PoolDesc> pool;
  std::optional<ProjectionDesc> down;
  bool ofEntries = false; ///< what `down` reads
  std::optional<NormDesc> norm;
  std::optional<LayerNormDesc> layerNorm;
  RopeDesc rope;
};

/// The `blocks` best blocks of `size` consecutive elements; the newest visible
/// block is always among them.
struct CandidateDesc {
  int64_t blocks = 0, size = 0;
};

/// Picks the `picks` best elements of a source for each token:
///
///   score = scale * sum_h w_h * relu(q_h . k)
///
/// q projected from the query latent, w from the layer's input.
struct IndexDesc {
  int64_t heads = 0, width = 0, picks = 0;
  ProjectionDesc query, weights;
  RopeDesc rope;
  bool hadamard = false; ///< mixes the channels of queries and keys
  double scale = 0;
  Format format;                   ///< of queries and keys, as RowFormats
  std::optional<IndexKeyDesc> key; ///< when this layer makes the keys
  int64_t keyLayer = 0;            ///< that makes them
  std::optional<CandidateDesc> candidates; ///< a pool for later layers
  std::optional<int64_t> within;           ///< the layer whose pool limits
};

/// hidden = up(per group: down); group g reads run g of the heads.
struct GroupedProjection {
  ProjectionDesc down; ///< `in` channels of one group, `out` of all of them
  int64_t groups = 1;
};

struct LayerDesc {
  NormDesc inputNorm;
  QueryDesc query;
  int64_t heads = 0;
  int64_t valueWidth = 0;
  std::vector<SourceDesc> sources;
  std::optional<IndexDesc> index;
  double scale = 0;
  std::optional<double> softCap; ///< c * tanh(score / c)
  std::string sink;              ///< weight of one logit per head; empty: none
  std::optional<RopeDesc> outputRope; ///< turned back on each head's output
  std::optional<GroupedProjection> outputGroups; ///< before `output`
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
