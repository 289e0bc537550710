//===- GraphBuilder.cpp - from a model's description to its graph
//----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Emits what a layer's fields say and knows no family. Attention over a latent
// is emitted in its expanded form, as the model was trained: that queries can
// be scored against the latent itself is for passes to find. A layer that reads
// what an earlier one made uses its values.
//
//===----------------------------------------------------------------------===//

#include "frontend/GraphBuilder.h"

#include "frontend/GraphEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

namespace attnc {

namespace {

/// What a layer makes that later layers may read.
struct LayerValues {
  Value latent; ///< entries before their rotation
  AttendSource entries;
  Value indexKey, selection, candidates;
};

AttendSource makeSource(ArrayRef<Value> queries, ArrayRef<Value> keys,
                        Value value) {
  AttendSource source;
  source.queries.assign(queries.begin(), queries.end());
  source.keys.assign(keys.begin(), keys.end());
  source.value = value;
  return source;
}

class GraphBuilder {
public:
  GraphBuilder(MLIRContext &context, const ModelConfig &config,
               const GraphOptions &options)
      : config(config), options(options), emit(context) {}

  OwningOpRef<ModuleOp> build(MLIRContext &context, StringRef name) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    Value h = emit.begin(*module, name, config.hidden);
    made.resize(config.layers.size());
    for (auto [index, layer] : llvm::enumerate(config.layers)) {
      emit.setLayer(index);
      h = emitLayer(layer, made[index], h);
    }
    emit.finish(h);
    return module;
  }

private:
  Value emitLayer(const LayerDesc &layer, LayerValues &own, Value h) {
    Value x = emit.norm(h, layer.inputNorm);
    Value latent = emitQueryLatent(layer.query, x);
    Value q = emitQuery(layer, latent);
    // An index may read the entries before they are rotated.
    for (const SourceDesc &source : layer.sources)
      if (source.entries && source.entries->pool)
        own.latent = emitPool(*source.entries->pool, x);
    if (layer.index)
      emitIndex(*layer.index, own, x, latent);
    SmallVector<AttendSource> sources;
    for (const SourceDesc &source : layer.sources) {
      AttendSource &visible =
          sources.emplace_back(emitSource(source, own, x, q));
      visible.window = source.window;
      if (source.selectedBy)
        visible.selection = made[*source.selectedBy].selection;
    }
    Value a = emitOutput(layer, emit.attend(layer, sources));
    emit.trace(a, "attention");
    h = emit.add(h, a);
    return emit.add(h, emit.feedForward(h, layer.feedForward));
  }

  Value emitOutput(const LayerDesc &layer, Value o) {
    if (layer.outputRope)
      o = emit.rope(o, *layer.outputRope, /*inverse=*/true);
    if (layer.outputGroups)
      o = emit.project(o, layer.outputGroups->down,
                       {layer.outputGroups->down.out},
                       layer.outputGroups->groups);
    Value a = emit.project(o, layer.output, {config.hidden});
    return layer.outputNorm ? emit.norm(a, *layer.outputNorm) : a;
  }

  //===--------------------------------------------------------------------===//
  // Queries
  //===--------------------------------------------------------------------===//

  Value emitQueryLatent(const QueryDesc &query, Value x) {
    if (query.down)
      x = emit.project(x, *query.down, {query.down->out});
    return query.downNorm ? emit.norm(x, *query.downNorm) : x;
  }

  Value emitQuery(const LayerDesc &layer, Value latent) {
    const QueryDesc &query = layer.query;
    Value q = emit.project(latent, query.up, {layer.heads, query.width});
    if (query.headNorm)
      q = emit.norm(q, *query.headNorm, /*perHead=*/true);
    return emit.rope(q, query.rope);
  }

  //===--------------------------------------------------------------------===//
  // Keys and values
  //===--------------------------------------------------------------------===//

  AttendSource emitSource(const SourceDesc &source, LayerValues &own, Value x,
                          Value q) {
    if (source.projected)
      return emitProjected(*source.projected, x, q);
    if (source.latent)
      return emitLatent(*source.latent, x, q);
    if (source.vector) {
      const VectorSource &vector = *source.vector;
      Value row = emit.norm(emit.project(x, vector.down, {vector.down.out}),
                            vector.norm);
      return splitQuery(emitRow(row, vector.rope, vector.formats), q);
    }
    const EntrySource &entries = *source.entries;
    if (entries.pool)
      own.entries = emitRow(own.latent, entries.rope, entries.formats);
    return splitQuery(made[entries.layer].entries, q);
  }

