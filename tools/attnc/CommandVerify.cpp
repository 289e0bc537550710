//===- CommandVerify.cpp - attnc verify -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a model on a backend and compares every layer with the interpreter, and,
// where the input folder has expected values, with those too.
//
// Bounds on the relative L2 error (and why):
//  - exact storage: 1e-5. A dot product of n f32 terms errs by about
//    sqrt(n) * 2^-24 of its size; n <= 2^14 gives 8e-6, and the softmax only
//    averages. The reference executor, f64 over f32 rows, is held to it too.
//  - rounded rows: 1e-5 as long as every stored element is the interpreter's. An
//    f32 value within its own error of a rounding boundary may fall on the other
//    side; each such element moves by one step of its format (2^-8 of its size
//    for bf16, worst case 2^-7), one among the channels of a row among the rows
//    of a softmax: 2e-3 holds for the average row unless a quarter of all
//    elements flip.
//
//===----------------------------------------------------------------------===//

#include "runtime/Safetensors.h"
#include "tools/attnc/Backends.h"
#include "tools/attnc/Compilation.h"
#include "tools/attnc/Diagnostics.h"
#include "tools/attnc/Errors.h"

#include <cmath>
#include <cstdio>
#include <filesystem>

using namespace attnc;

namespace {

constexpr double kExactBound = 1e-5;
constexpr double kFlippedBound = 2e-3;

/// Stored elements that were rounded to another value than the interpreter's.
struct Flips {
  int64_t elements = 0, flipped = 0, unexplained = 0;
  std::vector<std::string> examples;
};

const RunResult::Trace *find(const RunResult &result, const std::string &name) {
  auto it = result.traces.find(name);
  return it == result.traces.end() ? nullptr : &it->second;
}

/// The layer in a name such as "layer3.attention" or "layers.3.main/key".
int64_t layerOf(const std::string &name) {
  size_t digit = name.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : std::stoll(name.substr(digit));
}

/// The largest relative error of any layer's attention before `layer`: how far
/// the inputs of the layer lie apart already.
double inputError(const RunResult &found, const RunResult &expected, int64_t layer) {
  double worst = 0;
  for (const auto &[name, trace] : expected.traces)
    if (name.rfind("layer", 0) == 0 && name.find('/') == std::string::npos &&
        layerOf(name) < layer)
      if (const RunResult::Trace *mine = find(found, name))
        worst = std::max(worst,
                         deviation(mine->rows.data(), trace.rows.data(), trace.rows.size()).relL2);
  return worst;
}

/// Compares the rows of one segment. An element may differ when its exact value
/// lies within `tolerance` times the row's size of the boundary between the two
/// stored values.
void compareRows(const std::string &name, const RunResult::Trace &found,
                 const RunResult::Trace &written, const RunResult::Trace &expected,
                 const RunResult::Trace *exact, double tolerance, Flips &flips) {
  int64_t rows = int64_t(expected.rows.size()) / expected.width;
  for (int64_t row = 0; row < rows; ++row) {
    if (written.rows[row] != 1)
      continue;
    const float *e = expected.rows.data() + row * expected.width;
    const float *f = found.rows.data() + row * expected.width;
    const float *x = exact ? exact->rows.data() + row * expected.width : nullptr;
    double size = 0;
    for (int64_t c = 0; c < expected.width; ++c)
      size += double(e[c]) * e[c];
    size = std::sqrt(size / double(expected.width));
    for (int64_t c = 0; c < expected.width; ++c) {
      ++flips.elements;
      if (f[c] == e[c])
        continue;
      ++flips.flipped;
      double boundary = (double(f[c]) + double(e[c])) / 2;
      double distance = x ? std::abs(x[c] - boundary) : std::abs(double(f[c]) - e[c]);
      bool explained = distance <= tolerance * (size + std::abs(double(e[c])));
      flips.unexplained += !explained;
      if (flips.examples.size() < 5) {
        char line[256];
        std::snprintf(line, sizeof line, "%s, token %lld, channel %lld: %.9g stored as %.9g, not %.9g%s",
                      name.c_str(), (long long)row, (long long)c, x ? double(x[c]) : double(e[c]),
                      double(f[c]), double(e[c]), explained ? "" : " (not near a boundary)");
        flips.examples.push_back(line);
      }
    }
  }
}

Flips compareStoredRows(const RunResult &found, const RunResult &expected) {
  Flips flips;
  for (const auto &[name, trace] : expected.traces) {
    if (name.find('/') == std::string::npos || name.rfind("exact:", 0) == 0)
      continue;
    const RunResult::Trace *mine = find(found, name);
    const RunResult::Trace *written = find(found, "written:" + name);
    if (!mine || !written || mine->rows.size() != trace.rows.size())
      continue; // a backend without rows of its own
    double tolerance = kExactBound + 8 * inputError(found, expected, layerOf(name));
    compareRows(name, *mine, *written, trace, find(expected, "exact:" + name), tolerance, flips);
  }
  return flips;
}

class Comparison {
public:
  explicit Comparison(const char *against) : against(against) {}

