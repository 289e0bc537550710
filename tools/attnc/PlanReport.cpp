//===- PlanReport.cpp - the report of a planned input ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/PlanReport.h"

#include "passes/CachePlanning.h"
#include "passes/Work.h"

using namespace attnc;
using namespace mlir;

static ReportWork convert(const attn::FormWork &work) {
  return {work.attend, work.score, work.project, work.rebuild};
}

Result<PlannedInput> attnc::planInput(const std::string &path, const Invocation &invocation) {
  auto compilation = Compilation::create(path, invocation, "published");
  if (!compilation)
    return Error{compilation.error()};
  PlannedInput planned{std::move(*compilation), {}};
  Compilation &c = *planned.compilation;
  if (std::string error = c.plan(); !error.empty())
    return Error{error};

  const attn::PlanOptions &options = c.planOptions();
  FailureOr<std::vector<CacheDesc>> caches;
  FailureOr<attn::PlanWork> work;
  std::string error = c.withDiagnostics([&]() -> LogicalResult {
    caches = attn::planOf(c.planned(), options.pageEntries, options.layout);
    if (failed(caches))
      return failure();
    work = attn::workOf(c.planned(), double(options.context), options.chunk);
    return success(succeeded(work));
  });
  if (!error.empty())
    return Error{error};

  ReportModel &report = planned.report;
  report.name = c.info().name;
  report.modelType = c.info().modelType;
  report.layers = c.info().layers;
  if (invocation.layers)
    report.layers = invocation.layers->second - invocation.layers->first;
  report.caches = *caches;
  report.context = options.context;
  report.decode = convert(work->decode);
  report.prefill = convert(work->prefill);
  for (const attn::LayerKind &kind : work->layers) {
    ReportLayer layer;
    layer.layer = kind.layer;
    layer.kind = kind.kind;
    if (kind.kvSource >= 0)
      layer.keyValueSource = kind.kvSource;
    if (kind.indexSource >= 0)
      layer.indexSource = kind.indexSource;
    report.layerKinds.push_back(layer);
  }
  report.notes = c.info().notes;
  for (const std::string &value : c.info().defaulted)
    report.notes.push_back("defaulted: " + value);
  return planned;
}
