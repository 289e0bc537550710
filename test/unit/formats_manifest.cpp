//===- formats_manifest.cpp - manifests, good and hostile -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/Json.h"
#include "formats/Manifest.h"
#include "formats/Sha256.h"

#include <gtest/gtest.h>

#include <functional>

using namespace attnc;

namespace {

View view(int64_t inner) {
  View made;
  made.buffer = 0;
  made.tokenStride = made.inner = inner;
  return made;
}

/// One of everything that a manifest can say.
Manifest sample() {
  Manifest manifest;
  manifest.name = "tiny";
  manifest.modelType = "llama";
  manifest.sourceDigest = sha256("config");
  manifest.plan = {{"storage", "exact"}, {"page-size", "64"}};
  manifest.files = {{"cpu/kernels.so", "cpu", "cpu:generic", sha256("so"),
                     {"avx2"}}};
  Program &program = manifest.program;
  program.hidden = 8;
  program.prefillThreshold = 4;
  CacheDesc paged;
  paged.name = "layers.0.main";
  paged.readers = {0, 1};
  paged.segments = {{"latent", {Elem::E4M3, 4, Scale::E8M0}, 8},
                    {"rope", {Elem::BF16}, 4},
                    {"pad", {}, 2, true}};
  paged.place();
  CacheDesc ring = paged;
  ring.name = "layers.0.window";
  ring.kind = CacheKind::Ring;
  ring.rows = 16;
  ring.place();
  program.caches = {paged, ring};
  WeightUse matrix;
  matrix.tensor = "q.weight";
  matrix.shape = {8, 8};
  matrix.pack = WeightUse::Pack::Panels;
  matrix.groups = 2;
  matrix.rowBegin = 1;
  matrix.rowCount = 3;
  matrix.transpose = true;
  matrix.panel = 16;
  WeightUse vector;
  vector.tensor = "norm.weight";
  vector.shape = {8};
  vector.add = 1;
  program.weights = {matrix, vector};
  Rotary yarn;
  yarn.dims = 8;
  yarn.scaling = Rotary::Scaling::Yarn;
  yarn.factor = 40;
  yarn.original = 4096;
  yarn.truncate = false;
  yarn.amplitude = 1.2079441541679836;
  program.tables = {yarn};
  program.kernels = {{"project_a", "project", {{"tokens", 8}}},
                     {"append_a", "append", {}},
                     {"unpack_a", "unpack", {}},
                     {"attend_a", "attend",
                      {{"q_heads", 2}, {"kv_heads", 1}, {"max_rows", 8},
                       {"split_entries", 64}, {"scratch_bytes", 0}, {"dv", 4}}},
                     {"combine_a", "combine", {}}};
  Body body;
  body.buffers = {8, 4};
  body.rebuildBuffers = {16};
  body.states = {{2, 4}};
  body.input = body.output = view(8);
  Launch project;
  project.op = "project";
  project.kernel = "project_a";
  project.in = project.out = {view(8)};
  project.weights = {0, 1};
  Launch append;
  append.op = "append";
  append.kernel = "append_a";
  append.in = {view(8), view(4)};
  append.cache = 0;
  RowPart latent;
  latent.cache = latent.segment = 0;
  Launch attend;
  attend.op = "attend";
  attend.kernel = "attend_a";
  attend.in = {view(8)};
  attend.keys = {latent};
  attend.value = latent;
  attend.visibility = {Visibility::Span::Paged, 5, 1};
  attend.state = 0;
  Launch combine;
  combine.op = "combine";
  combine.kernel = "combine_a";
  combine.out = {view(8)};
  combine.state = 0;
  Launch rebuild;
  rebuild.op = "rebuild";
  rebuild.reads = {latent};
  rebuild.readViews = {view(8)};
  rebuild.readViews[0].tile = true;
  rebuild.readKernels = {"unpack_a"};
  rebuild.body = {attend};
  RowPart dense;
  dense.view = rebuild.readViews[0];
  rebuild.body[0].keys = {dense};
  rebuild.body[0].value = dense;
  body.launches = {project, append, attend, rebuild, combine};
  program.decode = program.prefill = body;
  return manifest;
}

std::string refusal(const Json &json) {
  Result<Manifest> manifest = parseManifest(json.dump(), "m.json");
  return manifest ? "" : manifest.error();
}

TEST(Manifest, ReadsBackWhatItWrites) {
  std::string text = toJson(sample());
  Result<Manifest> read = parseManifest(text, "m.json");
  ASSERT_TRUE(bool(read)) << read.error();
  EXPECT_EQ(toJson(*read), text);
  EXPECT_EQ(read->program.caches[0].rowBytes, 8 + 2 + 8 + 2);
  EXPECT_EQ(read->program.tables[0].amplitude, 1.2079441541679836);
  EXPECT_FALSE(read->program.tables[0].truncate);
  EXPECT_EQ(read->program.decode.launches[2].visibility.window, 5);
}

struct Damage {
  const char *pointer;
  Json value;
  const char *message;
};

TEST(Manifest, NamesFilePointerFoundAndExpected) {
  const std::string launches = "/program/decode/launches";
  const Damage cases[] = {
      {"/attnc_artifact", 2, "m.json at /attnc_artifact: found format version 2"},
      {"/name", 7, "m.json at /name: found 7; expected a string"},
      {"/plan/storage", 1, "at /plan/storage"},
      {"/files/0/path", "../x.so", "inside the artifact"},
      {"/files/0/path", "/etc/passwd", "inside the artifact"},
      {"/files/0/path", "cpu//x", "inside the artifact"},
      {"/program/hidden", -1, "at /program/hidden: found -1"},
      {"/program/hidden", 9, "found 8 channels; expected 9"},
      {"/program/hidden", 8.0, "expected an integer"},
      {"/program/hidden", "8", "expected an integer"},
      {"/program/hidden", 18446744073709551615u, "expected an integer"},
      {"/program/caches/0/kind", "heap", "expected one of 'paged'"},
      {"/program/caches/0/row_bytes", 1, "found 1; expected 20"},
      {"/program/caches/0/page_entries", 1099511627776, "page_entries"},
      {"/program/caches/0/segments/0/format", "f7", "expected a number format"},
      {"/program/caches/0/segments/0/channels", 0, "channels"},
      {"/program/caches/0/layout", "x", "layout"},
      {"/program/caches/1/name", "layers.0.main", "a second time"},
      {"/program/weights/0/groups", 3, "expected a divisor of 8"},
      {"/program/weights/0/row_count", 4, "expected a range of 4 rows"},
      {"/program/weights/0/row_begin", 1099511627776, "row"},
      {"/program/weights/0/panel", 5000, "panel"},
      {"/program/weights/0/shape", {1099511627776, 1099511627776}, "2^40"},
      {"/program/weights/0/pack", "zip", "expected 'vector' or 'panels'"},
      {"/program/tables/0/dims", 7, "an even number"},
      {"/program/tables/0/theta", 0, "theta"},
      {"/program/tables/0/factor", 0, "factor"},
      {"/program/kernels/0/params/tokens", 0, "at least 1"},
      {"/program/kernels/3/params/max_rows", 0, "max_rows"},
      {"/program/kernels/3/params/kv_heads", 3, "expected a multiple"},
      {"/program/kernels/3/params", Json::object(), "'q_heads' is missing"},
      {"/program/decode/buffers/0", 7, "leaves its buffer of 7 elements"},
      {"/program/decode/input/buffer", 2, "found buffer 2; expected one below 2"},
      {"/program/decode/input/token_stride", 9, "leaves its buffer"},
      {"/program/decode/launches/0/op", "explode", "expected a known launch"},
      {"/program/decode/launches/0/kernel", "none", "listed under kernels"},
      {"/program/decode/launches/0/kernel", "append_a", "of op 'append'"},
      {"/program/decode/launches/0/weights", {9}, "found weight 9"},
      {"/program/decode/launches/0/weights", {1}, "other packing"},
      {"/program/decode/launches/0/weights", Json::array(), "found 0 weights"},
      {"/program/decode/launches/0/in/0/offset", 1, "leaves its buffer"},
      {"/program/decode/launches/0/in/0/tile", true, "rebuild tile"},
      {"/program/decode/launches/1/cache", 5, "found cache 5"},
      {"/program/decode/launches/1/in", Json::array(), "found 0 views"},
      {"/program/decode/launches/2/state", 1, "found state 1"},
      {"/program/decode/launches/2/keys/0/segment", 3, "found segment 3"},
      {"/program/decode/launches/2/keys/0/segment", 2, "found the pad"},
      {"/program/decode/launches/2/keys/0/cache", 1, "expected them to agree"},
      {"/program/decode/launches/2/visibility/span", "all", "expected one of"},
      {"/program/decode/launches/2/visibility/every", 2, "to agree"},
      {"/program/decode/states/0/dv", 5, "expected 2 x 4 as the kernel"},
      {"/program/decode/launches/3/read_kernels", {"x"}, "listed under kernels"},
      {"/program/decode/launches/3/body/0/op", "append", "in a rebuild"},
      {"/program/decode/launches/3/body", Json::array(), "found 0 launches"},
      {"/program/decode/launches/3/body/0/keys/0/view/tile", false, "no tile"},
      {"/program/decode/launches/4/out", Json::array(), "found 0 views"}};
  const Json good = Json::parse(toJson(sample()));
  for (const Damage &damage : cases) {
    Json json = good;
    json[Json::json_pointer(damage.pointer)] = damage.value;
    std::string error = refusal(json);
    EXPECT_EQ(error.substr(0, 7), "m.json ") << damage.pointer << ": " << error;
    EXPECT_NE(error.find(damage.message), std::string::npos)
        << damage.pointer << ": " << error;
  }
}

TEST(Manifest, NoMemberMayBeMissingOrStrange) {
  // Replaces every value of the document in turn; nothing may crash, and
  // whatever is accepted has passed every check.
  const Json good = Json::parse(toJson(sample()));
  const Json strange[] = {nullptr, -1, 1099511627777, 1e300, "", Json::array(),
                          Json::object(), true};
  int refused = 0, tried = 0;
  std::function<void(const Json &, Json::json_pointer)> visit =
      [&](const Json &value, Json::json_pointer at) {
        for (const Json &other : strange) {
          Json json = good;
          json[at] = other;
          refused += !refusal(json).empty();
          ++tried;
        }
        if (!value.is_structured())
          return;
        for (auto it = value.begin(); it != value.end(); ++it)
          visit(it.value(), value.is_object()
                                ? at / it.key()
                                : at / size_t(it - value.begin()));
      };
  visit(good, Json::json_pointer());
  EXPECT_GT(refused, tried / 2);
}

TEST(Manifest, CutTextIsRefused) {
  std::string text = toJson(sample());
  for (size_t size = 0; size + 2 < text.size(); size += 17)
    EXPECT_FALSE(bool(parseManifest(text.substr(0, size), "m.json"))) << size;
}

TEST(Manifest, UnreadKeysAreErrors) {
  Json json = Json::parse(toJson(sample()));
  json["program"]["decode"]["launches"][0]["speed"] = 1;
  EXPECT_EQ(refusal(json), "m.json at /program/decode/launches/0: found the key "
                           "'speed', which nothing reads");
}

TEST(Json, RefusesRepeatedKeysAndDeepNesting) {
  EXPECT_EQ(parseJson(R"({"a":1,"b":{"a":2},"a":3})", "f").error(),
            "f: the key 'a' occurs twice in one object; expected it once");
  EXPECT_NE(parseJson(std::string(100000, '['), "f").error().find("deeper"),
            std::string::npos);
  EXPECT_TRUE(bool(parseJson(R"([{"a":1},{"a":2}])", "f")));
}

TEST(Json, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_EQ(parseJson("{\n  \"a\": 1,\n  nope\n}", "f.json").error().substr(0, 12),
            "f.json:3:4: ");
  EXPECT_EQ(parseJson("", "f.json").error().substr(0, 11), "f.json:1:1:");
}

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(sha256(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_FALSE(bool(sha256File("/no/such/file")));
}

} // namespace
