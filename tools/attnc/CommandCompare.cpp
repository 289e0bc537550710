//===- CommandCompare.cpp - attnc compare ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/Diagnostics.h"
#include "tools/attnc/PlanReport.h"

#include <cinttypes>
#include <cstdio>
#include <map>

using namespace attnc;

namespace {

std::string ratio(double a, double b) {
  char text[32];
  if (a == b)
    return "same";
  if (a == 0)
    return "-";
  std::snprintf(text, sizeof text, "x %.4g", b / a);
  return text;
}

void printRow(const char *what, double a, double b) {
  std::printf("  %-32s %20s %20s   %s\n", what, exactNumber(a).c_str(), exactNumber(b).c_str(),
              ratio(a, b).c_str());
}

void printWork(const char *form, const ReportWork &a, const ReportWork &b) {
  auto row = [&](const char *what, double x, double y) {
    if (x != 0 || y != 0)
      printRow((std::string(form) + " " + what).c_str(), x, y);
  };
  row("attend", a.attend, b.attend);
  row("score", a.score, b.score);
  row("project", a.project, b.project);
  row("rebuild", a.rebuild, b.rebuild);
  row("total", a.total(), b.total());
}

/// "20 full, 12 window": layers by kind.
std::string kindsOf(const ReportModel &model) {
  std::map<std::string, int> counts;
  for (const ReportLayer &layer : model.layerKinds)
    ++counts[layer.kind];
  std::string text;
  for (const auto &[kind, n] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + kind;
  return text.empty() ? "none" : text;
}

/// "main: latent 512 x bf16, rope_key 64 x bf16": the row of a cache, apart from
/// the layer it belongs to.
std::string rowOf(const CacheDesc &cache) {
  std::string purpose = cache.name.substr(cache.name.rfind('.') + 1);
  std::string text = purpose + " (" + std::string(stringify(cache.kind)) +
                     (cache.rows ? " of " + std::to_string(cache.rows) : "") +
                     (cache.every != 1 ? ", every " + std::to_string(cache.every) : "") + "): ";
  for (size_t i = 0; i < cache.segments.size(); ++i)
    text += (i ? ", " : "") + cache.segments[i].name + " " +
            std::to_string(cache.segments[i].channels) + " x " + cache.segments[i].format.str();
  return text;
}

void printRows(const ReportModel &a, const ReportModel &b) {
  std::map<std::string, std::pair<int, int>> counts;
  for (const CacheDesc &cache : a.caches)
    ++counts[rowOf(cache)].first;
  for (const CacheDesc &cache : b.caches)
    ++counts[rowOf(cache)].second;
  std::printf("caches\n");
  for (const auto &[row, n] : counts)
    std::printf("  %4d %4d  %s\n", n.first, n.second, row.c_str());
}

} // namespace

int attnc::runCompare(const Invocation &invocation) {
  std::vector<ReportModel> models;
  for (const std::string &path : invocation.inputs) {
    Result<PlannedInput> planned = planInput(path, invocation);
    if (planned)
      models.push_back(std::move(planned->report));
    else
      printError(planned.error());
  }
  if (models.size() != 2)
    return kFailure;
  const ReportModel &a = models[0], &b = models[1];
  std::printf("  %-32s %20s %20s\n", "", a.name.c_str(), b.name.c_str());
  printRow("KV bytes per token", a.keyValueBytesPerToken(), b.keyValueBytesPerToken());
  printRow("ring bytes per sequence", double(a.bytesPerSequence(CacheKind::Ring)),
           double(b.bytesPerSequence(CacheKind::Ring)));
  printRow("state bytes per sequence", double(a.bytesPerSequence(CacheKind::State)),
           double(b.bytesPerSequence(CacheKind::State)));
  printRow("layers", double(a.layers), double(b.layers));
  std::printf("FLOP per token at %" PRId64 " tokens of context\n", a.context);
  printWork("decode", a.decode, b.decode);
  printWork("prefill", a.prefill, b.prefill);
  std::printf("layers by kind\n  %-32s %s\n  %-32s %s\n", a.name.c_str(), kindsOf(a).c_str(),
              b.name.c_str(), kindsOf(b).c_str());
  printRows(a, b);
  return kSuccess;
}
