//===- KernelSpec.h - what a kernel computes --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One struct per kind of kernel: shapes, formats and places, never a layer, a
// length or a weight. The launch list's builder makes them, one per shape; the
// emitters of CPU and GPU code turn them into functions with the arguments of
// formats/KernelAbi.h. Tiles, lanes and threads are the emitters' business.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_PLAN_KERNELSPEC_H
#define ATTNC_CODEGEN_PLAN_KERNELSPEC_H

#include "formats/CachePlan.h"
#include "formats/Format.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace mlir {
class Region;
} // namespace mlir

namespace attnc {

/// Per-token values [heads, inner]. A view (KernelAbi.h) of them has the token
/// and the head stride as arguments; the inner stride is 1.
struct ViewShape {
  int64_t heads = 1, inner = 0;

  int64_t channels() const { return heads * inner; }
};

/// A scalar function that the kernel applies to every element: a block of arith
/// and math ops on f32, ended by attn.yield. `text` is its printed form, part of
/// what makes two shapes equal. The region outlives the spec.
struct ScalarBody {
  mlir::Region *region = nullptr; ///< null: none
  std::string text;
};

/// Rows that attend or unpack reads, [heads, dim] per entry: a segment of a
/// cache, of which format and place are known, or a dense f32 buffer.
struct RowSpec {
  int64_t heads = 1; ///< 1: one row serves all heads
  int64_t dim = 0;   ///< channels per head
  bool dense = false;
  Format format;      ///< of a cache's segment
  SegmentPlace place; ///< of a cache's segment
};

/// y[t, g, :] = M_g x[t, g or shared, :] (+ bias). Panels as WeightUse::Panels
/// of formats/Program.h: for each group ceil(out / panel) panels [in][panel].
struct ProjectSpec {
  int64_t groups = 1;
  int64_t in = 0, out = 0; ///< per group
  bool sharedInput = false;
  bool bias = false; ///< [groups * out]
};

/// x / sqrt(mean(x^2) + eps) * gamma, over each head or over all channels. gamma
/// has the entries of one normalised vector.
struct NormSpec {
  ViewShape shape;
  bool perHead = false;
  bool weight = false;
  double eps = 0;
};

/// Rotates channels [first, first + dims) of every head and copies the others.
struct RopeSpec {
  ViewShape shape;
  int64_t first = 0, dims = 0;
  bool interleaved = false; ///< pairs (2i, 2i + 1), else (i, i + dims / 2)
  bool inverse = false;
};

/// y[t, h, i] = body(x_0, ..., const_0, ...). Without a body: y = x_0, a copy
/// (concatenation and layout changes are made of these).
struct MapSpec {
  /// Full: [heads, inner]. PerHead: element (t, h, 0) for every i. PerToken:
  /// element (t, 0, 0).
  enum class Operand : uint8_t { Full, PerHead, PerToken };
  /// Entries of a constant: one per channel, head, channel of a head, or one.
  enum class Const : uint8_t { PerChannel, PerHead, PerInner, One };
  ViewShape shape;
  std::vector<Operand> operands;
  std::vector<Const> consts;
  ScalarBody body; ///< arguments: operands, then constants
};

/// decode(encode(x)) for every head's `inner` channels.
struct RoundSpec {
  ViewShape shape;
  Format format;
};

/// Rounds one view per segment and writes it into the row. A segment's channels
/// are the view's, head by head; each head's are encoded by themselves.
struct AppendSpec {
  struct Part {
    ViewShape shape;
    Format format;
    SegmentPlace place;
  };
  std::vector<Part> parts;
};

/// The rows of one segment, as f32.
struct UnpackSpec {
  RowSpec rows; ///< never dense
};

/// Folds one source into a softmax state, in base 2:
///   s = body(scale * sum_p q_p . k_p) * log2(e)
struct AttendSpec {
  int64_t heads = 1;   ///< query heads
  int64_t kvHeads = 1; ///< runs of query heads that share all their rows
  std::vector<RowSpec> keys;
  int64_t valueKey = -1; ///< the key part that is the value; -1: `value`
  RowSpec value;
  double scale = 1;
  /// Arguments: score, position of the query, position of the entry's first
  /// token, head, then one scalar per constant [heads].
  ScalarBody scoreMap;
  int64_t consts = 0;
  int64_t every = 1; ///< entry e begins at position e * every

  int64_t dk() const {
    int64_t sum = 0;
    for (const RowSpec &key : keys)
      sum += key.dim;
    return sum;
  }
  const RowSpec &valueRows() const { return valueKey >= 0 ? keys[valueKey] : value; }
  int64_t dv() const { return valueRows().dim; }
};

/// Merges the splits of a state, adds the sink (a logit in base e) and divides.
struct CombineSpec {
  int64_t heads = 1, dv = 0;
  bool sink = false;
};

struct KernelSpec {
  std::string name; ///< a C identifier that begins with the op
  std::variant<ProjectSpec, NormSpec, RopeSpec, MapSpec, RoundSpec, AppendSpec,
               UnpackSpec, AttendSpec, CombineSpec>
      op;
};

} // namespace attnc

#endif // ATTNC_CODEGEN_PLAN_KERNELSPEC_H
