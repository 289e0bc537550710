//===- Report.cpp - the text and JSON of `attnc report`
//--------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/Report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace attnc {

using OrderedJson = nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

double ReportModel::keyValueBytesPerToken() const {
  // A fraction, so that thirds make wholes again. Rates whose common period
  // does not fit 64 bits are added as they are.
  int64_t period = 1;
  __int128 bytes = 0;
  double rest = 0;
  for (const CacheDesc &cache : caches) {
    if (cache.kind != CacheKind::Paged)
      continue;
    int64_t common, growth = cache.every / std::gcd(period, cache.every);
    if (__builtin_mul_overflow(period, growth, &common)) {
      rest += double(cache.rowBytes) / double(cache.every);
      continue;
    }
    bytes = bytes * growth + __int128(cache.rowBytes) * (common / cache.every);
    period = common;
  }
  return double((long double)bytes / (long double)period) + rest;
}

int64_t ReportModel::bytesPerSequence(CacheKind kind) const {
  int64_t bytes = 0;
  for (const CacheDesc &cache : caches)
    if (cache.kind == kind)
      bytes += cache.rows * cache.rowBytes;
  return bytes;
}

static bool isWhole(double value) {
  return value == std::floor(value) && std::fabs(value) < 0x1p53;
}

std::string exactNumber(double value) {
  return isWhole(value) ? std::to_string(int64_t(value))
                        : OrderedJson(value).dump();
}