  AttendSource emitProjected(const ProjectedSource &source, Value x, Value q) {
    Value k = emit.project(x, source.key, {source.heads, source.width});
    if (source.keyNorm)
      k = emit.norm(k, *source.keyNorm, /*perHead=*/true);
    k = emit.rope(k, source.rope);
    Value v = emit.project(x, source.value, {source.heads, source.width});
    return makeSource({q}, {k}, v);
  }

  AttendSource emitLatent(const LatentSource &source, Value x, Value q) {
    Value both = emit.project(x, source.down, {source.down.out});
    Value latent = emit.norm(emit.slice(both, 0, source.rank), source.norm);
    latent = round(latent, source.formats.plain);
    Value shared =
        emit.rope(emit.slice(both, source.rank, source.down.out - source.rank),
                  source.rope);
    shared = round(shared, source.formats.rotated);
    Value heads = emit.project(
        latent, source.up, {source.heads, source.keyWidth + source.valueWidth});
    Value plain = emit.slice(heads, 0, source.keyWidth);
    Value k = emit.concat({plain, shared});
    Value v = emit.slice(heads, source.keyWidth, source.valueWidth);
    return makeSource({q}, {k}, v);
  }

  /// A vector that is rotated, and rounded, in one or in two parts, and that is
  /// key and value. The source has no queries yet.
  AttendSource emitRow(Value row, const RopeDesc &rope,
                       const RowFormats &formats) {
    row = emit.rope(row, rope);
    if (!options.trainedRoundings || formats.plain == formats.rotated) {
      row = round(row, formats.plain);
      return makeSource({}, {row}, row);
    }
    int64_t plain = channelsOf(row) - rope.rotary.dims;
    Value a = round(emit.slice(row, 0, plain), formats.plain);
    Value b = round(emit.slice(row, plain, rope.rotary.dims), formats.rotated);
    return makeSource({}, {a, b}, emit.concat({a, b}));
  }

  /// `source` with a slice of the query for each part of its key.
  AttendSource splitQuery(AttendSource source, Value q) {
    if (source.keys.size() == 1) {
      source.queries = {q};
      return source;
    }
    int64_t offset = 0;
    for (Value key : source.keys) {
      source.queries.push_back(emit.slice(q, offset, channelsOf(key)));
      offset += channelsOf(key);
    }
    return source;
  }

  Value emitPool(const PoolDesc &pool, Value x) {
    return emit.norm(emit.pool(x, pool), pool.norm);
  }

  Value round(Value x, const Format &format) {
    return options.trainedRoundings ? emit.round(x, format) : x;
  }

  //===--------------------------------------------------------------------===//
  // Selections
  //===--------------------------------------------------------------------===//

  void emitIndex(const IndexDesc &index, LayerValues &own, Value x,
                 Value latent) {
    if (index.key)
      own.indexKey = mix(index, emitIndexKey(*index.key, own, x));
    Value q = emit.project(latent, index.query, {index.heads, index.width});
    q = mix(index, emit.rope(q, index.rope));
    Value weights = emit.project(x, index.weights, {index.heads});
    Value within = index.within ? made[*index.within].candidates : Value();
    Value scores =
        emit.score(index, q, made[index.keyLayer].indexKey, weights, within);
    if (index.candidates)
      own.candidates = emit.candidates(scores, *index.candidates);
    own.selection = emit.topK(scores, index.picks);
    emit.trace(own.selection, "selection");
  }

  Value emitIndexKey(const IndexKeyDesc &key, const LayerValues &own, Value x) {
    Value k = key.pool ? emitPool(*key.pool, x)
                       : emit.project(key.ofEntries ? own.latent : x, *key.down,
                                      {key.down->out});
    if (key.norm)
      k = emit.norm(k, *key.norm);
    if (key.layerNorm)
      k = emit.layerNorm(k, *key.layerNorm);
    return emit.rope(k, key.rope);
  }

  /// The last steps of index queries and keys.
  Value mix(const IndexDesc &index, Value x) {
    return round(index.hadamard ? emit.hadamard(x) : x, index.format);
  }

  const ModelConfig &config;
  const GraphOptions &options;
  GraphEmitter emit;
  std::vector<LayerValues> made;
};

} // namespace

OwningOpRef<ModuleOp> buildGraph(MLIRContext &context,
                                 const ModelConfig &config, StringRef name,
                                 const GraphOptions &options) {
  context.loadDialect<AttnDialect, arith::ArithDialect, math::MathDialect>();
  return GraphBuilder(context, config, options).build(context, name);
}

} // namespace attnc
