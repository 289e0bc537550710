//===- CheckProgram.cpp - is every index and size of a program in range -----===//
// SPDX-License-Identifier: Apache-2.0
//
// The executor follows indices and forms addresses without looking twice; this
// is where they are looked at once. Kernels are code and trusted as such (their
// file has a checksum); what they are handed is not.
//
//===----------------------------------------------------------------------===//
#include "formats/Manifest.h"
#include "formats/ProgramNames.h"

#include <cmath>
#include <set>

namespace attnc {

namespace {
constexpr int64_t most = int64_t(1) << 40;
/// An argument list has room for this many inputs, parts or constants.
constexpr size_t maxOperands = 16;

class Checker {
public:
  Checker(const Program &program, const std::string &file)
      : program(program), file(file) {}

  std::string run() {
    checkCaches();
    checkWeights();
    checkTables();
    checkKernels();
    checkBody(program.decode, "/program/decode");
    checkBody(program.prefill, "/program/prefill");
    return error;
  }

private:
  void fail(const std::string &where, const std::string &what) {
    if (error.empty())
      error = file + " at " + where + ": " + what;
  }
  /// Complains unless `index` is in [0, size).
  bool index(int64_t index, size_t size, const std::string &where,
             const char *what) {
    if (index >= 0 && index < int64_t(size))
      return true;
    fail(where, "found " + std::string(what) + " " + std::to_string(index) +
                    "; expected one below " + std::to_string(size));
    return false;
  }
  void count(size_t found, size_t least, size_t most, const std::string &where,
             const char *what) {
    if (found >= least && found <= most)
      return;
    std::string range = std::to_string(least);
    if (most != least)
      range += " to " + std::to_string(most);
    fail(where, "found " + std::to_string(found) + " " + what + "; expected " +
                    range);
  }

  void checkCaches() {
    std::set<std::string> names;
    for (size_t i = 0; i < program.caches.size(); ++i) {
      const CacheDesc &cache = program.caches[i];
      std::string where = "/program/caches/" + std::to_string(i);
      if (!names.insert(cache.name).second)
        fail(where + "/name", "found the name '" + cache.name +
                                  "' a second time; expected it once");
      if (cache.places.size() != cache.segments.size() || cache.pageBytes < 1)
        fail(where, "the cache has no layout; expected place() to have run");
      if (cache.pageBytes > most)
        fail(where, "found pages of " + std::to_string(cache.pageBytes) +
                        " bytes; expected at most 2^40");
    }
  }

  void checkWeights() {
    for (size_t i = 0; i < program.weights.size(); ++i) {
      const WeightUse &use = program.weights[i];
      std::string where = "/program/weights/" + std::to_string(i);
      int64_t elements = 1;
      for (int64_t dim : use.shape)
        if (dim < 1 || __builtin_mul_overflow(elements, dim, &elements) ||
            elements > most)
          return fail(where + "/shape", "found a shape of more than 2^40 "
                                        "elements; expected fewer");
      if (use.pack == WeightUse::Pack::Vector) {
        if (!std::isfinite(use.add))
          fail(where + "/add", "found no finite number; expected one");
        continue;
      }
      if (use.shape.empty())
        return fail(where + "/shape", "found no dimension; expected a matrix");
      int64_t rows = elements / use.shape.back();
      if (use.groups < 1 || rows % use.groups != 0)
        fail(where + "/groups", "found " + std::to_string(use.groups) +
                                    " groups; expected a divisor of " +
                                    std::to_string(rows) + " rows");
      else if (use.rowBegin < 0 || use.rowCount < 1 ||
               use.rowBegin > rows / use.groups - use.rowCount)
        fail(where + "/row_count",
             "found rows " + std::to_string(use.rowBegin) + " and " +
                 std::to_string(use.rowCount) + " more; expected a range of " +
                 std::to_string(rows / use.groups) + " rows");
      if (use.panel < 1 || use.panel > 4096)
        fail(where + "/panel", "found panels of " + std::to_string(use.panel) +
                                   "; expected 1 to 4096");
    }
  }

