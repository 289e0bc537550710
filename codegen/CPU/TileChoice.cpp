//===- TileChoice.cpp - tiles, lanes and splits -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/CPU/TileChoice.h"

#include <algorithm>

namespace attnc::cpu {
namespace {

/// Accumulators of an outer product: what is left of the registers after `side`
/// vectors of one factor, one of the other and a temporary.
int64_t accumulators(const CpuTarget &target) { return target.registers >= 32 ? 24 : 12; }

/// The block sizes that keep `vectors` row vectors times them in registers. The
/// score loop needs a divisor of the tile.
AttendForm makeForm(const CpuTarget &target, int64_t channels, int64_t vectors) {
  AttendForm form;
  form.lanes = target.lanes;
  form.channels = channels;
  form.vectors = vectors;
  form.keys = accumulators(target) / vectors;
  // Powers of two: value widths are multiples of them more often than not.
  form.values = 16;
  while (form.values * vectors > accumulators(target))
    form.values /= 2;
  return form;
}

/// With few rows a tile is written and read about once: it should stay in the
/// first cache if a short one can.
int64_t narrowTile(const AttendSpec &spec) {
  int64_t rowBytes = 4 * (spec.dk() + (spec.valueKey < 0 ? spec.dv() : 0));
  return 24 * rowBytes <= 28 * 1024 ? 24 : 48;
}

} // namespace

AttendChoice chooseAttend(const AttendSpec &spec, const CpuTarget &target) {
  AttendChoice choice;
  int64_t rowsPerToken = spec.heads / spec.kvHeads;
  // Wide enough that a tile is unpacked once for many rows; the panel of
  // queries, the accumulators and the tile together stay in the second cache.
  choice.maxRows = std::max<int64_t>(rowsPerToken, 128 / rowsPerToken * rowsPerToken);

  // From one row up. The first form is the narrowest that holds one token's
  // rows; a further one must hold several times as many to be worth its code.
  AttendForm wide = makeForm(target, 1, 2);
  std::vector<AttendForm> narrow;
  narrow.push_back(makeForm(target, target.lanes, 1));
  for (int64_t channels = target.lanes / 2; channels > 1; channels /= 2)
    narrow.push_back(makeForm(target, channels, 2));
  narrow.push_back(makeForm(target, 2, 3));
  int64_t least = rowsPerToken;
  for (const AttendForm &form : narrow) {
    int64_t rows = form.rowsPerPass();
    if (rows < least || rows >= wide.rowsPerPass())
      continue;
    choice.forms.push_back(form);
    choice.forms.back().tile = narrowTile(spec);
    least = 4 * rows;
  }
  if (choice.forms.empty() || choice.maxRows > choice.forms.back().rowsPerPass())
    choice.forms.push_back(wide);

  // A split pays for packing its queries and writing its state: about as much
  // as 50 entries cost. With this many it stays below 3 %.
  choice.splitEntries = 2048;
  return choice;
}

ProjectChoice chooseProject(const ProjectSpec &spec, const CpuTarget &target) {
  ProjectChoice choice;
  int64_t vectors = target.registers >= 32 ? 4 : 2;
  choice.strip = vectors * target.lanes;
  choice.tokens = accumulators(target) / vectors;
  // A wide panel reads the inputs less often, but several threads want a few
  // panels each.
  int64_t strips = (spec.out + choice.strip - 1) / choice.strip;
  int64_t wide = std::clamp<int64_t>(strips * spec.groups / 8, 1, 4);
  choice.panel = std::min(wide, strips) * choice.strip;
  choice.sums = target.registers >= 32 ? 16 : 8;
  return choice;
}

} // namespace attnc::cpu
