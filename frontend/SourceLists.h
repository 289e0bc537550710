//===- SourceLists.h - whose entries and picks a layer reads ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_FRONTEND_SOURCELISTS_H
#define ATTNC_FRONTEND_SOURCELISTS_H

#include "frontend/ConfigReader.h"

#include <optional>
#include <vector>

namespace attnc {

/// The root keys of one spelling.
struct SourceKeys {
  const char *entries, *index, *candidates;
};

/// The layers that a layer reads, itself or earlier ones.
struct LayerSources {
  int64_t entries = -1;          ///< makes the entries; -1: the layer has none
  int64_t index = -1;            ///< picks among them
  std::optional<int64_t> within; ///< whose candidates limit the picks
};

struct SourceLists {
  std::vector<LayerSources> layers;
  /// The layer whose candidates later ones use, and how many; -1: there is
  /// none.
  int64_t candidateLayer = -1;
  CandidateDesc candidates;
};

/// Reads who makes entries, who picks and who limits the picks, for the layers
/// that `ratios` describes, of which each picks `picks`. Fails on lists that
/// leave a layer without a source of its own ratio, or that contradict each
/// other, and names the key, the layer and the rule.
SourceLists readSourceLists(ConfigObject &root, const SourceKeys &keys,
                            const std::vector<int64_t> &ratios, int64_t picks);

} // namespace attnc

#endif // ATTNC_FRONTEND_SOURCELISTS_H
