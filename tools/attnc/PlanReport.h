//===- PlanReport.h - the report of a planned input ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TOOLS_ATTNC_PLANREPORT_H
#define ATTNC_TOOLS_ATTNC_PLANREPORT_H

#include "tools/attnc/Commands.h"
#include "tools/attnc/Compilation.h"
#include "tools/attnc/Report.h"

namespace attnc {

/// A planned input with what its report says.
struct PlannedInput {
  std::unique_ptr<Compilation> compilation;
  ReportModel report;
};

/// Imports and plans `path` (storage `published` unless the invocation says
/// otherwise) and takes the report from the plan.
Result<PlannedInput> planInput(const std::string &path, const Invocation &invocation);

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_PLANREPORT_H
