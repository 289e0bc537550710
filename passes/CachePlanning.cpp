//===- CachePlanning.cpp - the caches of a planned module ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/CachePlanning.h"

#include "passes/Support/FoldState.h"
#include "passes/Support/Graph.h"
#include "passes/Support/Keep.h"
#include "passes/Support/Streams.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace mlir::attn;
using attnc::CacheDesc;
using attnc::CacheKind;

/// The order of caches: by layer, kind and name, "main2" before "main10".
static auto order(const Keep &keep) {
  return std::make_tuple(keep.layer, keep.kind, keep.cache.size(), keep.cache);
}

FailureOr<std::vector<CacheDesc>> attn::planOf(ModuleOp module, int64_t pageEntries,
                                               StringRef layout) {
  using Segments = std::map<int64_t, std::pair<Keep, int64_t>>; // channels
  std::map<decltype(order(Keep())), Segments> caches;
  for (ModelOp model : module.getOps<ModelOp>()) {
    if (getForm(model) != Form::Decode)
      continue;
    for (Value stream : getStreams(model)) {
      if (!isKept(stream))
        continue;
      FailureOr<Keep> keep = getKeep(stream);
      auto type = dyn_cast<StreamType>(stream.getType());
      if (failed(keep) || !type)
        return failure();
      caches[order(*keep)][keep->segment] = {*keep, type.getNumFeatures()};
    }
    for (CompressOp op : model.getBlock().getOps<CompressOp>()) {
      FailureOr<Keep> keep = getState(op);
      if (failed(keep))
        return failure();
      caches[order(*keep)][keep->segment] = {*keep, op.getType().getNumFeatures()};
    }
  }
  std::vector<CacheDesc> plan;
  for (auto &[key, segments] : caches) {
    CacheDesc &desc = plan.emplace_back();
    const Keep &first = segments.begin()->second.first;
    desc.name = first.cache, desc.layer = first.layer, desc.kind = first.kind;
    desc.readers = first.readers, desc.every = first.every, desc.rows = first.rows;
    desc.pageEntries = desc.kind == CacheKind::Paged ? pageEntries : desc.rows;
    desc.layout = layout.str();
    for (auto &[index, segment] : segments)
      desc.segments.push_back({segment.first.name, segment.first.format, segment.second});
    if (std::string error = desc.place(); !error.empty())
      return emitError(module.getLoc(), desc.name) << ": " << error;
  }
  return plan;
}
