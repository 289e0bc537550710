//===- Attend.cpp - the attend kernel: arguments, forms, parameters ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/Attend.h"
#include "codegen/CPU/Emitters.h"

#include "codegen/CPU/Pieces/Elements.h"
#include "codegen/CPU/Pieces/Region.h"

using namespace mlir;

namespace attnc::cpu {
namespace {

int64_t roundUp(int64_t a, int64_t step) { return (a + step - 1) / step * step; }

} // namespace

AttendArgs AttendArgs::declare(KernelScope &kernel, const AttendSpec &spec) {
  AttendArgs args;
  for (size_t i = 0; i < spec.keys.size(); ++i)
    args.queries.push_back(kernel.view());
  for (const RowSpec &key : spec.keys)
    args.rowSources.push_back(RowSource::arguments(kernel, key));
  if (spec.valueKey < 0)
    args.rowSources.push_back(RowSource::arguments(kernel, spec.value));
  args.rows = kernel.integer();
  args.rowToken = kernel.ints();
  args.rowHead = kernel.ints();
  args.low = kernel.ints();
  args.high = kernel.ints();
  args.rowPosition = kernel.ints();
  args.kvHead = kernel.integer();
  args.begin = kernel.integer();
  args.end = kernel.integer();
  args.init = kernel.integer();
  args.acc = kernel.floats();
  args.max = kernel.floats();
  args.sum = kernel.floats();
  args.scratch = kernel.floats();
  for (int64_t i = 0; i < spec.consts; ++i)
    args.consts.push_back(kernel.floats());
  return args;
}

/// Reserves `count` f32 on a cache line of their own.
int64_t AttendLayout::place(int64_t count) {
  int64_t offset = size;
  size += roundUp(count, 16);
  return offset;
}

AttendLayout::AttendLayout(const AttendSpec &spec, const AttendForm &form, int64_t maxRows) {
  int64_t c = form.channels;
  keyVectors = roundUp(spec.dk(), c) / c;
  valueVectors = roundUp(spec.dv(), c) / c;
  valueOffset = keyVectors * c;
  if (spec.valueKey >= 0) {
    valueOffset = 0;
    for (int64_t i = 0; i < spec.valueKey; ++i)
      valueOffset += spec.keys[i].dim;
  }
  tileStride = roundUp(std::max(keyVectors * c, valueOffset + valueVectors * c), form.lanes);
  // An odd number of vectors: rows a power of two apart would share sets of the
  // first cache, and LLVM would make `or`s of the additions in their addresses.
  if (tileStride / form.lanes % 2 == 0)
    tileStride += form.lanes;
  int64_t passes = roundUp(maxRows, form.rowsPerPass()) / form.rowsPerPass();
  int64_t lanes = passes * form.width();
  tile = place(form.tile * tileStride);
  queries = place(keyVectors * lanes);
  scores = place(form.tile * form.width());
  acc = place(valueVectors * lanes);
  max = place(lanes);
  sum = place(lanes);
  low = place(lanes);
  high = place(lanes);
  bounds = place(4 * passes);
  if (!spec.scoreMap.region)
    return;
  position = place(lanes);
  head = place(lanes);
  consts = place(lanes * spec.consts);
}

AttendWriter::AttendWriter(KernelScope &kernel, const AttendSpec &spec,
                           const AttendForm &form, const AttendChoice &choice)
    : e(kernel.e), spec(spec), form(form),
      layout(spec, form, choice.maxRows), a(AttendArgs::declare(kernel, spec)) {}

void AttendWriter::write() {
  passes = (a.rows + (form.rowsPerPass() - 1)) / form.rowsPerPass();
  packQueries();
  fillRowInfo();
  fillBounds();
  initState();
  e.when(equal(a.init, e.index(0)), [&] { loadState(); });
  e.loop(a.begin, a.end, form.tile, [&](Val entry) {
    Val count = e.min(a.end - entry, e.index(form.tile));
    unpack(entry, count);
    e.loop(e.index(0), passes, 1, [&](Val pass) { visit(pass, entry, count); });
  });
  storeState();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

std::string checkAttend(const AttendSpec &spec, const CpuTarget &target) {
  for (size_t i = 0; i <= spec.keys.size(); ++i) {
    if (i == spec.keys.size() && spec.valueKey >= 0)
      break;
    const RowSpec &rows = i < spec.keys.size() ? spec.keys[i] : spec.value;
    if (rows.dense)
      continue;
    std::string error = checkFormat(rows.format, target);
    if (!error.empty())
      return error;
  }
  return checkBody(spec.scoreMap);
}

/// Calls the form that fits the item: the first that holds its rows in one pass.
static void dispatch(KernelScope &kernel, const AttendArgs &args, const AttendChoice &choice,
                     ArrayRef<func::FuncOp> forms) {
  Emit &e = kernel.e;
  SmallVector<Value> operands(kernel.function().getArguments());
  auto call = [&](size_t i) {
    e.b.create<func::CallOp>(e.loc, forms[i], operands);
  };
  std::function<void(size_t)> from = [&](size_t i) {
    if (i + 1 == forms.size())
      return call(i);
    Val fits = args.rows <= e.index(choice.forms[i].rowsPerPass());
    e.when(fits, [&] { call(i); }, [&] { from(i + 1); });
  };
  from(0);
}

void emitAttend(ModuleOp module, const std::string &name, const AttendSpec &spec,
                const CpuTarget &target, KernelDesc &desc) {
  AttendChoice choice = chooseAttend(spec, target);
  int64_t scratch = 0;
  SmallVector<func::FuncOp> forms;
  for (auto [i, form] : llvm::enumerate(choice.forms)) {
    KernelScope kernel(module, name + ".rows" + std::to_string(form.rowsPerPass()), target);
    AttendWriter(kernel, spec, form, choice).write();
    Builder b(module.getContext());
    kernel.function()->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
    forms.push_back(kernel.function());
    AttendLayout layout(spec, form, choice.maxRows);
    scratch = std::max(scratch, layout.size * 4);
  }
  {
    KernelScope kernel(module, name + bodySuffix, target);
    AttendArgs args = AttendArgs::declare(kernel, spec);
    dispatch(kernel, args, choice, forms);
  }
  desc.params["kv_heads"] = spec.kvHeads;
  desc.params["q_heads"] = spec.heads;
  desc.params["max_rows"] = choice.maxRows;
  desc.params["split_entries"] = choice.splitEntries;
  desc.params["scratch_bytes"] = scratch;
  desc.params["dk"] = spec.dk();
  desc.params["dv"] = spec.dv();
}

} // namespace attnc::cpu
