//===- Tables.cpp - weights and rotations of a program ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/Plan/Tables.h"

#include <cstdio>

namespace attnc {

/// Until a target says otherwise.
static constexpr int64_t defaultPanel = 32;

int32_t Tables::add(WeightUse use, const std::string &kernel) {
  char exact[40];
  std::snprintf(exact, sizeof exact, "%a", use.add);
  std::string key = use.tensor + "\n" + kernel + "\n" + exact;
  for (int64_t n : {use.groups, use.rowBegin, use.rowCount, int64_t(use.transpose)})
    key += " " + std::to_string(n);
  auto [it, isNew] = weights.try_emplace(key, program.weights.size());
  if (isNew)
    program.weights.push_back(std::move(use));
  return it->second;
}

int32_t Tables::vector(mlir::attn::WeightOp weight, double offset) {
  WeightUse use;
  use.tensor = weight.getSymName().str();
  use.shape.assign(weight.getShape().begin(), weight.getShape().end());
  use.add = offset;
  return add(std::move(use), "");
}

int32_t Tables::panels(mlir::attn::LinearOp linear, mlir::attn::WeightOp weight,
                       const std::string &kernel) {
  auto geometry = linear.getGeometry(weight);
  WeightUse use;
  use.tensor = weight.getSymName().str();
  use.shape.assign(weight.getShape().begin(), weight.getShape().end());
  use.pack = WeightUse::Pack::Panels;
  use.groups = geometry.groups;
  use.rowBegin = geometry.rowBegin;
  use.rowCount = geometry.rowCount;
  use.transpose = linear.getTranspose();
  use.panel = defaultPanel;
  return add(std::move(use), kernel);
}

int32_t Tables::rotary(mlir::attn::RotaryAttr attr) {
  auto [it, isNew] = rotaries.try_emplace(attr, program.tables.size());
  if (isNew)
    program.tables.push_back(attr.getRotary());
  return it->second;
}

} // namespace attnc
