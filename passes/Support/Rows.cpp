//===- Rows.cpp - kept streams put together into rows ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/Rows.h"

#include "passes/Support/Graph.h"
#include "passes/Support/Streams.h"

#include <set>

using namespace mlir;
using namespace mlir::attn;

/// True if `stream` is a rotation, whatever rounds it.
static bool isRotated(Value stream) {
  while (auto round = stream.getDefiningOp<RoundOp>())
    stream = round.getInput();
  return stream.getDefiningOp<RopeOp>() != nullptr;
}

/// True if an op of the given kind reads the stream.
template <typename OpT>
static bool isRead(const KeptStream &kept) {
  return llvm::any_of(kept.readers, [](Operation *op) { return isa<OpT>(op); });
}

/// What a segment is called, by how it is read.
static StringRef segmentName(ModelOp model, const KeptStream &kept) {
  if (kept.isKey && kept.isValue)
    return "latent";
  // What is read only to choose what an attend reads.
  if (kept.isKey && !isRead<AttendOp>(kept))
    return "index_key";
  if (kept.isKey && !kept.feedsValue)
    return kept.isPart && isRotated(kept.stream) ? "rope_key" : "key";
  if (kept.isValue && !kept.feedsKey)
    return "value";
  bool key = kept.isKey || kept.feedsKey, value = kept.isValue || kept.feedsValue;
  ArrayRef<Type> inputs = model.getArgumentTypes();
  if (!inputs.empty() && kept.stream.getType() == inputs[0])
    return "hidden";
  if (key && value)
    return "latent";
  return key ? "key_input" : "value_input";
}

/// `name`, or the first of name2, name3, ... that is not taken.
static std::string makeUnique(const std::string &name, llvm::StringSet<> &taken) {
  std::string unique = name;
  for (int n = 2; !taken.insert(unique).second; ++n)
    unique = name + std::to_string(n);
  return unique;
}

/// The layers of a row's readers, ascending.
static std::vector<int64_t> readerLayers(const KeptStream &kept) {
  std::set<int64_t> layers;
  for (Operation *reader : kept.readers)
    layers.insert(getLayer(reader));
  return {layers.begin(), layers.end()};
}

/// What the rows of a cache are for.
static std::string purpose(const KeptStream &kept) {
  if (isRead<AttendOp>(kept))
    return kept.kind == ::attnc::CacheKind::Paged ? "main" : "window";
  return "index";
}

static bool isSameRow(const KeptStream &a, const KeptStream &b) {
  auto every = [](Value stream) { return cast<StreamType>(stream.getType()).getEvery(); };
  return a.kind == b.kind && a.rows == b.rows && every(a.stream) == every(b.stream) &&
         a.readers.size() == b.readers.size() &&
         llvm::all_of(a.readers, [&](Operation *op) { return b.readers.contains(op); });
}

SmallVector<Keep> attn::formRows(ModelOp model, ArrayRef<KeptStream> streams,
                                 llvm::StringSet<> &taken) {
  SmallVector<Keep> keeps(streams.size());
  SmallVector<bool> placed(streams.size(), false);
  for (size_t i = 0; i < streams.size(); ++i) {
    if (placed[i])
      continue;
    Keep row;
    row.kind = streams[i].kind, row.rows = streams[i].rows;
    row.every = cast<StreamType>(streams[i].stream.getType()).getEvery();
    row.readers = readerLayers(streams[i]);
    // What an earlier layer hands over belongs to the first layer that reads it.
    row.layer = row.readers.front();
    row.cache = makeUnique("layers." + std::to_string(row.layer) + "." + purpose(streams[i]),
                           taken);
    llvm::StringSet<> names;
    for (size_t j = i; j < streams.size(); ++j) {
      if (placed[j] || !isSameRow(streams[i], streams[j]))
        continue;
      placed[j] = true;
      row.name = makeUnique(segmentName(model, streams[j]).str(), names);
      row.format = getStorage(streams[j].stream);
      keeps[j] = row;
      ++row.segment;
    }
  }
  return keeps;
}

/// True if only choosers read the old elements of what `op` makes: no attend
/// does, but some other op.
static bool feedsOnlyChoices(CompressOp op) {
  SmallVector<Value> work = {op.getResult()};
  DenseSet<Value> visited;
  bool isChosenBy = false;
  while (!work.empty()) {
    Value stream = work.pop_back_val();
    if (!visited.insert(stream).second)
      continue;
    for (OpOperand &use : stream.getUses()) {
      if (historyUse(use).kind == HistoryUse::Kind::None) {
        if (isRecomputable(use.getOwner()))
          llvm::append_range(work, use.getOwner()->getResults());
        continue;
      }
      if (isa<AttendOp>(use.getOwner()))
        return false;
      isChosenBy |= isa<ScoreOp>(use.getOwner());
    }
  }
  return isChosenBy;
}

Keep attn::placeState(CompressOp op, const FoldState &state, llvm::StringSet<> &taken) {
  Keep keep;
  keep.kind = ::attnc::CacheKind::State, keep.rows = state.rows;
  keep.every = op.getType().getEvery();
  keep.layer = getLayer(op), keep.readers = {keep.layer};
  keep.name = "fold";
  keep.cache = makeUnique("layers." + std::to_string(keep.layer) +
                              (feedsOnlyChoices(op) ? ".index_fold" : ".main_fold"),
                          taken);
  return keep;
}