  void add(const std::string &name, const std::vector<float> &found,
           const std::vector<float> &expected) {
    Deviation d = deviation(found.data(), expected.data(), std::min(found.size(), expected.size()));
    if (found.size() != expected.size())
      d.nans = 1;
    lines.push_back({name, d});
  }

  /// Prints a line for each; returns whether all are within `bound`.
  bool print(double bound, bool quiet) const {
    bool good = !lines.empty();
    for (const auto &[name, d] : lines) {
      bool inside = within(d, bound);
      good &= inside;
      if (!quiet || !inside)
        std::printf("  %-28s max abs %.3e   rel L2 %.3e%s\n", name.c_str(), d.maxAbs, d.relL2,
                    d.nans ? "   NaN or missing values" : inside ? "" : "   beyond the bound");
    }
    std::printf("%s: %s (bound on rel L2: %.1e)\n", against, good ? "agrees" : "DIFFERS", bound);
    return good;
  }

private:
  const char *against;
  std::vector<std::pair<std::string, Deviation>> lines;
};

/// Names of per-layer traces in order of layers.
std::vector<std::string> layerTraces(const RunResult &result) {
  std::vector<std::string> names;
  for (const auto &[name, trace] : result.traces)
    if (name.find('/') == std::string::npos)
      names.push_back(name);
  std::sort(names.begin(), names.end(), [](const std::string &a, const std::string &b) {
    return std::make_pair(layerOf(a), a) < std::make_pair(layerOf(b), b);
  });
  return names;
}

/// The prefix of the values in expected.safetensors that `storage` should give,
/// empty if the folder has none.
std::string expectedPrefix(const Compilation &compilation) {
  switch (compilation.planOptions().storage) {
  case mlir::attn::Storage::Exact:
    return "exact.";
  case mlir::attn::Storage::Published:
    return "stored.";
  default:
    return "";
  }
}

/// A selection in expected.safetensors, [tokens, groups, entries] of 0 and 1 with
/// the groups left out where there is one, as the numbers of the picks: rows like
/// those of `trace`.
Result<std::vector<float>> readSelection(const SafetensorsFile &file, const std::string &name,
                                         const RunResult::Trace &trace) {
  Result<std::vector<int32_t>> marks = file.readI32(name);
  if (!marks)
    return Error{marks.error()};
  const std::vector<int64_t> &shape = file.find(name)->shape;
  int64_t entries = shape.back(), groups = shape.size() == 3 ? shape[1] : 1;
  if (shape.size() < 2 || shape.size() > 3 || trace.width % groups != 0)
    return Error{file.path() + ": " + name + " has shape " + shapeString(shape) +
                 "; expected [tokens, groups, entries] for rows of " +
                 std::to_string(trace.width) + " picks"};
  int64_t picks = trace.width / groups, lists = shape[0] * groups;
  std::vector<float> rows(lists * picks, -1.0f);
  for (int64_t list = 0; list < lists; ++list)
    for (int64_t e = 0, found = 0; e < entries; ++e)
      if ((*marks)[list * entries + e] && found < picks)
        rows[list * picks + found++] = float(e);
  return rows;
}

/// Compares with expected.safetensors of the input folder, where it has values
/// for the whole run. Returns false when they disagree.
Result<bool> compareExpected(const Compilation &compilation, const Invocation &invocation,
                             const RunResult &found, double bound) {
  std::string path = compilation.info().folder + "/expected.safetensors";
  std::string prefix = expectedPrefix(compilation);
  std::error_code ec;
  bool whole = !invocation.layers && !invocation.tokens && invocation.input.empty() &&
               invocation.weights.empty();
  if (compilation.info().folder.empty() || prefix.empty() || !whole ||
      !std::filesystem::exists(path, ec))
    return true;
  auto file = SafetensorsFile::open(path);
  if (!file)
    return Error{file.error()};
  Comparison comparison("expected.safetensors");
  bool any = false;
  auto compare = [&](const std::string &name, const std::vector<float> &mine) -> std::string {
    const TensorInfo *info = (*file)->find(prefix + name);
    if (!info)
      return "";
    Result<std::vector<float>> values =
        info->type == DType::U8 ? readSelection(**file, prefix + name, found.traces.at(name))
                                : (*file)->readF32(prefix + name);
    if (!values)
      return values.error();
    any = true;
    comparison.add(name, mine, *values);
    return "";
  };
  for (const std::string &name : layerTraces(found))
    if (std::string error = compare(name, found.traces.at(name).rows); !error.empty())
      return Error{error};
  if (std::string error = compare("hidden", found.hidden); !error.empty())
    return Error{error};
  return !any || comparison.print(bound, invocation.quiet);
}

void printFlips(const Flips &flips) {
  if (!flips.elements)
    return;
  std::printf("stored rows: %lld of %lld elements round the other way\n", (long long)flips.flipped,
              (long long)flips.elements);
  for (const std::string &example : flips.examples)
    std::printf("  %s\n", example.c_str());
  if (flips.flipped > int64_t(flips.examples.size()))
    std::printf("  ... and %lld more\n", (long long)(flips.flipped - flips.examples.size()));
}

int fail(const std::string &error) {
  printError(error);
  return kFailure;
}

} // namespace

