//===- Program.h - the launch list of a compiled step -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What codegen leaves for the runtime: buffers, weights, caches, and two lists
// of launches (one for decode-like sequences, one for prefill-like ones). A
// launch names a kernel and its operands; the runtime resolves them to
// pointers and strides and knows nothing of the graph. The same list drives
// the CPU, the emulator and a GPU. Stored as "program" in manifest.json.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FORMATS_PROGRAM_H
#define ATTNC_FORMATS_PROGRAM_H

#include "formats/CachePlan.h"
#include "formats/Rotary.h"

#include <map>
#include <string>
#include <vector>

namespace attnc {

/// A view of a per-token f32 buffer: element (t, h, i) lies at
///   offset + t * tokenStride + h * headStride + i,   in elements,
/// h < heads, i < inner. Buffers are activations of the tokens of a batch (or
/// of the entries of a rebuild tile).
struct View {
  int32_t buffer = -1; ///< index into Body::buffers, or rebuildBuffers
  bool tile = false;   ///< true: rebuildBuffers, and t counts entries of a tile
  int64_t offset = 0, tokenStride = 0, headStride = 0;
  int64_t heads = 1, inner = 0;
};

/// A weight as a kernel wants it. The runtime packs it once, when it loads.
///   Vector: the tensor as f32, `add` added to each element (Gemma's 1 + w).
///   Panels: the matrix of a projection, see codegen's PanelLayout: for each
///           group, ceil(out / panel) panels of [in][panel] f32, zero-padded.
struct WeightUse {
  enum class Pack : uint8_t { Vector, Panels };
  std::string tensor;          ///< the checkpoint's name
  std::vector<int64_t> shape;  ///< as declared by attn.weight
  Pack pack = Pack::Vector;
  double add = 0;              ///< Vector
  // Panels: y[g, o] = sum_i M[g, o, i] x[g or shared, i], where M is cut out of
  // the tensor [groups * groupRows, cols]: rows [rowBegin, rowBegin + rowCount)
  // of each group, transposed or not. Not transposed: out = rowCount, in = cols;
  // transposed: out = cols, in = rowCount.
  int64_t groups = 1, rowBegin = 0, rowCount = 0;
  bool transpose = false;
  int64_t panel = 0;
};

/// One (query part, key part) of a source, or its value: where the rows come
/// from. Exactly one of: a segment of a cache, or a dense view (the current
/// chunk's own rows, or the scratch of a rebuild).
struct RowPart {
  int32_t cache = -1, segment = -1;
  View view; ///< used when cache < 0
};

/// Whether two parts read the same bytes: such a value has no row source of its
/// own in the arguments of an attend kernel.
inline bool samePart(const RowPart &a, const RowPart &b) {
  if (a.cache >= 0 || b.cache >= 0)
    return a.cache == b.cache && a.segment == b.segment;
  const View &v = a.view, &w = b.view;
  return v.buffer == w.buffer && v.tile == w.tile && v.offset == w.offset &&
         v.tokenStride == w.tokenStride && v.headStride == w.headStride &&
         v.heads == w.heads && v.inner == w.inner;
}

/// Which entries a source offers to a query at position p (entry e stands for
/// the tokens [e*every, e*every + every)).
struct Visibility {
  /// Paged: entries of a paged cache, the current chunk's included.
  /// RingPast: entries of a ring that precede the chunk. Chunk: the chunk's own.
  enum class Span : uint8_t { Paged, RingPast, Chunk };
  Span span = Span::Paged;
  int64_t window = 0; ///< 0: all up to p; W: the newest W, p included
  int64_t every = 1;
};

/// Everything a launch may carry. `op` says which members matter:
///   project  in[0] -> out[0], weights[0] panels, weights[1] bias (optional)
///   norm     in[0] -> out[0], weights[0] gamma (optional)
///   rope     in[0] -> out[0], table
///   map      in[...] -> out[0], weights[...] constants
///   round    in[0] -> out[0]
///   append   in[...] (one per segment) -> cache
///   attend   in[...] (query parts), keys, value, visibility -> state
///   combine  state, weights[0] sink (optional) -> out[0]
///   rebuild  for each tile of entries: reads -> views, body, then `body.back()`
///            (an attend over dense views) folds the tile into its state
///   extern   in[0] -> out[0], `name` is the function
///   trace    in[0] is published as `name`
struct Launch {
  std::string op;
  std::string kernel; ///< symbol; empty for extern, trace, rebuild
  int64_t layer = 0;
  std::vector<View> in, out;
  std::vector<int32_t> weights;
  int32_t table = -1;
  int32_t cache = -1;
  std::vector<RowPart> keys;
  RowPart value;
  Visibility visibility;
  int32_t state = -1;
  std::string name;
  bool optional = false; ///< extern
  std::vector<RowPart> reads;     ///< rebuild: rows unpacked for the body ...
  std::vector<View> readViews;    ///< ... into these views
  std::vector<std::string> readKernels; ///< unpack kernels, one per read
  std::vector<Launch> body;       ///< rebuild
};

/// A softmax state: acc [heads][dv], max [heads], sum [heads] per token and
/// split. `base` is the exponent base (2 or e) all of its users share.
struct StateDesc {
  int64_t heads = 0, dv = 0;
};

/// What the executor needs to know about a kernel besides its symbol. Params:
///   tokens       any kernel over tokens: tokens of a work item (else 64 for
///                project, 4 for combine, 16 for others)
///   q_heads, kv_heads, dv   attend: its shape; dk for --stats only
///   max_rows     attend, CPU: most (token, head) rows of a work item
///   split_entries   attend, CPU: entries of a split, where a sequence makes
///                too few items to keep threads busy
///   scratch_bytes   attend, CPU: scratch of one call
struct KernelDesc {
  std::string name, op;
  std::map<std::string, int64_t> params; ///< tile sizes, lanes, scratch bytes
};

struct Body {
  std::vector<Launch> launches;
  std::vector<int64_t> buffers; ///< f32 elements per token of each buffer
  std::vector<int64_t> rebuildBuffers; ///< ... and per entry of a rebuild tile
  std::vector<StateDesc> states;
  View input, output;
};

struct Program {
  int64_t hidden = 0; ///< channels of the input and the output
  int64_t prefillThreshold = 0; ///< new tokens from which `prefill` is used
  std::vector<CacheDesc> caches;
  std::vector<WeightUse> weights;
  std::vector<Rotary> tables;
  std::vector<KernelDesc> kernels;
  Body decode, prefill;
};

} // namespace attnc

#endif // ATTNC_FORMATS_PROGRAM_H
