//===- BuildAttend.cpp - launches that read and write rows ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A source whose rows are read as they are, or are the chunk's own, is one
// attend. A source with rebuilt rows is one rebuild, which unpacks kept rows,
// computes the derived ones, and attends over them as dense rows, a tile at a
// time.
//
//===----------------------------------------------------------------------===//

#include "codegen/Plan/BodyBuilder.h"

#include "dialect/Attn/Interpreter/Evaluation.h"

#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kv;
using attn::StreamType;

namespace attnc {

LogicalResult BodyBuilder::emit(AppendOp op) {
  int32_t number = context.caches.lookup(op.getCache());
  const CacheDesc &cache = context.planned.program.caches[number];
  AppendSpec spec;
  Launch launch = makeLaunch("append", "", op);
  launch.cache = number;
  size_t segment = 0;
  for (Value value : op.getValues()) {
    while (cache.segments[segment].pad)
      ++segment;
    const View &view = tokens.view(value);
    spec.parts.push_back(
        {{view.heads, view.inner}, cache.segments[segment].format, cache.places[segment]});
    launch.in.push_back(view);
    ++segment;
  }
  launch.kernel = context.kernels.get(spec);
  body.launches.push_back(std::move(launch));
  return success();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

int32_t BodyBuilder::takeState(int64_t heads, int64_t channels) {
  for (size_t i = 0; i < body.states.size(); ++i)
    if (!stateBusy[i] && body.states[i].heads == heads && body.states[i].dv == channels) {
      stateBusy[i] = true;
      return i;
    }
  body.states.push_back({heads, channels});
  stateBusy.push_back(true);
  return body.states.size() - 1;
}

LogicalResult BodyBuilder::emit(AttendInitOp op) {
  states[op.getState()] = takeState(op.getType().getHeads(), op.getType().getChannels());
  return success();
}

LogicalResult BodyBuilder::emit(AttendFinishOp op) {
  StateType type = op.getState().getType();
  CombineSpec spec{type.getHeads(), type.getChannels(), bool(op.getSink())};
  Launch launch = makeLaunch("combine", context.kernels.get(spec), op);
  launch.state = states.lookup(op.getState());
  if (op.getSink())
    launch.weights = {context.tables.vector(attn::lookupWeight(op, op.getSinkAttr()))};
  launch.out = {result(op.getResult(), tokens)};
  stateBusy[launch.state] = false;
  body.launches.push_back(std::move(launch));
  return success();
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// The rows of one attend: key parts, then the value.
struct BodyBuilder::Source {
  std::vector<RowSpec> specs;
  std::vector<RowPart> parts;

  void add(const RowSpec &spec, const RowPart &part) {
    specs.push_back(spec);
    parts.push_back(part);
  }
  void add(const View &view) {
    RowSpec spec;
    spec.heads = view.heads;
    spec.dim = view.inner;
    spec.dense = true;
    RowPart part;
    part.view = view;
    add(spec, part);
  }
};

RowPart BodyBuilder::part(ReadOp read) {
  RowPart part;
  part.cache = context.caches.lookup(read.getCache());
  part.segment = read.getSegment();
  return part;
}

RowSpec BodyBuilder::rowsOf(ReadOp read) {
  const CacheDesc &cache = context.planned.program.caches[context.caches.lookup(read.getCache())];
  RowSpec spec;
  spec.heads = read.getType().getHeads();
  spec.dim = read.getType().getChannels();
  spec.format = cache.segments[read.getSegment()].format;
  spec.place = cache.places[read.getSegment()];
  return spec;
}

/// A read that `rows` come from.
static ReadOp anyRead(Value rows) {
  Operation *op = rows.getDefiningOp();
  while (auto rebuild = dyn_cast<RebuildOp>(op))
    op = rebuild.getInputs()[0].getDefiningOp();
  return cast<ReadOp>(op);
}

Visibility BodyBuilder::visibilityOf(AttendPartialOp op) {
  Visibility visibility;
  visibility.window = op.getWindow();
  visibility.every = op.getEvery();
  visibility.span = Visibility::Span::Chunk;
  if (op.readsRows()) {
    int32_t number = context.caches.lookup(anyRead(op.getValue()).getCache());
    bool ring = context.planned.program.caches[number].kind == attnc::CacheKind::Ring;
    visibility.span = ring ? Visibility::Span::RingPast : Visibility::Span::Paged;
  }
  return visibility;
}

/// Runs of query heads that share all their rows: heads of different parts may
/// be shared in different runs.
static int64_t sharedRuns(const std::vector<RowSpec> &specs) {
  int64_t runs = 1;
  for (const RowSpec &spec : specs)
    runs = std::lcm(runs, spec.heads);
  return runs;
}

LogicalResult BodyBuilder::finishAttend(AttendPartialOp op, Source source, Launches &to) {
  AttendSpec spec;
  Launch launch = makeLaunch("attend", "", op);
  spec.heads = op.getHeads();
  spec.kvHeads = sharedRuns(source.specs);
  for (Value query : op.getQueries())
    launch.in.push_back(tokens.view(query));
  spec.value = source.specs.back();
  launch.value = source.parts.back();
  source.specs.pop_back();
  source.parts.pop_back();
  for (size_t i = 0; i < source.parts.size() && spec.valueKey < 0; ++i)
    if (samePart(source.parts[i], launch.value))
      spec.valueKey = i;
  if (spec.valueKey >= 0) {
    const RowSpec &key = source.specs[spec.valueKey];
    if (key.heads != spec.value.heads || key.dim != spec.value.dim)
      return op.emitOpError("reads one segment as ")
             << key.heads << "x" << key.dim << " keys and as " << spec.value.heads << "x"
             << spec.value.dim << " values; expected one shape";
    spec.value = {};
  }
  spec.keys = std::move(source.specs);
  launch.keys = std::move(source.parts);
  spec.scale = op.getScale().convertToDouble();
  spec.every = op.getEvery();
  if (!op.getScoreMap().empty())
    spec.scoreMap = {&op.getScoreMap(), printScalarBody(op.getScoreMap())};
  if (op.getConsts())
    for (auto symbol : op.getConsts()->getAsRange<FlatSymbolRefAttr>())
      launch.weights.push_back(context.tables.vector(attn::lookupWeight(op, symbol)));
  spec.consts = launch.weights.size();
  launch.kernel = context.kernels.get(std::move(spec));
  launch.visibility = visibilityOf(op);
  launch.state = states.lookup(op.getState());
  to.push_back(std::move(launch));
  states[op.getResult()] = to.back().state;
  return success();
}

LogicalResult BodyBuilder::emit(AttendPartialOp op) {
  SmallVector<Value> rows(op.getKeys());
  rows.push_back(op.getValue());
  if (llvm::any_of(rows, [](Value v) { return v.getDefiningOp<RebuildOp>() != nullptr; }))
    return attendRebuilt(op);
  Source source;
  for (Value value : rows) {
    if (auto read = value.getDefiningOp<ReadOp>())
      source.add(rowsOf(read), part(read));
    else
      source.add(tokens.view(value));
  }
  return finishAttend(op, std::move(source), body.launches);
}

/// Has the rows of a segment unpacked into the tile, once each.
View BodyBuilder::unpack(ReadOp read, Scope &tile, Launch &rebuild) {
  RowPart from = part(read);
  for (size_t i = 0; i < rebuild.reads.size(); ++i)
    if (samePart(rebuild.reads[i], from)) {
      View view = rebuild.readViews[i];
      reshape(view, read.getType().getHeads(), read.getType().getChannels());
      return view;
    }
  View view = tile.allocate(read.getType().getHeads(), read.getType().getChannels());
  rebuild.reads.push_back(from);
  rebuild.readViews.push_back(view);
  rebuild.readKernels.push_back(context.kernels.get(UnpackSpec{rowsOf(read)}));
  return view;
}

/// The reads and rebuilds that `rows` come from, in program order.
static SmallVector<Operation *> makersOf(ArrayRef<Value> rows) {
  llvm::SetVector<Operation *> makers;
  SmallVector<Value> open(rows);
  while (!open.empty()) {
    Operation *maker = open.pop_back_val().getDefiningOp();
    if (makers.insert(maker))
      llvm::append_range(open, maker->getOperands());
  }
  SmallVector<Operation *> ordered = makers.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

LogicalResult BodyBuilder::attendRebuilt(AttendPartialOp op) {
  Scope tile(body.rebuildBuffers, true);
  Launch launch = makeLaunch("rebuild", "", op);
  SmallVector<Value> rows(op.getKeys());
  rows.push_back(op.getValue());
  for (Operation *maker : makersOf(rows)) {
    if (auto read = dyn_cast<ReadOp>(maker)) {
      tile.hold(read.getRows(), unpack(read, tile, launch));
      continue;
    }
    auto rebuild = cast<RebuildOp>(maker);
    Block &block = rebuild.getBody().front();
    for (auto [argument, input] : llvm::zip_equal(block.getArguments(), rebuild.getInputs()))
      tile.hold(argument, tile.view(input));
    for (Operation &inner : block.without_terminator()) {
      if (failed(emitToken(inner, tile, launch.body)))
        return failure();
      tile.release(inner);
    }
    for (auto [rebuilt, yielded] :
         llvm::zip_equal(rebuild.getResults(), block.getTerminator()->getOperands()))
      tile.hold(rebuilt, tile.view(yielded));
  }
  Source source;
  for (Value value : rows)
    source.add(tile.view(value));
  if (failed(finishAttend(op, std::move(source), launch.body)))
    return failure();
  body.launches.push_back(std::move(launch));
  return success();
}

} // namespace attnc