int attnc::runVerify(const Invocation &invocation) {
  const std::string &path = invocation.inputs[0];
  auto compilation = Compilation::create(path, invocation, "exact");
  if (!compilation)
    return fail(compilation.error());
  Result<Workload> work = openWorkload(**compilation, invocation);
  if (!work)
    return fail(work.error());
  bool exact = (*compilation)->planOptions().storage == mlir::attn::Storage::Exact;

  Result<RunOutcome> outcome = execute(**compilation, *work, invocation, {true, !exact});
  if (!outcome)
    return fail(outcome.error());
  // Exact plans are held to the graph as imported: that covers the passes too.
  Result<RunResult> expected = exact ? interpretGraph(**compilation, *work)
                                     : interpretPlanned(**compilation, *work, {true, true});
  if (!expected)
    return fail(expected.error());

  const RunResult &found = outcome->result;
  Flips flips = exact ? Flips{} : compareStoredRows(found, *expected);
  double bound = flips.flipped ? kFlippedBound : kExactBound;
  Schedule schedule = invocation.schedule.value_or(Schedule{});
  std::printf("%s: %lld tokens, schedule %s (%lld steps), backend %s, storage %s\n",
              (*compilation)->info().name.c_str(), (long long)work->input.tokens,
              stringify(schedule).c_str(), (long long)found.steps,
              invocation.backend.empty() ? "cpu" : invocation.backend.c_str(),
              (*compilation)->planText().at("storage").c_str());
  Comparison comparison("interpreter");
  for (const std::string &name : layerTraces(*expected)) {
    const RunResult::Trace *mine = find(found, name);
    comparison.add(name, mine ? mine->rows : std::vector<float>{}, expected->traces.at(name).rows);
  }
  comparison.add("hidden", found.hidden, expected->hidden);
  bool good = comparison.print(bound, invocation.quiet);
  printFlips(flips);
  if (flips.unexplained) {
    std::printf("stored rows: %lld elements differ that lie near no rounding boundary\n",
                (long long)flips.unexplained);
    good = false;
  }
  Result<bool> published = compareExpected(**compilation, invocation, found, bound);
  if (!published)
    return fail(published.error());
  if (invocation.stats)
    std::fputs(outcome->stats.c_str(), stderr);
  if (good && *published)
    return kSuccess;
  return fail(path + ": the run differs from what the graph means");
}