  void checkTables() {
    for (size_t i = 0; i < program.tables.size(); ++i) {
      const Rotary &table = program.tables[i];
      std::string where = "/program/tables/" + std::to_string(i);
      if (table.dims < 2 || table.dims % 2 || table.dims > (1 << 20))
        fail(where + "/dims", "found " + std::to_string(table.dims) +
                                  "; expected an even number from 2 to 2^20");
      bool scaled = table.scaling != Rotary::Scaling::None;
      if (!std::isfinite(table.theta) || table.theta <= 0 ||
          !std::isfinite(table.amplitude) ||
          (scaled && (!std::isfinite(table.factor) || table.factor <= 0)))
        fail(where, "found theta, factor or amplitude that is no finite "
                    "number above 0; expected one");
    }
  }

  void checkKernels() {
    for (size_t i = 0; i < program.kernels.size(); ++i) {
      const KernelDesc &kernel = program.kernels[i];
      std::string where = "/program/kernels/" + std::to_string(i);
      if (kernel.name.empty())
        fail(where + "/name", "found an empty name; expected a symbol");
      if (!kernels.emplace(kernel.name, &kernel).second)
        fail(where + "/name", "found the name '" + kernel.name +
                                  "' a second time; expected it once");
      if (kernel.op == "attend")
        checkAttendParams(kernel, where + "/params");
      if (auto it = kernel.params.find("tokens");
          it != kernel.params.end() && it->second < 1)
        fail(where + "/params/tokens",
             "found " + std::to_string(it->second) + "; expected at least 1");
    }
  }

  void checkAttendParams(const KernelDesc &kernel, const std::string &where) {
    auto param = [&](const char *key, int64_t least, bool required) {
      auto it = kernel.params.find(key);
      if (it == kernel.params.end()) {
        if (required)
          fail(where, std::string("the key '") + key + "' is missing");
        return least;
      }
      if (it->second < least || it->second > (int64_t(1) << 30))
        fail(where + "/" + key, "found " + std::to_string(it->second) +
                                    "; expected an integer from " +
                                    std::to_string(least) + " to 2^30");
      return it->second;
    };
    int64_t q = param("q_heads", 1, true), kv = param("kv_heads", 1, true);
    param("dv", 1, true);
    // Of CPU code only; the executor asks for them.
    for (const char *key : {"max_rows", "split_entries"})
      param(key, 1, false);
    param("scratch_bytes", 0, false);
    if (error.empty() && q % kv != 0)
      fail(where, "found " + std::to_string(q) + " query heads over " +
                      std::to_string(kv) + " key heads; expected a multiple");
  }

  void checkBody(const Body &body, const std::string &where) {
    current = &body;
    for (size_t i = 0; i < body.buffers.size(); ++i)
      if (body.buffers[i] < 0 || body.buffers[i] > most)
        fail(where + "/buffers/" + std::to_string(i), "found a size out of range; "
                                                      "expected 0 to 2^40");
    for (size_t i = 0; i < body.rebuildBuffers.size(); ++i)
      if (body.rebuildBuffers[i] < 0 || body.rebuildBuffers[i] > most)
        fail(where + "/rebuild_buffers/" + std::to_string(i),
             "found a size out of range; expected 0 to 2^40");
    for (size_t i = 0; i < body.states.size(); ++i)
      if (body.states[i].heads < 1 || body.states[i].dv < 1 ||
          body.states[i].heads > (1 << 20) || body.states[i].dv > (1 << 20))
        fail(where + "/states/" + std::to_string(i),
             "found heads or dv out of range; expected 1 to 2^20");
    checkView(body.input, where + "/input", false);
    checkView(body.output, where + "/output", false);
    for (auto [view, name] : {std::pair(&body.input, "/input"),
                              std::pair(&body.output, "/output")})
      if (error.empty() && view->heads * view->inner != program.hidden)
        fail(where + name, "found " +
                               std::to_string(view->heads * view->inner) +
                               " channels; expected " +
                               std::to_string(program.hidden));
    for (size_t i = 0; i < body.launches.size(); ++i)
      checkLaunch(body.launches[i],
                  where + "/launches/" + std::to_string(i), false);
  }

