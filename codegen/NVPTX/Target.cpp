//===- Target.cpp - the GPUs that code is generated for ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/Target.h"

using namespace attnc;
using namespace attnc::nvptx;

const std::vector<Chip> &nvptx::chips() {
  // Shared memory from the CUDA programming guide, "technical specifications
  // per compute capability": 163 KB, 99 KB, 99 KB, 227 KB per block.
  static const std::vector<Chip> table = {
      {"sm_80", 80, 70, 166912},
      {"sm_86", 86, 71, 101376},
      {"sm_89", 89, 78, 101376},
      {"sm_90", 90, 78, 232448},
      {"sm_90a", 90, 80, 232448},
  };
  return table;
}

Result<Chip> nvptx::findChip(std::string_view name) {
  std::string known;
  for (const Chip &chip : chips()) {
    if (name == chip.name)
      return chip;
    known += (known.empty() ? "" : ", ") + std::string(chip.name);
  }
  return Error{"unknown GPU target '" + std::string(name) +
               "'; supported are " + known};
}

std::string nvptx::ptxVersionText(int version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}
