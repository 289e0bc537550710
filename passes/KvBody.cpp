//===- KvBody.cpp - one form of a model as a body of a step -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every attend becomes a chain of softmax states. A source reads kept streams as
// rows; what is not kept is rebuilt from rows by the ops in between. Pages hold
// the chunk's own rows when they are read. A ring still holds the old ones: its
// sources are two partial attends, over the ring and over the chunk's own
// streams, and the ring is written after its last reader.
//
//===----------------------------------------------------------------------===//

#include "passes/KvBody.h"

#include "passes/Support/FoldState.h"
#include "passes/Support/Graph.h"
#include "passes/Support/Rebuild.h"
#include "passes/Support/Streams.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;
using attnc::CacheKind;

FailureOr<KeptRows> attn::collectRows(ModelOp model) {
  KeptRows rows;
  for (Value stream : getStreams(model)) {
    if (!isKept(stream))
      continue;
    FailureOr<Keep> keep = getKeep(stream);
    if (failed(keep))
      return failure();
    StringRef name = StringAttr::get(model.getContext(), keep->cache).getValue();
    KeptRow &row = rows[name];
    if (row.streams.empty())
      row.keep = *keep;
    if (!row.keep.sameCache(*keep))
      return emitError(stream.getLoc(), "is kept in cache '")
             << name << "' with other rows, rate, layer or readers than another segment of it";
    size_t segment = keep->segment;
    if (segment > 64 || (segment < row.streams.size() && row.streams[segment]))
      return emitError(stream.getLoc(), "is segment ")
             << segment << " of cache '" << name << "'; expected segments from 0, each once";
    if (segment >= row.streams.size()) {
      row.streams.resize(segment + 1);
      row.formats.resize(segment + 1);
      row.names.resize(segment + 1);
    }
    row.streams[segment] = stream;
    row.formats[segment] = keep->format;
    row.names[segment] = keep->name;
  }
  for (auto &[name, row] : rows)
    for (auto [i, stream] : llvm::enumerate(row.streams))
      if (!stream)
        return model.emitOpError("keeps no stream as segment ") << i << " of cache '" << name
                                                                << "'; expected one";
  return rows;
}

namespace {

class BodyConverter {
public:
  BodyConverter(ModelOp model, const KeptRows &rows, Region &body)
      : model(model), rows(rows), body(body), builder(model.getContext()) {}

  LogicalResult run();

private:
  /// What an op reads the history of: a source of an attend, or the keys of a
  /// selection, and what its rows come from.
  struct Source {
    AttendOp::Source streams; ///< of an attend
    SmallVector<Value> reads; ///< keys, then the value of an attend
    Rebuild rebuild;
    CacheKind kind = CacheKind::Paged;
  };

  LogicalResult analyse(Operation *reader);
  LogicalResult analyse(Operation *reader, unsigned index, Source source);
  FailureOr<CacheKind> kindOf(Operation *reader, unsigned index, const Source &source);
  LogicalResult placeAppends();
  void emitAppends(Operation *after);
  void convert(AttendOp attend);
  void convertSelection(Operation *selector);
  LogicalResult convert(CompressOp pooling);
  Value partial(AttendOp attend, const Source &source, Value state, ArrayRef<Value> keysAndValue);
  SmallVector<Value> readRows(Operation *reader, const Source &source);
  void rebuildRows(Operation *reader, const Source &source, IRMapping &rowsOf);
  void removeDead();
  template <typename OpT>
  void setLayer(OpT op, Operation *origin) {
    if (Attribute layer = origin->getAttr(kLayerAttr))
      op->setAttr(kLayerAttr, layer);
  }

  ModelOp model;
  const KeptRows &rows;
  Region &body;
  OpBuilder builder;
  IRMapping mapping;
  DenseMap<Operation *, std::vector<Source>> sources; ///< of each reader
  DenseMap<Operation *, SmallVector<const KeptRow *>> appends; ///< after an op; null: first
  DenseMap<Value, StringRef> cacheOf;
  DenseMap<Value, int64_t> segmentOf;
};

} // namespace