  void checkView(const View &view, const std::string &where, bool inRebuild) {
    if (view.tile && !inRebuild)
      return fail(where, "found a view of a rebuild tile outside a rebuild; "
                         "expected a view of the batch");
    const auto &buffers = view.tile ? current->rebuildBuffers : current->buffers;
    if (!index(view.buffer, buffers.size(), where + "/buffer", "buffer"))
      return;
    int64_t size = buffers[view.buffer], span = 0, end = 0;
    bool bad = view.offset < 0 || view.tokenStride < 0 || view.headStride < 0 ||
               view.heads < 1 || view.inner < 1 || view.offset > most ||
               view.inner > most || view.tokenStride > size ||
               __builtin_mul_overflow(view.heads - 1, view.headStride, &span) ||
               __builtin_add_overflow(span, view.offset + view.inner, &end) ||
               end > size;
    if (bad)
      fail(where, "the view leaves its buffer of " + std::to_string(size) +
                      " elements per token; expected offset, strides, heads "
                      "and inner to stay inside");
  }
  void checkViews(const std::vector<View> &views, const std::string &where,
                  bool inRebuild) {
    for (size_t i = 0; i < views.size(); ++i)
      checkView(views[i], where + "/" + std::to_string(i), inRebuild);
  }

  void checkPart(const RowPart &part, const std::string &where,
                 bool inRebuild) {
    if (part.cache < 0)
      return checkView(part.view, where + "/view", inRebuild);
    if (!index(part.cache, program.caches.size(), where + "/cache", "cache"))
      return;
    const CacheDesc &cache = program.caches[part.cache];
    index(part.segment, cache.segments.size(), where + "/segment", "segment");
    if (error.empty() && cache.segments[part.segment].pad)
      fail(where + "/segment", "found the pad of cache " + cache.name +
                                   "; expected a segment with values");
  }

  const KernelDesc *kernel(const std::string &name, const char *op,
                           const std::string &where) {
    auto it = kernels.find(name);
    if (it == kernels.end()) {
      fail(where, "found the kernel '" + name +
                      "'; expected one that is listed under kernels");
      return nullptr;
    }
    if (it->second->op != op)
      fail(where, "found the kernel '" + name + "' of op '" + it->second->op +
                      "'; expected one of op '" + op + "'");
    return it->second;
  }

  void weight(int64_t number, WeightUse::Pack pack, const std::string &where) {
    if (index(number, program.weights.size(), where, "weight") &&
        program.weights[number].pack != pack)
      fail(where, std::string("found a weight of the other packing; expected ") +
                      (pack == WeightUse::Pack::Panels ? "panels" : "a vector"));
  }
  void vectors(const Launch &launch, size_t from, const std::string &where) {
    for (size_t i = from; i < launch.weights.size(); ++i)
      weight(launch.weights[i], WeightUse::Pack::Vector,
             where + "/weights/" + std::to_string(i));
  }
  void shape(const Launch &launch, size_t leastIn, size_t mostIn, size_t out,
             const std::string &where) {
    count(launch.in.size(), leastIn, mostIn, where + "/in", "views");
    count(launch.out.size(), out, out, where + "/out", "views");
  }

  void checkLaunch(const Launch &launch, const std::string &where,
                   bool inRebuild) {
    if (!error.empty())
      return;
    checkViews(launch.in, where + "/in", inRebuild);
    checkViews(launch.out, where + "/out", inRebuild);
    count(launch.weights.size(), 0, maxOperands, where + "/weights", "weights");
    if (!error.empty())
      return;
    const std::string &op = launch.op;
    if (op == "project") {
      kernel(launch.kernel, "project", where + "/kernel");
      shape(launch, 1, 1, 1, where);
      count(launch.weights.size(), 1, 2, where + "/weights", "weights");
      if (error.empty())
        weight(launch.weights[0], WeightUse::Pack::Panels, where + "/weights/0");
      vectors(launch, 1, where);
    } else if (op == "norm" || op == "round") {
      kernel(launch.kernel, op.c_str(), where + "/kernel");
      shape(launch, 1, 1, 1, where);
      count(launch.weights.size(), 0, op == "norm", where + "/weights",
            "weights");
      vectors(launch, 0, where);
    } else if (op == "rope") {
      kernel(launch.kernel, "rope", where + "/kernel");
      shape(launch, 1, 1, 1, where);
      index(launch.table, program.tables.size(), where + "/table", "table");
    } else if (op == "map") {
      kernel(launch.kernel, "map", where + "/kernel");
      shape(launch, 1, maxOperands, 1, where);
      vectors(launch, 0, where);
    } else if (op == "attend") {
      checkAttend(launch, where, inRebuild);
    } else if (inRebuild) {
      fail(where + "/op", "found '" + op + "' in a rebuild; expected project, "
                          "norm, rope, map, round or attend");
    } else {
      checkOuter(launch, where);
    }
    if (error.empty() && !inRebuild)
      checkOneTokenAxis(launch, where);
  }

