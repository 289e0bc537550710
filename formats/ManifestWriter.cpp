//===- ManifestWriter.cpp - a manifest as JSON ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Keys keep the order in which they are written here, and members that have
// their default value are left out, so the text is the same every time and a
// person can read it.
//
//===----------------------------------------------------------------------===//
#include "formats/Manifest.h"
#include "formats/ProgramNames.h"

#include <nlohmann/json.hpp>

namespace attnc {

using Ordered = nlohmann::ordered_json;

static Ordered toJson(const Segment &segment) {
  Ordered json = {{"name", segment.name}};
  json["format"] = segment.pad ? "pad" : segment.format.str();
  json["channels"] = segment.channels;
  json["bytes"] = segment.bytes();
  return json;
}

static Ordered toJson(const CacheDesc &cache) {
  Ordered json = {{"name", cache.name},
                  {"layer", cache.layer},
                  {"kind", stringify(cache.kind)},
                  {"readers", cache.readers},
                  {"every", cache.every},
                  {"rows", cache.rows},
                  {"page_entries", cache.pageEntries},
                  {"layout", cache.layout},
                  {"row_bytes", cache.rowBytes},
                  {"page_bytes", cache.pageBytes},
                  {"page_padding", cache.pagePadding}};
  for (const Segment &segment : cache.segments)
    json["segments"].push_back(toJson(segment));
  return json;
}

static Ordered toJson(const View &view) {
  Ordered json = {{"buffer", view.buffer}};
  if (view.tile)
    json["tile"] = true;
  if (view.offset)
    json["offset"] = view.offset;
  json["token_stride"] = view.tokenStride;
  if (view.headStride)
    json["head_stride"] = view.headStride;
  if (view.heads != 1)
    json["heads"] = view.heads;
  json["inner"] = view.inner;
  return json;
}

static Ordered toJson(const RowPart &part) {
  if (part.cache >= 0)
    return {{"cache", part.cache}, {"segment", part.segment}};
  return {{"view", toJson(part.view)}};
}

static Ordered toJson(const Visibility &visibility) {
  Ordered json = {{"span", stringify(visibility.span)}};
  if (visibility.window)
    json["window"] = visibility.window;
  if (visibility.every != 1)
    json["every"] = visibility.every;
  return json;
}

static Ordered toJson(const WeightUse &use) {
  Ordered json = {{"tensor", use.tensor}, {"shape", use.shape}};
  if (use.pack == WeightUse::Pack::Vector) {
    json["pack"] = "vector";
    if (use.add != 0)
      json["add"] = use.add;
    return json;
  }
  json["pack"] = "panels";
  json["groups"] = use.groups;
  json["row_begin"] = use.rowBegin;
  json["row_count"] = use.rowCount;
  if (use.transpose)
    json["transpose"] = true;
  json["panel"] = use.panel;
  return json;
}

static Ordered toJson(const Rotary &rotary) {
  Ordered json = {{"theta", rotary.theta},
                  {"dims", rotary.dims},
                  {"scaling", stringify(rotary.scaling)}};
  if (rotary.scaling != Rotary::Scaling::None)
    json["factor"] = rotary.factor;
  if (rotary.scaling == Rotary::Scaling::Llama3) {
    json["original"] = rotary.original;
    json["low_freq"] = rotary.lowFreq;
    json["high_freq"] = rotary.highFreq;
  }
  if (rotary.scaling == Rotary::Scaling::Yarn) {
    json["original"] = rotary.original;
    json["beta_fast"] = rotary.betaFast;
    json["beta_slow"] = rotary.betaSlow;
    json["truncate"] = rotary.truncate;
  }
  if (rotary.amplitude != 1)
    json["amplitude"] = rotary.amplitude;
  return json;
}

/// Writes a list under `key`, unless it is empty.
template <typename T>
static void putList(Ordered &json, const char *key, const std::vector<T> &list) {
  for (const T &item : list)
    json[key].push_back(toJson(item));
}

static Ordered toJson(const Launch &launch) {
  Ordered json = {{"op", launch.op}};
  if (!launch.kernel.empty())
    json["kernel"] = launch.kernel;
  if (!launch.name.empty())
    json["name"] = launch.name;
  json["layer"] = launch.layer;
  putList(json, "in", launch.in);
  putList(json, "out", launch.out);
  if (!launch.weights.empty())
    json["weights"] = launch.weights;
  if (launch.table >= 0)
    json["table"] = launch.table;
  if (launch.cache >= 0)
    json["cache"] = launch.cache;
  putList(json, "keys", launch.keys);
  if (launch.op == "attend") {
    json["value"] = toJson(launch.value);
    json["visibility"] = toJson(launch.visibility);
  }
  if (launch.state >= 0)
    json["state"] = launch.state;
  if (launch.optional)
    json["optional"] = true;
  putList(json, "reads", launch.reads);
  putList(json, "read_views", launch.readViews);
  if (!launch.readKernels.empty())
    json["read_kernels"] = launch.readKernels;
  putList(json, "body", launch.body);
  return json;
}

static Ordered toJson(const StateDesc &state) {
  return {{"heads", state.heads}, {"dv", state.dv}};
}

static Ordered toJson(const Body &body) {
  Ordered json = {{"input", toJson(body.input)},
                  {"output", toJson(body.output)},
                  {"buffers", body.buffers}};
  if (!body.rebuildBuffers.empty())
    json["rebuild_buffers"] = body.rebuildBuffers;
  putList(json, "states", body.states);
  putList(json, "launches", body.launches);
  return json;
}

static Ordered toJson(const KernelDesc &kernel) {
  return {{"name", kernel.name}, {"op", kernel.op}, {"params", kernel.params}};
}

static Ordered toJson(const ManifestFile &file) {
  Ordered json = {{"path", file.path},
                  {"kind", file.kind},
                  {"target", file.target},
                  {"sha256", file.sha256}};
  if (!file.features.empty())
    json["features"] = file.features;
  return json;
}

static Ordered toJson(const Program &program) {
  Ordered json = {{"hidden", program.hidden},
                  {"prefill_threshold", program.prefillThreshold}};
  putList(json, "caches", program.caches);
  putList(json, "weights", program.weights);
  putList(json, "tables", program.tables);
  putList(json, "kernels", program.kernels);
  json["decode"] = toJson(program.decode);
  json["prefill"] = toJson(program.prefill);
  return json;
}

std::string toJson(const Manifest &manifest) {
  Ordered json = {{"attnc_artifact", Manifest::currentVersion},
                  {"name", manifest.name},
                  {"model_type", manifest.modelType},
                  {"source_sha256", manifest.sourceDigest},
                  {"plan", Ordered(manifest.plan)}};
  if (manifest.plan.empty())
    json["plan"] = Ordered::object();
  json["files"] = Ordered::array();
  putList(json, "files", manifest.files);
  json["program"] = toJson(manifest.program);
  // A name may come from a file that is not UTF-8; it must not end in a throw.
  return json.dump(1, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

} // namespace attnc
