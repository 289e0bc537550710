//===- ManifestReader.cpp - a manifest from JSON ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads types and shapes of the document; what the numbers refer to is checked
// afterwards, on the program itself (CheckProgram.cpp).
//
//===----------------------------------------------------------------------===//
#include "formats/Json.h"
#include "formats/Manifest.h"
#include "formats/ProgramNames.h"

namespace attnc {

namespace {
constexpr int64_t most = int64_t(1) << 40;
constexpr int64_t most32 = (int64_t(1) << 31) - 1;

/// The enumerator that is spelled like the text at `at`.
template <typename E>
E readName(const JsonReader &at, std::initializer_list<E> all) {
  std::string text = at.text(), known;
  for (E value : all) {
    if (text == stringify(value))
      return value;
    known += (known.empty() ? "'" : ", '") + std::string(stringify(value)) + "'";
  }
  at.fail("found '" + text + "'; expected one of " + known);
  return *all.begin();
}

template <typename T, typename Fn>
void readList(const JsonReader &from, const char *key, std::vector<T> &to,
              Fn read) {
  if (!from.ok() || !from.has(key))
    return;
  JsonReader list = from.at(key);
  size_t count = list.size();
  to.reserve(count);
  for (size_t i = 0; i < count && from.ok(); ++i)
    to.push_back(read(list.at(i)));
}

int64_t optionalInteger(const JsonReader &from, const char *key,
                        int64_t otherwise, int64_t min, int64_t max) {
  return from.has(key) ? from.at(key).integer(min, max) : otherwise;
}

double optionalNumber(const JsonReader &from, const char *key,
                      double otherwise) {
  return from.has(key) ? from.at(key).number() : otherwise;
}

Segment readSegment(const JsonReader &from) {
  from.only({"name", "format", "channels", "bytes"});
  Segment segment;
  segment.name = from.at("name").text();
  segment.channels = from.at("channels").integer(1, most);
  std::string format = from.at("format").text();
  segment.pad = format == "pad";
  if (!segment.pad) {
    if (std::optional<Format> parsed = parseFormat(format))
      segment.format = *parsed;
    else
      from.at("format").fail("found '" + format +
                             "'; expected a number format such as "
                             "'e4m3 block 64 scale e8m0'");
  }
  return segment;
}

CacheDesc readCache(const JsonReader &from) {
  from.only({"name", "layer", "kind", "readers", "every", "rows",
             "page_entries", "layout", "row_bytes", "page_bytes",
             "page_padding", "segments"});
  CacheDesc cache;
  cache.name = from.at("name").text();
  cache.layer = from.at("layer").integer(0, most32);
  cache.kind = readName(from.at("kind"),
                        {CacheKind::Paged, CacheKind::Ring, CacheKind::State});
  cache.readers = from.at("readers").integers(0, most32);
  cache.every = from.at("every").integer(1, most32);
  cache.rows = from.at("rows").integer(0, most32);
  cache.pageEntries = from.at("page_entries").integer(1, most32);
  cache.layout = from.at("layout").text();
  readList(from, "segments", cache.segments, readSegment);
  if (!from.ok())
    return cache;
  if (std::string error = cache.place(); !error.empty())
    from.fail(error);
  // The derived numbers are written for people; they must not lie.
  auto agree = [&](const char *key, int64_t value) {
    int64_t found = from.at(key).integer();
    if (from.ok() && found != value)
      from.at(key).fail("found " + std::to_string(found) + "; expected " +
                        std::to_string(value) + " from segments and layout");
  };
  agree("row_bytes", cache.rowBytes);
  agree("page_bytes", cache.pageBytes);
  agree("page_padding", cache.pagePadding);
  return cache;
}

View readView(const JsonReader &from) {
  from.only({"buffer", "tile", "offset", "token_stride", "head_stride", "heads",
             "inner"});
  View view;
  view.buffer = int32_t(from.at("buffer").integer(0, most32));
  view.tile = from.has("tile") && from.at("tile").boolean();
  view.offset = optionalInteger(from, "offset", 0, 0, most);
  view.tokenStride = from.at("token_stride").integer(0, most);
  view.headStride = optionalInteger(from, "head_stride", 0, 0, most);
  view.heads = optionalInteger(from, "heads", 1, 1, most32);
  view.inner = from.at("inner").integer(1, most32);
  return view;
}

RowPart readPart(const JsonReader &from) {
  from.only({"cache", "segment", "view"});
  RowPart part;
  if (from.has("cache")) {
    part.cache = int32_t(from.at("cache").integer(0, most32));
    part.segment = int32_t(from.at("segment").integer(0, most32));
  } else {
    part.view = readView(from.at("view"));
  }
  return part;
}

Visibility readVisibility(const JsonReader &from) {
  from.only({"span", "window", "every"});
  Visibility visibility;
  visibility.span = readName(
      from.at("span"), {Visibility::Span::Paged, Visibility::Span::RingPast,
                        Visibility::Span::Chunk});
  visibility.window = optionalInteger(from, "window", 0, 0, most);
  visibility.every = optionalInteger(from, "every", 1, 1, most32);
  return visibility;
}

WeightUse readWeight(const JsonReader &from) {
  from.only({"tensor", "shape", "pack", "add", "groups", "row_begin",
             "row_count", "transpose", "panel"});
  WeightUse use;
  use.tensor = from.at("tensor").text();
  use.shape = from.at("shape").integers(1, most, 8);
  std::string pack = from.at("pack").text();
  if (pack == "vector") {
    use.add = optionalNumber(from, "add", 0);
    return use;
  }
  if (pack != "panels")
    from.at("pack").fail("found '" + pack +
                         "'; expected 'vector' or 'panels'");
  use.pack = WeightUse::Pack::Panels;
  use.groups = from.at("groups").integer(1, most32);
  use.rowBegin = from.at("row_begin").integer(0, most);
  use.rowCount = from.at("row_count").integer(1, most);
  use.transpose = from.has("transpose") && from.at("transpose").boolean();
  use.panel = from.at("panel").integer(1, 4096);
  return use;
}

Rotary readRotary(const JsonReader &from) {
  from.only({"theta", "dims", "scaling", "factor", "original", "low_freq",
             "high_freq", "beta_fast", "beta_slow", "truncate", "amplitude"});
  using Scaling = Rotary::Scaling;
  Rotary rotary;
  rotary.theta = from.at("theta").number();
  rotary.dims = from.at("dims").integer(2, 1 << 20);
  rotary.scaling =
      readName(from.at("scaling"), {Scaling::None, Scaling::Linear,
                                    Scaling::Llama3, Scaling::Yarn});
  rotary.factor = optionalNumber(from, "factor", rotary.factor);
  rotary.original = optionalNumber(from, "original", rotary.original);
  rotary.lowFreq = optionalNumber(from, "low_freq", rotary.lowFreq);
  rotary.highFreq = optionalNumber(from, "high_freq", rotary.highFreq);
  rotary.betaFast = optionalNumber(from, "beta_fast", rotary.betaFast);
  rotary.betaSlow = optionalNumber(from, "beta_slow", rotary.betaSlow);
  if (from.has("truncate"))
    rotary.truncate = from.at("truncate").boolean();
  rotary.amplitude = optionalNumber(from, "amplitude", rotary.amplitude);
  return rotary;
}

int32_t readIndex(const JsonReader &from) {
  return int32_t(from.integer(0, most32));
}

Launch readLaunch(const JsonReader &from) {
  from.only({"op", "kernel", "name", "layer", "in", "out", "weights", "table",
             "cache", "keys", "value", "visibility", "state", "optional",
             "reads", "read_views", "read_kernels", "body"});
  Launch launch;
  launch.op = from.at("op").text();
  launch.kernel = from.has("kernel") ? from.at("kernel").text() : "";
  launch.name = from.has("name") ? from.at("name").text() : "";
  launch.layer = from.at("layer").integer(0, most32);
  readList(from, "in", launch.in, readView);
  readList(from, "out", launch.out, readView);
  readList(from, "weights", launch.weights, readIndex);
  launch.table = int32_t(optionalInteger(from, "table", -1, 0, most32));
  launch.cache = int32_t(optionalInteger(from, "cache", -1, 0, most32));
  readList(from, "keys", launch.keys, readPart);
  if (launch.op == "attend") {
    launch.value = readPart(from.at("value"));
    launch.visibility = readVisibility(from.at("visibility"));
  }
  launch.state = int32_t(optionalInteger(from, "state", -1, 0, most32));
  launch.optional = from.has("optional") && from.at("optional").boolean();
  readList(from, "reads", launch.reads, readPart);
  readList(from, "read_views", launch.readViews, readView);
  readList(from, "read_kernels", launch.readKernels,
           [](const JsonReader &at) { return at.text(); });
  // Recursion ends with the document's nesting, which parseJson bounds.
  readList(from, "body", launch.body, readLaunch);
  return launch;
}

StateDesc readState(const JsonReader &from) {
  from.only({"heads", "dv"});
  return {from.at("heads").integer(1, most32), from.at("dv").integer(1, most32)};
}

Body readBody(const JsonReader &from) {
  from.only({"input", "output", "buffers", "rebuild_buffers", "states",
             "launches"});
  Body body;
  body.input = readView(from.at("input"));
  body.output = readView(from.at("output"));
  body.buffers = from.at("buffers").integers(0, most);
  if (from.has("rebuild_buffers"))
    body.rebuildBuffers = from.at("rebuild_buffers").integers(0, most);
  readList(from, "states", body.states, readState);
  readList(from, "launches", body.launches, readLaunch);
  return body;
}

KernelDesc readKernel(const JsonReader &from) {
  from.only({"name", "op", "params"});
  KernelDesc kernel{from.at("name").text(), from.at("op").text(), {}};
  JsonReader params = from.at("params");
  if (!params.ok())
    return kernel;
  if (!params.json().is_object()) {
    params.fail("found no object; expected one");
    return kernel;
  }
  for (auto it = params.json().begin(); it != params.json().end(); ++it)
    kernel.params[it.key()] = params.at(it.key().c_str()).integer(-most, most);
  return kernel;
}

Program readProgram(const JsonReader &from) {
  from.only({"hidden", "prefill_threshold", "caches", "weights", "tables",
             "kernels", "decode", "prefill"});
  Program program;
  program.hidden = from.at("hidden").integer(1, most32);
  program.prefillThreshold = from.at("prefill_threshold").integer(0, most);
  readList(from, "caches", program.caches, readCache);
  readList(from, "weights", program.weights, readWeight);
  readList(from, "tables", program.tables, readRotary);
  readList(from, "kernels", program.kernels, readKernel);
  program.decode = readBody(from.at("decode"));
  program.prefill = readBody(from.at("prefill"));
  return program;
}

/// Whether a path stays inside the folder it is relative to.
bool staysInside(const std::string &path) {
  if (path.empty() || path[0] == '/')
    return false;
  for (size_t at = 0; at != path.npos;) {
    size_t end = path.find('/', at);
    std::string part = path.substr(at, end == path.npos ? end : end - at);
    if (part.empty() || part == ".." || part == ".")
      return false;
    at = end == path.npos ? end : end + 1;
  }
  return path.find('\0') == path.npos;
}

ManifestFile readFile(const JsonReader &from) {
  from.only({"path", "kind", "target", "sha256", "features"});
  ManifestFile file;
  file.path = from.at("path").text();
  if (from.ok() && !staysInside(file.path))
    from.at("path").fail("found '" + file.path +
                         "'; expected a relative path inside the artifact");
  file.kind = from.at("kind").text();
  file.target = from.at("target").text();
  file.sha256 = from.at("sha256").text();
  readList(from, "features", file.features,
           [](const JsonReader &at) { return at.text(); });
  return file;
}
} // namespace

Result<Manifest> parseManifest(std::string_view text, const std::string &file) {
  Result<Json> json = parseJson(text, file);
  if (!json)
    return Error{json.error()};
  JsonErrors errors{file, ""};
  JsonReader from(*json, errors);
  // The version first: another one may have other keys.
  int64_t version = from.at("attnc_artifact").integer();
  if (from.ok() && version != Manifest::currentVersion)
    from.at("attnc_artifact")
        .fail("found format version " + std::to_string(version) +
              "; expected " + std::to_string(Manifest::currentVersion));
  if (errors.failed())
    return Error{errors.first};
  from.only({"attnc_artifact", "name", "model_type", "source_sha256", "plan",
             "files", "program"});
  Manifest manifest;
  manifest.name = from.at("name").text();
  manifest.modelType = from.at("model_type").text();
  manifest.sourceDigest = from.at("source_sha256").text();
  JsonReader plan = from.at("plan");
  if (plan.ok() && !plan.json().is_object())
    plan.fail("found no object; expected one");
  if (plan.ok())
    for (auto it = plan.json().begin(); it != plan.json().end(); ++it)
      manifest.plan[it.key()] = plan.at(it.key().c_str()).text();
  readList(from, "files", manifest.files, readFile);
  manifest.program = readProgram(from.at("program"));
  if (errors.failed())
    return Error{errors.first};
  if (std::string error = checkProgram(manifest.program, file); !error.empty())
    return Error{error};
  return manifest;
}

Result<Manifest> loadManifest(const std::string &folder) {
  std::string path = folder + "/manifest.json";
  Result<std::string> text = readTextFile(path);
  if (!text)
    return Error{text.error()};
  return parseManifest(*text, path);
}

} // namespace attnc