  /// Launches that only stand in the outer list.
  void checkOuter(const Launch &launch, const std::string &where) {
    const std::string &op = launch.op;
    if (op == "append") {
      kernel(launch.kernel, "append", where + "/kernel");
      checkAppend(launch, where);
    } else if (op == "combine") {
      kernel(launch.kernel, "combine", where + "/kernel");
      shape(launch, 0, 0, 1, where);
      count(launch.weights.size(), 0, 1, where + "/weights", "weights");
      vectors(launch, 0, where);
      index(launch.state, current->states.size(), where + "/state", "state");
    } else if (op == "extern") {
      shape(launch, 1, 1, 1, where);
    } else if (op == "trace") {
      shape(launch, 1, 1, 0, where);
    } else if (op == "rebuild") {
      checkRebuild(launch, where);
    } else {
      fail(where + "/op", "found '" + op + "'; expected a known launch");
    }
  }

  /// Outside a rebuild, in[] and out[] are rows of the batch. Inside, a launch
  /// runs over the entries of a tile, but an attend's queries are the batch's.
  void checkOneTokenAxis(const Launch &launch, const std::string &where) {
    for (const auto *views : {&launch.in, &launch.out})
      for (const View &view : *views)
        if (view.tile)
          fail(where, "found a view of a tile; expected views of the batch");
  }

  void checkAppend(const Launch &launch, const std::string &where) {
    if (!index(launch.cache, program.caches.size(), where + "/cache", "cache"))
      return;
    const CacheDesc &cache = program.caches[launch.cache];
    if (cache.every != 1 || cache.kind == CacheKind::State)
      fail(where + "/cache", "found cache " + cache.name +
                                 "; expected one with one entry per token");
    size_t values = 0;
    for (const Segment &segment : cache.segments)
      values += !segment.pad;
    shape(launch, values, values, 0, where);
    count(values, 1, maxOperands, where + "/in", "views");
  }

  void checkAttend(const Launch &launch, const std::string &where,
                   bool inRebuild) {
    const KernelDesc *desc = kernel(launch.kernel, "attend", where + "/kernel");
    count(launch.in.size(), 1, maxOperands, where + "/in", "views");
    count(launch.out.size(), 0, 0, where + "/out", "views");
    count(launch.keys.size(), launch.in.size(), launch.in.size(),
          where + "/keys", "parts");
    vectors(launch, 0, where);
    for (size_t i = 0; i < launch.keys.size(); ++i)
      checkPart(launch.keys[i], where + "/keys/" + std::to_string(i), inRebuild);
    checkPart(launch.value, where + "/value", inRebuild);
    if (!index(launch.state, current->states.size(), where + "/state", "state"))
      return;
    for (size_t i = 0; i < launch.in.size(); ++i)
      if (launch.in[i].tile)
        fail(where + "/in/" + std::to_string(i),
             "found a view of a tile; expected queries of the batch");
    if (!error.empty() || !desc)
      return;
    const StateDesc &state = current->states[launch.state];
    if (desc->params.at("q_heads") != state.heads ||
        desc->params.at("dv") != state.dv)
      fail(where + "/state",
           "found a state of " + std::to_string(state.heads) + " heads x " +
               std::to_string(state.dv) + "; expected " +
               std::to_string(desc->params.at("q_heads")) + " x " +
               std::to_string(desc->params.at("dv")) + " as the kernel");
    for (size_t i = 0; i < launch.keys.size(); ++i)
      checkSource(launch, launch.keys[i], where + "/keys/" + std::to_string(i),
                  inRebuild);
    checkSource(launch, launch.value, where + "/value", inRebuild);
  }