/// The later of two ops of one block; null stands for its beginning.
static Operation *later(Operation *a, Operation *b) {
  if (!a || !b)
    return a ? a : b;
  return a->isBeforeInBlock(b) ? b : a;
}

/// The score that a selection picks from; null for other ops.
static ScoreOp scoresOf(Operation *op) {
  if (auto topK = dyn_cast<TopKOp>(op))
    return topK.getScores().getDefiningOp<ScoreOp>();
  if (auto topK = dyn_cast<BlockTopKOp>(op))
    return topK.getScores().getDefiningOp<ScoreOp>();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// What is read, and when it can be written
//===----------------------------------------------------------------------===//

FailureOr<CacheKind> BodyConverter::kindOf(Operation *reader, unsigned index,
                                           const Source &source) {
  std::optional<CacheKind> kind;
  for (Value kept : source.rebuild.kept) {
    const Keep &keep = rows.find(cacheOf.lookup(kept))->second.keep;
    if (kind && *kind != keep.kind)
      return reader->emitOpError("source ")
             << index << " reads rows of pages and of a ring together; expected one kind";
    kind = keep.kind;
    int64_t window = source.streams.window;
    if (keep.kind == CacheKind::Ring && (window == 0 || window > keep.rows))
      return reader->emitOpError("source ")
             << index << " sees " << (window ? std::to_string(window) : "all")
             << " tokens; ring '" << keep.cache << "' keeps " << keep.rows;
  }
  if (!kind || *kind == CacheKind::State)
    return reader->emitOpError("source ")
           << index << " reads no rows of pages or a ring; expected kept streams";
  return *kind;
}

LogicalResult BodyConverter::analyse(Operation *reader, unsigned index, Source source) {
  FailureOr<Rebuild> rebuild = findRebuild(reader, source.reads);
  if (failed(rebuild))
    return failure();
  source.rebuild = *rebuild;
  FailureOr<CacheKind> kind = kindOf(reader, index, source);
  if (failed(kind))
    return failure();
  source.kind = *kind;
  sources[reader].push_back(std::move(source));
  return success();
}

LogicalResult BodyConverter::analyse(Operation *reader) {
  if (ScoreOp score = scoresOf(reader)) {
    Source source;
    source.reads.push_back(score.getKey());
    return analyse(reader, 0, std::move(source));
  }
  auto attend = dyn_cast<AttendOp>(reader);
  if (!attend)
    return success();
  for (auto [i, streams] : llvm::enumerate(attend.getSources())) {
    Source source;
    source.streams = streams;
    source.reads = streams.keys;
    source.reads.push_back(streams.value);
    if (failed(analyse(reader, i, std::move(source))))
      return failure();
  }
  return success();
}

/// Pages are appended once their segments are there, rings after their last
/// reader as well.
LogicalResult BodyConverter::placeAppends() {
  DenseMap<StringRef, SmallVector<Operation *>> readers;
  for (Operation &op : model.getBlock())
    if (auto it = sources.find(&op); it != sources.end())
      for (const Source &source : it->second)
        for (Value kept : source.rebuild.kept)
          readers[cacheOf.lookup(kept)].push_back(&op);
  for (const auto &[name, row] : rows) {
    Operation *after = nullptr;
    for (Value stream : row.streams)
      after = later(after, stream.getDefiningOp());
    for (Operation *reader : readers[name]) {
      if (row.keep.kind == CacheKind::Ring)
        after = later(after, reader);
      else if (after && !after->isBeforeInBlock(reader))
        return reader->emitOpError("reads cache '")
               << name << "' before all of its row is computed; expected the row first";
    }
    appends[after].push_back(&row);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void BodyConverter::emitAppends(Operation *after) {
  for (const KeptRow *row : appends.lookup(after)) {
    SmallVector<Value> values;
    for (Value stream : row->streams)
      values.push_back(mapping.lookup(stream));
    Location loc = row->streams.front().getLoc();
    auto append = builder.create<kv::AppendOp>(loc, values, row->keep.cache);
    append->setAttr(kLayerAttr, builder.getI64IntegerAttr(row->keep.layer));
  }
}

/// Adds to `rowsOf` the streams that lie between the source's rows and what it
/// reads.
void BodyConverter::rebuildRows(Operation *reader, const Source &source, IRMapping &rowsOf) {
  SmallVector<Value> inputs, inputRows, results;
  SmallVector<Type> resultTypes;
  for (Value kept : source.rebuild.kept)
    if (llvm::any_of(source.rebuild.ops, [&](Operation *op) {
          return llvm::is_contained(op->getOperands(), kept);
        })) {
      inputs.push_back(kept);
      inputRows.push_back(rowsOf.lookup(kept));
    }
  for (Value read : source.reads)
    if (!isKept(read) && !llvm::is_contained(results, read)) {
      results.push_back(read);
      resultTypes.push_back(kv::RowsType::of(cast<StreamType>(read.getType())));
    }
  auto rebuild = builder.create<kv::RebuildOp>(reader->getLoc(), resultTypes, inputRows);
  setLayer(rebuild, reader);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&rebuild.getBody());
  IRMapping inside;
  for (Value input : inputs)
    inside.map(input, block->addArgument(input.getType(), input.getLoc()));
  for (Operation *op : source.rebuild.ops) {
    Operation *copy = builder.clone(*op, inside);
    for (StringRef name : {StringRef(kIdAttr), StringRef(kStorageAttr), StringRef(kTraceAttr)})
      copy->removeAttr(name);
  }
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(inside.lookup(result));
  builder.create<kv::YieldOp>(reader->getLoc(), yielded);
  rowsOf.map(ValueRange(results), rebuild.getResults());
}

/// The rows of what the source reads.
SmallVector<Value> BodyConverter::readRows(Operation *reader, const Source &source) {
  IRMapping rowsOf;
  for (Value kept : source.rebuild.kept)
    rowsOf.map(kept, builder
                         .create<kv::ReadOp>(reader->getLoc(),
                                             kv::RowsType::of(cast<StreamType>(kept.getType())),
                                             cacheOf.lookup(kept), segmentOf.lookup(kept))
                         .getRows());
  if (!source.rebuild.ops.empty())
    rebuildRows(reader, source, rowsOf);
  SmallVector<Value> result;
  for (Value read : source.reads)
    result.push_back(rowsOf.lookup(read));
  return result;
}

Value BodyConverter::partial(AttendOp attend, const Source &source, Value state,
                             ArrayRef<Value> keysAndValue) {
  SmallVector<Value> queries;
  for (Value query : source.streams.queries)
    queries.push_back(mapping.lookup(query));
  Value selection = source.streams.selection;
  auto op = builder.create<kv::AttendPartialOp>(
      attend.getLoc(), state.getType(), state, queries, keysAndValue.drop_back(),
      keysAndValue.back(), selection ? mapping.lookup(selection) : Value(),
      attend.getScaleAttr(), builder.getI64IntegerAttr(source.streams.window), attend.getConstsAttr());
  IRMapping map;
  attend.getScoreMap().cloneInto(&op.getScoreMap(), map);
  setLayer(op, attend);
  return op.getResult();
}

void BodyConverter::convert(AttendOp attend) {
  StreamType type = attend.getType();
  auto init = builder.create<kv::AttendInitOp>(
      attend.getLoc(),
      kv::StateType::get(attend.getContext(), type.getHeads(), type.getChannels()));
  setLayer(init, attend);
  Value state = init.getState();
  for (const Source &source : sources[attend]) {
    state = partial(attend, source, state, readRows(attend, source));
    if (source.kind != CacheKind::Ring)
      continue;
    SmallVector<Value> own;
    for (Value read : source.reads)
      own.push_back(mapping.lookup(read));
    state = partial(attend, source, state, own);
  }
  auto finish = builder.create<kv::AttendFinishOp>(attend.getLoc(), type, state,
                                                   attend.getSinkAttr());
  setLayer(finish, attend);
  if (Attribute trace = attend->getAttr(kTraceAttr))
    finish->setAttr(kTraceAttr, trace);
  mapping.map(attend.getResult(), finish.getResult());
}

void BodyConverter::convertSelection(Operation *selector) {
  ScoreOp score = scoresOf(selector);
  auto copyOf = [&](Value v) { return v ? mapping.lookup(v) : Value(); };
  int64_t block = 1, pinFirst = 0, pinNewest = 0;
  Reduction reduction = Reduction::Max;
  if (auto blocks = dyn_cast<BlockTopKOp>(selector)) {
    block = blocks.getBlock(), reduction = blocks.getReduction();
    pinFirst = blocks.getPinFirst(), pinNewest = blocks.getPinNewest();
  }
  Value key = readRows(selector, sources[selector].front()).front();
  auto op = builder.create<kv::TopKOp>(
      selector->getLoc(), cast<SelectionType>(selector->getResult(0).getType()),
      copyOf(score.getQuery()), key, copyOf(score.getWeights()), copyOf(score.getWithin()),
      score.getActivation(), score.getScale(), block, reduction, pinFirst, pinNewest);
  setLayer(op, selector);
  if (Attribute trace = selector->getAttr(kTraceAttr))
    op->setAttr(kTraceAttr, trace);
  mapping.map(selector->getResult(0), op.getResult());
}

LogicalResult BodyConverter::convert(CompressOp pooling) {
  FailureOr<Keep> state = getState(pooling);
  if (failed(state))
    return failure();
  auto copiesOf = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value v) { return mapping.lookup(v); });
  };
  auto op = builder.create<kv::CompressOp>(
      pooling.getLoc(), pooling.getType(), FlatSymbolRefAttr::get(pooling.getContext(), state->cache),
      copiesOf(pooling.getValues()), copiesOf(pooling.getGates()), pooling.getEveryAttr(),
      pooling.getOffsetsAttr(), pooling.getGatedAttr(), pooling.getBiasAttr());
  setLayer(op, pooling);
  if (Attribute trace = pooling->getAttr(kTraceAttr))
    op->setAttr(kTraceAttr, trace);
  mapping.map(pooling.getResult(), op.getResult());
  return success();
}

