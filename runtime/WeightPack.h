//===- WeightPack.h - weights as kernels want them --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_RUNTIME_WEIGHTPACK_H
#define ATTNC_RUNTIME_WEIGHTPACK_H

#include "formats/Program.h"
#include "formats/Result.h"
#include "formats/WeightSource.h"
#include "runtime/Buffer.h"

namespace attnc {

class ThreadPool;

/// A packed weight. For panels: panel p of group g begins at
/// data + (g * panelsPerGroup + p) * in * panel, [in][panel] f32.
struct PackedWeight {
  Buffer storage;
  int64_t panels = 0; ///< over all groups
  int64_t in = 0, out = 0, panel = 0; ///< per group

  const float *data() const { return storage.as<float>(); }
};

/// Fetches and packs one weight. The source may go away afterwards.
Result<PackedWeight> packWeight(const WeightUse &use, WeightSource &source,
                                ThreadPool &pool);

} // namespace attnc

#endif // ATTNC_RUNTIME_WEIGHTPACK_H
