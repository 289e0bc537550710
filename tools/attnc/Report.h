//===- Report.h - the text and JSON of `attnc report`
//----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Plain data in, text out: what the plan of a model costs. Other commands
// compare and print the same data.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_TOOLS_ATTNC_REPORT_H
#define ATTNC_TOOLS_ATTNC_REPORT_H

#include "formats/CachePlan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// Floating-point operations of one token, by kind of work.
struct ReportWork {
  double attend = 0, score = 0, project = 0, rebuild = 0;

  double total() const { return attend + score + project + rebuild; }
};

/// What a layer's attention reads.
struct ReportLayer {
  int64_t layer = 0;
  /// full, window, selected, compressed, full-index, reindex, reuse or mixed
  std::string kind;
  std::optional<int64_t> keyValueSource; ///< the layer whose rows it reads
  std::optional<int64_t> indexSource;    ///< the layer whose picks it reads
  /// With --want last: trailing tokens of a prompt that need this layer's
  /// attend, and its window rows.
  std::optional<int64_t> trailingAttend, trailingWindow;
};

/// The plan of one model.
struct ReportModel {
  std::string name, modelType;
  int64_t layers = 0;
  std::vector<CacheDesc> caches; ///< place() has been called on each
  int64_t context = 4096;        ///< tokens that `decode` and `prefill` see
  ReportWork decode, prefill;
  std::vector<ReportLayer> layerKinds;
  std::vector<std::string> notes; ///< defaulted keys, draft layers, ...

  /// Bytes that each further token adds: paged caches only, as published
  /// figures do.
  double keyValueBytesPerToken() const;
  /// Bytes of a sequence of any length, in caches of `kind` (ring or state).
  int64_t bytesPerSequence(CacheKind kind) const;
};

/// "3514.25", "70272": the shortest decimal text that reads back as `value`.
std::string exactNumber(double value);

/// One table, a column per model, then each model's rows and notes.
std::string reportText(const std::vector<ReportModel> &models);

/// One object, or a list of them when `asList`: contract.md, "report --json".
std::string reportJson(const std::vector<ReportModel> &models, bool asList);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_REPORT_H