  /// A part must hold the kind of entries that the visibility speaks of.
  void checkSource(const Launch &launch, const RowPart &part,
                   const std::string &where, bool inRebuild) {
    using Span = Visibility::Span;
    const Visibility &visibility = launch.visibility;
    if (inRebuild) {
      if (part.cache >= 0 || !part.view.tile)
        fail(where, "found rows that are no tile; expected the rebuilt tile");
      return;
    }
    if (part.cache < 0) {
      if (part.view.tile || visibility.span != Span::Chunk)
        fail(where, "found a dense view under visibility '" +
                        std::string(stringify(visibility.span)) +
                        "'; expected 'chunk'");
      if (visibility.every != 1)
        fail(where, "found a dense view at rate " +
                        std::to_string(visibility.every) + "; expected 1");
      return;
    }
    const CacheDesc &cache = program.caches[part.cache];
    CacheKind kind =
        visibility.span == Span::RingPast ? CacheKind::Ring : CacheKind::Paged;
    if (visibility.span == Span::Chunk || cache.kind != kind ||
        cache.every != visibility.every)
      fail(where, "found cache " + cache.name + " (" +
                      std::string(stringify(cache.kind)) + ", every " +
                      std::to_string(cache.every) + ") under visibility '" +
                      std::string(stringify(visibility.span)) + "', every " +
                      std::to_string(visibility.every) +
                      "; expected them to agree");
  }

  void checkRebuild(const Launch &launch, const std::string &where) {
    count(launch.reads.size(), 1, maxOperands, where + "/reads", "parts");
    count(launch.readViews.size(), launch.reads.size(), launch.reads.size(),
          where + "/read_views", "views");
    count(launch.readKernels.size(), launch.reads.size(), launch.reads.size(),
          where + "/read_kernels", "kernels");
    count(launch.body.size(), 1, 4096, where + "/body", "launches");
    if (!error.empty())
      return;
    for (size_t i = 0; i < launch.reads.size(); ++i) {
      std::string at = "/" + std::to_string(i);
      if (launch.reads[i].cache < 0)
        fail(where + "/reads" + at, "found a dense view; expected a cache");
      checkPart(launch.reads[i], where + "/reads" + at, true);
      checkView(launch.readViews[i], where + "/read_views" + at, true);
      if (!launch.readViews[i].tile)
        fail(where + "/read_views" + at,
             "found a view of the batch; expected one of the tile");
      kernel(launch.readKernels[i], "unpack", where + "/read_kernels" + at);
    }
    for (size_t i = 0; i < launch.body.size(); ++i) {
      const Launch &inner = launch.body[i];
      std::string at = where + "/body/" + std::to_string(i);
      checkLaunch(inner, at, true);
      bool last = i + 1 == launch.body.size();
      if (error.empty() && (inner.op == "attend") != last)
        fail(at, "found '" + inner.op +
                     "'; expected one attend, at the end of the body");
      if (error.empty() && !last)
        for (const auto *views : {&inner.in, &inner.out})
          for (const View &view : *views)
            if (!view.tile)
              fail(at, "found a view of the batch; expected views of the tile");
    }
    if (error.empty())
      checkRebuildReads(launch, where);
  }

  void checkRebuildReads(const Launch &launch, const std::string &where) {
    const Visibility &visibility = launch.body.back().visibility;
    bool past = visibility.span == Visibility::Span::RingPast;
    for (const RowPart &read : launch.reads) {
      const CacheDesc &cache = program.caches[read.cache];
      bool fits = cache.every == visibility.every &&
                  cache.kind == (past ? CacheKind::Ring : CacheKind::Paged) &&
                  visibility.span != Visibility::Span::Chunk;
      if (!fits)
        fail(where + "/reads", "found cache " + cache.name +
                                   " whose kind or rate differs from the "
                                   "visibility; expected them to agree");
    }
  }

  const Program &program;
  const std::string &file;
  std::string error;
  std::map<std::string, const KernelDesc *> kernels;
  const Body *current = nullptr;
};
} // namespace

std::string checkProgram(const Program &program, const std::string &file) {
  return Checker(program, file).run();
}

} // namespace attnc
