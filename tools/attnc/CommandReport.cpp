//===- CommandReport.cpp - attnc report --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/Diagnostics.h"
#include "tools/attnc/PlanReport.h"

#include <cstdio>

using namespace attnc;

int attnc::runReport(const Invocation &invocation) {
  std::vector<ReportModel> models;
  for (const std::string &path : invocation.inputs) {
    Result<PlannedInput> planned = planInput(path, invocation);
    if (planned)
      models.push_back(std::move(planned->report));
    else
      printError(planned.error());
  }
  bool all = models.size() == invocation.inputs.size();
  if (!models.empty()) {
    std::string text = invocation.json ? reportJson(models, invocation.inputs.size() > 1)
                                       : reportText(models);
    std::fputs(text.c_str(), stdout);
  }
  return all ? kSuccess : kFailure;
}
