//===- interpreter_select_reference.h - plain sums for selections --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The definitions once more, written for reading: loops over all rows, full
// sorts, no tiles.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_TEST_UNIT_INTERPRETER_SELECT_REFERENCE_H
#define ATTNC_TEST_UNIT_INTERPRETER_SELECT_REFERENCE_H

#include "test/unit/interpreter_fixture.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace attnc::test {

/// Scores of one token, by element; none where there is no score.
using ScoreRow = std::vector<std::optional<double>>;
using Picks = std::vector<int64_t>;

inline double dotProduct(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// The positions of the k highest scores, ties to the lower, ascending.
inline Picks highest(const ScoreRow &scores, int64_t k) {
  Picks order;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] && !std::isnan(*scores[i]))
      order.push_back(int64_t(i));
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return *scores[a] > *scores[b] || (*scores[a] == *scores[b] && a < b);
  });
  order.resize(std::min<size_t>(order.size(), k));
  std::sort(order.begin(), order.end());
  return order;
}

/// Runs graphs that select; keeps the traced selections.
class SelectTest : public InterpreterTest {
protected:
  std::map<std::string, mlir::attn::SelectionValue> selections;
  /// Used in place of computing the selection of that name.
  std::map<std::string, std::vector<Picks>> given;
  std::string warnings;

  bool runSelect(llvm::StringRef text, std::vector<mlir::attn::StreamValue> inputs) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      bool error = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
      (error ? errors : warnings) += diagnostic.str() + "\n";
      return mlir::success();
    });
    outputs.clear();
    errors.clear();
    warnings.clear();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return false;
    mlir::attn::InterpretHooks hooks;
    hooks.trace = [&](llvm::StringRef name, const mlir::attn::StreamValue &value) {
      traces[name.str()] = value;
    };
    hooks.traceSelection = [&](llvm::StringRef name, const mlir::attn::SelectionValue &value) {
      selections[name.str()] = value;
    };
    hooks.givenPicks = [&](llvm::StringRef name) -> const std::vector<Picks> * {
      auto found = given.find(name.str());
      return found == given.end() ? nullptr : &found->second;
    };
    auto model = *module->getOps<mlir::attn::ModelOp>().begin();
    return succeeded(mlir::attn::interpret(model, inputs, weights, outputs, hooks));
  }

  std::vector<Picks> picksOf(const std::string &name) { return selections[name].picks; }
};

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_INTERPRETER_SELECT_REFERENCE_H