/// "37.45 G": four digits and a unit.
static std::string shortNumber(double value) {
  const char *const units[] = {"", " K", " M", " G", " T", " P"};
  size_t unit = 0;
  for (; std::fabs(value) >= 1000 && unit + 1 < std::size(units); ++unit)
    value /= 1000;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.4g", value);
  return std::string(buffer) + units[unit];
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Whole numbers are written as integers.
static OrderedJson number(double value) {
  return isWhole(value) ? OrderedJson(int64_t(value)) : OrderedJson(value);
}

static OrderedJson orNull(const std::optional<int64_t> &value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

static std::string formatName(const Segment &segment) {
  return segment.pad ? "pad" : segment.format.str();
}

static OrderedJson toJson(const CacheDesc &cache) {
  OrderedJson segments = OrderedJson::array();
  for (const Segment &segment : cache.segments)
    segments.push_back({{"name", segment.name},
                        {"format", formatName(segment)},
                        {"channels", segment.channels},
                        {"bytes", segment.bytes()}});
  bool paged = cache.kind == CacheKind::Paged;
  return {{"name", cache.name},
          {"layer", cache.layer},
          {"kind", stringify(cache.kind)},
          {"readers", cache.readers},
          {"every", cache.every},
          {"rows", paged ? OrderedJson(nullptr) : OrderedJson(cache.rows)},
          {"row_bytes", cache.rowBytes},
          {"page_entries", cache.pageEntries},
          {"page_bytes", cache.pageBytes},
          {"page_padding", cache.pagePadding},
          {"segments", segments}};
}

static OrderedJson toJson(const ReportWork &work) {
  return {{"attend", number(work.attend)},
          {"score", number(work.score)},
          {"project", number(work.project)},
          {"rebuild", number(work.rebuild)}};
}

static OrderedJson toJson(const ReportLayer &layer) {
  return {{"layer", layer.layer},
          {"kind", layer.kind},
          {"kv_source", orNull(layer.keyValueSource)},
          {"index_source", orNull(layer.indexSource)},
          {"trailing_tokens",
           {{"attend", orNull(layer.trailingAttend)},
            {"window", orNull(layer.trailingWindow)}}}};
}

static OrderedJson toJson(const ReportModel &model) {
  OrderedJson caches = OrderedJson::array();
  for (const CacheDesc &cache : model.caches)
    caches.push_back(toJson(cache));
  OrderedJson layers = OrderedJson::array();
  for (const ReportLayer &layer : model.layerKinds)
    layers.push_back(toJson(layer));
  return {
      {"name", model.name},
      {"model_type", model.modelType},
      {"layers", model.layers},
      {"kv_bytes_per_token", number(model.keyValueBytesPerToken())},
      {"ring_bytes_per_sequence", model.bytesPerSequence(CacheKind::Ring)},
      {"state_bytes_per_sequence", model.bytesPerSequence(CacheKind::State)},
      {"caches", caches},
      {"flops_per_token",
       {{"decode", toJson(model.decode)}, {"prefill", toJson(model.prefill)}}},
      {"layer_kinds", layers}};
}

std::string reportJson(const std::vector<ReportModel> &models, bool asList) {
  OrderedJson list = OrderedJson::array();
  for (const ReportModel &model : models)
    list.push_back(toJson(model));
  // Names come from file names, which need not be UTF-8.
  return (asList || list.empty() ? list : list[0])
             .dump(2, ' ', false, OrderedJson::error_handler_t::replace) +
         "\n";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {

/// Counts equal texts, in the order in which they first came.
class Tally {
public:
  void add(const std::string &text) {
    for (auto &[known, count] : entries)
      if (known == text) {
        ++count;
        return;
      }
    entries.push_back({text, 1});
  }

  std::vector<std::pair<std::string, int64_t>> entries;
};

/// Cells in aligned columns; the first column holds the labels.
class Table {
public:
  void row(std::vector<std::string> cells) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].size());
    rows.push_back(std::move(cells));
  }

  std::string str() const {
    std::string text;
    for (const auto &cells : rows) {
      std::string line;
      for (size_t i = 0; i < cells.size(); ++i) {
        line += cells[i];
        line.append(widths[i] - cells[i].size() + 2, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

private:
  std::vector<std::vector<std::string>> rows;
  std::vector<size_t> widths;
};

} // namespace

static std::string describeKind(const CacheDesc &cache) {
  std::string text(stringify(cache.kind));
  if (cache.kind != CacheKind::Paged)
    return text + " of " + std::to_string(cache.rows);
  return cache.every == 1 ? text
                          : text + " every " + std::to_string(cache.every);
}

/// "1152 bytes = c 512 x bf16 + k 64 x bf16"
static std::string describeRow(const CacheDesc &cache) {
  std::string text = std::to_string(cache.rowBytes) + " bytes =";
  for (size_t i = 0; i < cache.segments.size(); ++i) {
    const Segment &segment = cache.segments[i];
    text += i ? " + " : " ";
    text += segment.name + " " + std::to_string(segment.channels);
    if (!segment.pad)
      text += " x " + segment.format.str();
  }
  return text;
}

static std::string describePages(const CacheDesc &cache) {
  if (cache.kind != CacheKind::Paged)
    return "";
  std::string text = ", pages of " + std::to_string(cache.pageEntries) +
                     " rows in " + std::to_string(cache.pageBytes) + " bytes";
  if (cache.pagePadding)
    text += " (" + std::to_string(cache.pagePadding) + " of padding)";
  return text;
}

static std::string join(const Tally &tally) {
  std::string text;
  for (const auto &[entry, count] : tally.entries)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + entry;
  return text.empty() ? "none" : text;
}

static std::string summarizeCaches(const ReportModel &model) {
  Tally tally;
  for (const CacheDesc &cache : model.caches)
    tally.add(describeKind(cache));
  return join(tally);
}

static std::string summarizeLayers(const ReportModel &model) {
  Tally tally;
  for (const ReportLayer &layer : model.layerKinds)
    tally.add(layer.kind);
  return join(tally);
}

template <typename Cell>
static void addRow(Table &table, const std::string &label,
                   const std::vector<ReportModel> &models, Cell cell) {
  std::vector<std::string> cells = {label};
  for (const ReportModel &model : models)
    cells.push_back(cell(model));
  table.row(std::move(cells));
}

/// The rows of one form's work; kinds that no model has are left out.
static void addWork(Table &table, const std::string &form,
                    ReportWork ReportModel::*work,
                    const std::vector<ReportModel> &models) {
  using Model = const ReportModel &;
  addRow(table, form + " FLOP per token", models,
         [&](Model m) { return shortNumber((m.*work).total()); });
  const std::pair<const char *, double ReportWork::*> kinds[] = {
      {"attend", &ReportWork::attend},
      {"score", &ReportWork::score},
      {"project", &ReportWork::project},
      {"rebuild", &ReportWork::rebuild}};
  for (auto [name, kind] : kinds) {
    bool any =
        std::any_of(models.begin(), models.end(),
                    [&, kind = kind](Model m) { return m.*work.*kind != 0; });
    if (any)
      addRow(table, std::string("  ") + name, models,
             [&, kind = kind](Model m) { return shortNumber(m.*work.*kind); });
  }
}

static std::string detailText(const ReportModel &model) {
  Tally rows;
  for (const CacheDesc &cache : model.caches)
    rows.add(describeKind(cache) + ": " + describeRow(cache) +
             describePages(cache));
  std::string text = "\n" + model.name + "\n";
  for (const auto &[row, count] : rows.entries)
    text += "  " + std::to_string(count) + " x " + row + "\n";
  for (const std::string &note : model.notes)
    text += "  note: " + note + "\n";
  return text;
}

std::string reportText(const std::vector<ReportModel> &models) {
  using Model = const ReportModel &;
  Table table;
  addRow(table, "", models, [](Model m) { return m.name; });
  addRow(table, "family", models, [](Model m) { return m.modelType; });
  addRow(table, "layers", models, summarizeLayers);
  addRow(table, "KV bytes per token", models,
         [](Model m) { return exactNumber(m.keyValueBytesPerToken()); });
  addRow(table, "ring bytes per sequence", models, [](Model m) {
    return std::to_string(m.bytesPerSequence(CacheKind::Ring));
  });
  addRow(table, "state bytes per sequence", models, [](Model m) {
    return std::to_string(m.bytesPerSequence(CacheKind::State));
  });
  addRow(table, "caches", models, summarizeCaches);
  addRow(table, "context", models,
         [](Model m) { return std::to_string(m.context); });
  addWork(table, "decode", &ReportModel::decode, models);
  addWork(table, "prefill", &ReportModel::prefill, models);
  std::string text = table.str();
  for (const ReportModel &model : models)
    text += detailText(model);
  return text;
}

} // namespace attnc
