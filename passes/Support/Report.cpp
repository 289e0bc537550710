//===- Report.cpp - what each pass changed, and why or why not -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/Report.h"

#include "dialect/Attn/IR/Attn.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mlir::attn;

StringRef attn::stringify(ReportEntry::Kind kind) {
  switch (kind) {
  case ReportEntry::Kind::Applied:
    return "applied";
  case ReportEntry::Kind::Refused:
    return "refused";
  case ReportEntry::Kind::Note:
    return "note";
  }
  return "";
}

void Reporter::count(StringRef name, int64_t n) {
  if (report)
    report->counts[pass][name.str()] += n;
}

void Reporter::add(ReportEntry::Kind kind, Operation *op, const Twine &text) {
  if (!report) {
    bool wanted = remarks == Remarks::All ||
                  (remarks == Remarks::Refused && kind == ReportEntry::Kind::Refused);
    if (wanted)
      op->emitRemark() << stringify(kind) << ": " << text;
    return;
  }
  ReportEntry entry;
  entry.pass = pass;
  entry.kind = kind;
  entry.text = text.str();
  ModelOp model = dyn_cast<ModelOp>(op);
  if (!model && !isa<ModuleOp>(op)) {
    model = op->getParentOfType<ModelOp>();
    entry.layer = getLayer(op);
    entry.op = op->getName().getStringRef().str();
  }
  if (model)
    entry.model = model.getSymName().str();
  report->entries.push_back(std::move(entry));
}
