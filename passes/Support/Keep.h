//===- Keep.h - where a kept stream lives --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The value of `attn.keep`, which attn-infer-caches leaves on each kept stream:
// one segment of one cache's rows.
//
//   {cache = "layers.0.main", every = 1, format = #attn.format<bf16>,
//    kind = "paged", layer = 0, name = "latent", readers = array<i64: 0>,
//    rows = 0, segment = 0}
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_SUPPORT_KEEP_H
#define ATTNC_PASSES_SUPPORT_KEEP_H

#include "dialect/Attn/IR/Attn.h"
#include "formats/CachePlan.h"

#include <string>
#include <vector>

namespace mlir::attn {

struct Keep {
  std::string cache;             ///< name of the cache: "layers.0.main"
  int64_t segment = 0;           ///< place in its row
  std::string name;              ///< of the segment: "latent"
  ::attnc::CacheKind kind = ::attnc::CacheKind::Paged;
  int64_t rows = 0;              ///< ring and state: rows per sequence; paged: 0
  int64_t every = 1;             ///< tokens per entry
  int64_t layer = 0;             ///< the layer that writes the cache
  std::vector<int64_t> readers;  ///< layers that read it, ascending
  ::attnc::Format format;

  DictionaryAttr toAttr(MLIRContext *context) const;

  /// Whether both are segments of one and the same cache.
  bool sameCache(const Keep &other) const;
};

/// The value of the attribute `name`. Emits an error at `loc` and fails if it is
/// absent or malformed.
FailureOr<Keep> parseKeep(Attribute value, StringRef name, Location loc);

/// True if `stream` is kept.
bool isKept(Value stream);

/// Where `stream` is kept. Emits an error and fails if the attribute is absent
/// or malformed.
FailureOr<Keep> getKeep(Value stream);

} // namespace mlir::attn

#endif // ATTNC_PASSES_SUPPORT_KEEP_H
