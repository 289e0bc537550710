//===- Report.h - what each pass changed, and why or why not -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Pass statistics are compiled out of the packaged MLIR libraries, so passes
// record here what they did: named counts, and one sentence per decision.
// `attnc explain` prints the report of a whole pipeline; a pass that runs
// without one (in attn-opt) emits its sentences as remarks.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_SUPPORT_REPORT_H
#define ATTNC_PASSES_SUPPORT_REPORT_H

#include "mlir/IR/Operation.h"

#include <map>
#include <string>
#include <vector>

namespace mlir::attn {

/// Which entries become remarks when a pass runs without a report.
enum class Remarks { None, Refused, All };

/// One decision of a pass.
struct ReportEntry {
  enum class Kind { Applied, Refused, Note };

  std::string pass;  ///< "attn-absorb-weights"
  std::string model; ///< symbol of the attn.model, empty for the whole module
  int64_t layer = -1; ///< -1: no single layer
  std::string op;    ///< "attn.attend", empty for the whole model
  Kind kind = Kind::Note;
  std::string text; ///< starts in lower case, no full stop
};
StringRef stringify(ReportEntry::Kind kind);

/// The decisions and counts of a pipeline, in the order in which they came.
struct PassReport {
  std::vector<ReportEntry> entries;
  /// Counts of each pass by name: counts["attn-share-streams"]["ops-merged"].
  std::map<std::string, std::map<std::string, int64_t>> counts;
};

/// What a running pass records into: the pipeline's report if there is one,
/// else remarks at the ops concerned.
class Reporter {
public:
  Reporter(StringRef pass, PassReport *report, Remarks remarks)
      : pass(pass), report(report), remarks(remarks) {
    // A pass that found nothing to do is in the report all the same.
    if (report)
      report->counts[this->pass];
  }

  void applied(Operation *op, const Twine &text) { add(ReportEntry::Kind::Applied, op, text); }
  void refused(Operation *op, const Twine &text) { add(ReportEntry::Kind::Refused, op, text); }
  void note(Operation *op, const Twine &text) { add(ReportEntry::Kind::Note, op, text); }

  /// Adds to a named count of this pass; a count of 0 is recorded too.
  void count(StringRef name, int64_t n = 1);

private:
  void add(ReportEntry::Kind kind, Operation *op, const Twine &text);

  std::string pass;
  PassReport *report;
  Remarks remarks;
};

} // namespace mlir::attn

#endif // ATTNC_PASSES_SUPPORT_REPORT_H
