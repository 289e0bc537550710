//===- tiny_program.cpp - programs over the hand-written kernels ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime_kernels.h"

namespace attnc::test {

namespace {
enum Weight { Gamma, Q, K, V, O, QBias, Sink };
enum Buffer { H, X, Queries, Keys, Values, Out, Delta, BufferCount };
enum TileBuffer { TileX, TileKeys, TileValues };

View flat(int buffer, int64_t inner, bool tile = false) {
  View view;
  view.buffer = buffer;
  view.tile = tile;
  view.tokenStride = view.inner = inner;
  return view;
}

View heads(int buffer, int64_t count, bool tile = false) {
  View view = flat(buffer, dim, tile);
  view.heads = count;
  view.headStride = dim;
  view.tokenStride = count * dim;
  return view;
}

WeightUse matrix(const char *name, int64_t out, int64_t in) {
  WeightUse use;
  use.tensor = name;
  use.shape = {out, in};
  use.pack = WeightUse::Pack::Panels;
  use.rowCount = out;
  use.panel = panel;
  return use;
}

WeightUse vector(const char *name, int64_t size) {
  WeightUse use;
  use.tensor = name;
  use.shape = {size};
  return use;
}

Launch launch(const char *op, const char *kernel, std::vector<View> in,
              std::vector<View> out, std::vector<int32_t> weights = {}) {
  Launch made;
  made.op = op;
  made.kernel = kernel;
  made.in = std::move(in);
  made.out = std::move(out);
  made.weights = std::move(weights);
  return made;
}

Launch rotate(const char *kernel, View view) {
  Launch made = launch("rope", kernel, {view}, {view});
  made.table = 0;
  return made;
}

Launch fold(const char *kernel, RowPart key, RowPart value,
            Visibility::Span span, int64_t window) {
  Launch made = launch("attend", kernel, {heads(Queries, qHeads)}, {});
  made.keys = {key};
  made.value = value;
  made.visibility = {span, window, 1};
  made.state = 0;
  return made;
}

RowPart segment(int number) {
  RowPart part;
  part.cache = 0;
  part.segment = number;
  return part;
}

RowPart dense(View view) {
  RowPart part;
  part.view = view;
  return part;
}

void addAttention(const TinyOptions &options, std::vector<Launch> &list) {
  using Span = Visibility::Span;
  Launch append = launch("append", "append_kv",
                         {flat(Keys, kvWidth), flat(Values, kvWidth)}, {});
  append.cache = 0;
  switch (options.plan) {
  case Plan::Paged:
    list.push_back(append);
    list.push_back(fold("attend_cache", segment(0), segment(1), Span::Paged,
                        options.window));
    return;
  case Plan::Ring:
    list.push_back(fold("attend_cache", segment(0), segment(1), Span::RingPast,
                        options.window));
    list.push_back(fold("attend_dense", dense(heads(Keys, kvHeads)),
                        dense(heads(Values, kvHeads)), Span::Chunk,
                        options.window));
    list.push_back(append);
    return;
  case Plan::Rebuild:
    append = launch("append", "append_hidden", {flat(X, hidden)}, {});
    append.cache = 0;
    list.push_back(append);
    Launch rebuild = launch("rebuild", "", {}, {});
    rebuild.reads = {segment(0)};
    rebuild.readViews = {flat(TileX, hidden, true)};
    rebuild.readKernels = {"unpack_hidden"};
    rebuild.body = {launch("project", "project_kv", {flat(TileX, hidden, true)},
                           {flat(TileKeys, kvWidth, true)}, {K}),
                    rotate("rope_k", heads(TileKeys, kvHeads, true)),
                    launch("project", "project_kv", {flat(TileX, hidden, true)},
                           {flat(TileValues, kvWidth, true)}, {V}),
                    fold("attend_dense", dense(heads(TileKeys, kvHeads, true)),
                         dense(heads(TileValues, kvHeads, true)), Span::Paged,
                         options.window)};
    list.push_back(rebuild);
    return;
  }
}

Body tinyBody(const TinyOptions &options) {
  Body body;
  body.buffers = {hidden, hidden, qWidth, kvWidth, kvWidth, qWidth, hidden};
  body.rebuildBuffers = {hidden, kvWidth, kvWidth};
  body.states = {{qHeads, dim}};
  body.input = body.output = flat(H, hidden);
  auto &list = body.launches;
  list.push_back(
      launch("norm", "norm", {flat(H, hidden)}, {flat(X, hidden)}, {Gamma}));
  list.push_back(launch("project", "project_q", {flat(X, hidden)},
                        {flat(Queries, qWidth)}, {Q, QBias}));
  list.push_back(rotate("rope_q", heads(Queries, qHeads)));
  if (options.plan != Plan::Rebuild) {
    list.push_back(launch("project", "project_kv", {flat(X, hidden)},
                          {flat(Keys, kvWidth)}, {K}));
    list.push_back(rotate("rope_k", heads(Keys, kvHeads)));
    list.push_back(launch("project", "project_kv", {flat(X, hidden)},
                          {flat(Values, kvWidth)}, {V}));
  }
  addAttention(options, list);
  Launch merge = launch("combine", "combine", {}, {heads(Out, qHeads)});
  merge.state = 0;
  if (options.sink)
    merge.weights = {Sink};
  list.push_back(merge);
  list.push_back(launch("project", "project_o", {flat(Out, qWidth)},
                        {flat(Delta, hidden)}, {O}));
  Launch trace = launch("trace", "", {flat(Delta, hidden)}, {});
  trace.name = "layer0.attention";
  list.push_back(trace);
  list.push_back(launch("map", "map_add", {flat(H, hidden), flat(Delta, hidden)},
                        {flat(H, hidden)}));
  return body;
}
} // namespace

/// Repeats the first layer's launches on a cache of their own.
static void addLayer(Program &program, int layer) {
  CacheDesc cache = program.caches[0];
  cache.name = "layers." + std::to_string(layer) + ".main";
  program.caches.push_back(cache);
  for (Body *body : {&program.decode, &program.prefill}) {
    std::vector<Launch> copy(body->launches.begin(),
                             body->launches.begin() +
                                 int64_t(body->launches.size()) / layer);
    for (Launch &launch : copy) {
      if (launch.cache >= 0)
        launch.cache = layer;
      for (RowPart &part : launch.keys)
        if (part.cache >= 0)
          part.cache = layer;
      if (launch.value.cache >= 0)
        launch.value.cache = layer;
      for (RowPart &part : launch.reads)
        part.cache = layer;
      if (launch.op == "trace")
        launch.name = "layer" + std::to_string(layer) + ".attention";
    }
    body->launches.insert(body->launches.end(), copy.begin(), copy.end());
  }
}

Program tinyProgram(const TinyOptions &options) {
  Program program;
  program.hidden = hidden;
  program.prefillThreshold = options.threshold;
  CacheDesc cache;
  cache.name = "layers.0.main";
  cache.readers = {0};
  cache.pageEntries = options.pageEntries;
  if (options.plan == Plan::Ring) {
    cache.kind = CacheKind::Ring;
    cache.rows = options.window;
  }
  if (options.plan == Plan::Rebuild)
    cache.segments = {{"hidden", {}, hidden}};
  else
    cache.segments = {{"key", {}, kvWidth}, {"value", {}, kvWidth}};
  cache.place();
  program.caches = {cache};
  program.weights = {vector("norm.weight", hidden),
                     matrix("q.weight", qWidth, hidden),
                     matrix("k.weight", kvWidth, hidden),
                     matrix("v.weight", kvWidth, hidden),
                     matrix("o.weight", hidden, qWidth),
                     vector("q.bias", qWidth),
                     vector("sinks", qHeads)};
  Rotary table;
  table.dims = dim;
  program.tables = {table};
  std::map<std::string, int64_t> attend = {
      {"q_heads", qHeads},          {"kv_heads", kvHeads},
      {"max_rows", options.maxRows}, {"split_entries", options.splitEntries},
      {"scratch_bytes", 64},        {"dk", dim},
      {"dv", dim}};
  std::map<std::string, int64_t> attendCache = attend;
  if (options.cacheRows)
    attendCache["max_rows"] = options.cacheRows;
  std::map<std::string, int64_t> tile = {{"tokens", 2}};
  program.kernels = {{"project_q", "project", tile},
                     {"project_kv", "project", tile},
                     {"project_o", "project", {}},
                     {"norm", "norm", tile},
                     {"rope_q", "rope", tile},
                     {"rope_k", "rope", {}},
                     {"map_add", "map", {}},
                     {"append_kv", "append", tile},
                     {"append_hidden", "append", tile},
                     {"unpack_hidden", "unpack", {}},
                     {"attend_cache", "attend", attendCache},
                     {"attend_dense", "attend", attend},
                     {"combine", "combine", {}}};
  program.decode = tinyBody(options);
  program.prefill = tinyBody(options);
  for (int layer = 1; layer < options.layers; ++layer)
    addLayer(program, layer);
  return program;
}

static std::vector<double> multiply(const float *matrix, int64_t out,
                                    const std::vector<double> &x) {
  std::vector<double> y(size_t(out), 0.0);
  for (size_t o = 0; o < y.size(); ++o)
    for (size_t i = 0; i < x.size(); ++i)
      y[o] += double(matrix[o * x.size() + i]) * x[i];
  return y;
}

static void rotateHeads(std::vector<double> &x, int64_t position) {
  Rotary table;
  table.dims = dim;
  std::vector<double> frequencies = table.frequencies();
  for (size_t h = 0; h < x.size(); h += dim)
    for (size_t i = 0; i < dim / 2; ++i) {
      Rotation r = rotation(position, frequencies[i], 1);
      double a = x[h + i], b = x[h + i + dim / 2];
      x[h + i] = a * r.cos - b * r.sin;
      x[h + i + dim / 2] = a * r.sin + b * r.cos;
    }
}

std::vector<double> tinyReference(WeightSource &weights, const float *rows,
                                  int64_t tokens, const TinyOptions &options) {
  std::string error;
  auto get = [&](const char *name, std::vector<int64_t> shape) {
    return weights.get(name, shape, error);
  };
  const float *gamma = get("norm.weight", {hidden});
  const float *bias = get("q.bias", {qWidth}), *sinks = get("sinks", {qHeads});
  std::vector<std::vector<double>> q, k, v;
  for (int64_t t = 0; t < tokens; ++t) {
    std::vector<double> x(rows + t * hidden, rows + (t + 1) * hidden);
    double square = 0;
    for (double value : x)
      square += value * value;
    for (size_t i = 0; i < x.size(); ++i)
      x[i] *= double(gamma[i]) / std::sqrt(square / hidden + 1e-6);
    q.push_back(multiply(get("q.weight", {qWidth, hidden}), qWidth, x));
    for (size_t i = 0; i < qWidth; ++i)
      q.back()[i] += double(bias[i]);
    k.push_back(multiply(get("k.weight", {kvWidth, hidden}), kvWidth, x));
    v.push_back(multiply(get("v.weight", {kvWidth, hidden}), kvWidth, x));
    rotateHeads(q.back(), t);
    rotateHeads(k.back(), t);
  }
  std::vector<double> result(rows, rows + tokens * hidden);
  for (int64_t t = 0; t < tokens; ++t) {
    std::vector<double> out(qWidth, 0.0);
    int64_t first =
        options.window ? std::max<int64_t>(0, t - options.window + 1) : 0;
    for (int64_t h = 0; h < qHeads; ++h) {
      int64_t kv = h / (qHeads / kvHeads);
      double total = options.sink ? std::exp(double(sinks[h])) : 0;
      for (int64_t j = first; j <= t; ++j) {
        double score = 0;
        for (int64_t i = 0; i < dim; ++i)
          score += q[size_t(t)][size_t(h * dim + i)] *
                   k[size_t(j)][size_t(kv * dim + i)];
        double weight = std::exp(score / std::sqrt(double(dim)));
        total += weight;
        for (int64_t i = 0; i < dim; ++i)
          out[size_t(h * dim + i)] +=
              weight * v[size_t(j)][size_t(kv * dim + i)];
      }
      for (int64_t i = 0; i < dim; ++i)
        out[size_t(h * dim + i)] /= total;
    }
    std::vector<double> y =
        multiply(get("o.weight", {hidden, qWidth}), hidden, out);
    for (size_t i = 0; i < hidden; ++i)
      result[size_t(t * hidden) + i] += y[i];
  }
  return result;
}

} // namespace attnc::test