/// Erases what nobody reads: projections of the chunk whose rows are rebuilt.
void BodyConverter::removeDead() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body.front())))
    if (isOpTriviallyDead(&op) && !op.hasAttr(kTraceAttr))
      op.erase();
}

LogicalResult BodyConverter::run() {
  for (const auto &[name, row] : rows)
    for (auto [i, stream] : llvm::enumerate(row.streams))
      cacheOf[stream] = name, segmentOf[stream] = i;
  for (Operation &op : model.getBlock())
    if (failed(analyse(&op)))
      return failure();
  if (failed(placeAppends()))
    return failure();
  Block *block = builder.createBlock(&body);
  for (BlockArgument argument : model.getBlock().getArguments())
    mapping.map(argument, block->addArgument(argument.getType(), argument.getLoc()));
  emitAppends(nullptr);
  for (Operation &op : model.getBlock().without_terminator()) {
    if (auto attend = dyn_cast<AttendOp>(op)) {
      convert(attend);
    } else if (sources.count(&op)) {
      convertSelection(&op);
    } else if (isa<ScoreOp>(op)) {
      continue; // part of what selects by it
    } else if (auto pooling = dyn_cast<CompressOp>(op)) {
      if (failed(convert(pooling)))
        return failure();
    } else if (readsHistory(&op)) {
      return op.emitOpError("reads history and has no form on rows; expected attn.attend or a "
                            "selection");
    } else {
      Operation *copy = builder.clone(op, mapping);
      for (StringRef name : {StringRef(kIdAttr), StringRef(kStorageAttr), StringRef(kKeepAttr)})
        copy->removeAttr(name);
    }
    emitAppends(&op);
  }
  SmallVector<Value> outputs;
  for (Value output : model.getBlock().getTerminator()->getOperands())
    outputs.push_back(mapping.lookup(output));
  builder.create<kv::ReturnOp>(model.getBlock().getTerminator()->getLoc(), outputs);
  removeDead();
  return success();
}

LogicalResult attn::buildKvBody(ModelOp model, const KeptRows &rows, Region &body) {
  return BodyConverter(model, rows, body).run();
}
