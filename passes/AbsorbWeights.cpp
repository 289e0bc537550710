//===- AbsorbWeights.cpp - attend over what keys are projected from --------===//
// SPDX-License-Identifier: Apache-2.0
//
// How deep to absorb, by cost. What a step of absorption is, and when it is
// legal, is in Support/Absorption.
//
//===----------------------------------------------------------------------===//

#include "passes/Support/Absorption.h"
#include "passes/Support/Graph.h"
#include "passes/Support/Streams.h"

#include "llvm/Support/Format.h"

#include <cmath>

namespace mlir::attn {
#define GEN_PASS_DEF_ABSORBWEIGHTS
#include "passes/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// "1234567" for whole numbers, else one decimal.
static std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format(value == std::floor(value) ? "%.0f" : "%.1f", value);
  return text;
}

namespace {

/// An attend after 0, 1, ... steps of absorption.
using Depths = SmallVector<AbsorbedAttend>;

/// What one visible entry costs a decoded token: the rows that are loaded and
/// the arithmetic on them.
struct EntryCost {
  double bytes = 0, flops = 0;

  explicit EntryCost(const AbsorbedAttend &attend) {
    AttendOp op = attend.op;
    for (unsigned i = 0; i < attend.sources.size(); ++i) {
      for (Value stream : attend.rowStreams(i))
        bytes += double(getStoredBytes(stream)) / cast<StreamType>(stream.getType()).getEvery();
      flops += 2.0 * op.getHeads() * attend.channels(i);
    }
  }
  double at(int64_t balance) const { return bytes + flops / balance; }
  std::string str() const { return number(bytes) + " bytes + " + number(flops) + " FLOP"; }
};

/// FLOP of the projections of source `i` from step `from` to step `to`.
double projectionFlops(const AbsorbedAttend &attend, unsigned i, size_t from, size_t to) {
  double flops = 0;
  auto add = [&](ArrayRef<HeadProjection> list) {
    for (size_t n = from; n < std::min(to, list.size()); ++n)
      flops += list[n].flops();
  };
  for (const AbsorbedAttend::Part &part : attend.sources[i].parts)
    add(part.toQuery);
  add(attend.after);
  return flops;
}

/// Whether the same streams are read as keys and values.
bool readsTheSame(const AbsorbedAttend &a, const AbsorbedAttend &b) {
  if (a.sources.size() != b.sources.size())
    return false;
  for (auto [left, right] : llvm::zip_equal(a.sources, b.sources)) {
    if (getStreamId(left.value) != getStreamId(right.value) ||
        left.parts.size() != right.parts.size())
      return false;
    for (auto [p, q] : llvm::zip_equal(left.parts, right.parts))
      if (getStreamId(p.key) != getStreamId(q.key))
        return false;
  }
  return true;
}

/// The attend that computes stream `id` of `model`, through what was moved
/// behind it.
AttendOp findAttend(ModelOp model, std::optional<int64_t> id) {
  Value stream = id ? getStreamsById(model).lookup(*id) : Value();
  while (auto linear = stream ? stream.getDefiningOp<LinearOp>() : LinearOp())
    stream = linear.getInput();
  return stream ? stream.getDefiningOp<AttendOp>() : AttendOp();
}

class AbsorbWeightsPass : public attn::impl::AbsorbWeightsBase<AbsorbWeightsPass> {
public:
  AbsorbWeightsPass() = default;
  AbsorbWeightsPass(const AbsorbWeightsOptions &options, PassReport *report = nullptr)
      : AbsorbWeightsBase(options), report(report) {}

  void runOnOperation() override {
    if (balance <= 0 || context <= 0 || chunk <= 0) {
      emitError(getOperation().getLoc(), "expected a positive balance, context and chunk, found ")
          << int64_t(balance) << ", " << int64_t(context) << " and " << int64_t(chunk);
      return signalPassFailure();
    }
    Reporter reporter(getArgument(), report, remarks);
    for (ModelOp model : getOperation().getOps<ModelOp>())
      if (getForm(model) == form)
        for (AttendOp attend : llvm::make_early_inc_range(model.getBlock().getOps<AttendOp>()))
          rewrite(model, attend, reporter);
  }

private:
  void rewrite(ModelOp model, AttendOp attend, Reporter &reporter) {
    Depths depths = {AbsorbedAttend(attend)};
    std::string reason;
    while (std::optional<AbsorbedAttend> next = depths.back().step(reason))
      depths.push_back(std::move(*next));
    if (depths.size() == 1) {
      reporter.count("attends-refused", !reason.empty());
      if (!reason.empty())
        reporter.refused(attend, "not absorbed: " + reason);
      return;
    }
    std::string why;
    size_t depth = form == Form::Decode ? chooseForDecode(depths, why)
                                        : chooseForPrefill(model, depths, why);
    reporter.count(depth ? "attends-absorbed" : "attends-left");
    if (!depth)
      return reporter.refused(attend, "not absorbed: " + why);
    reporter.applied(attend, "absorbed by " + Twine(depth) + (depth == 1 ? " step: " : " steps: ") +
                                 why);
    OpBuilder builder(attend);
    attend.replaceAllUsesWith(depths[depth].materialize(builder));
    attend.erase();
  }

  /// The cheapest depth that the options allow.
  size_t choose(ArrayRef<double> costs) const {
    size_t first = absorb == Absorb::Always && costs.size() > 1 ? 1 : 0;
    return std::min_element(costs.begin() + first, costs.end()) - costs.begin();
  }

  size_t chooseForDecode(const Depths &depths, std::string &why) {
    if (absorb == Absorb::Never) {
      why = "asked for with absorb=never";
      return 0;
    }
    SmallVector<double> costs;
    for (const AbsorbedAttend &attend : depths)
      costs.push_back(EntryCost(attend).at(balance));
    size_t chosen = choose(costs), other = chosen ? 0 : 1;
    why = "per entry " + EntryCost(depths[chosen]).str() + " against " +
          EntryCost(depths[other]).str() + ", " + number(costs[chosen]) + " against " +
          number(costs[other]) + " at balance " + std::to_string(balance);
    if (absorb == Absorb::Always)
      why += " (asked for with absorb=always)";
    return chosen;
  }

  size_t chooseForPrefill(ModelOp model, const Depths &depths, std::string &why) {
    size_t deepest = absorb == Absorb::Never ? 0 : depthOfDecodeForm(model, depths);
    if (deepest == 0) {
      why = absorb == Absorb::Never ? "asked for with absorb=never"
                                    : "the decode form keeps the projected rows";
      return 0;
    }
    SmallVector<double> costs;
    for (size_t depth = 0; depth <= deepest; ++depth)
      costs.push_back(prefillFlops(depths, depth, deepest));
    size_t chosen = choose(costs), other = chosen ? 0 : 1;
    why = number(costs[chosen]) + " FLOP against " + number(costs[other]) + " for " +
          std::to_string(chunk) + " new tokens at context " + std::to_string(context);
    if (absorb == Absorb::Always)
      why += " (asked for with absorb=always)";
    return chosen;
  }

  /// How deep the decode form of `model` absorbed the same attend: deeper than
  /// that, the rows that this form needs are not kept.
  size_t depthOfDecodeForm(ModelOp model, const Depths &depths) {
    StringRef name = model.getSymName();
    name.consume_back(kPrefillSuffix);
    auto decode = SymbolTable::lookupNearestSymbolFrom<ModelOp>(
        model, StringAttr::get(&getContext(), name));
    if (!decode || decode == model)
      return depths.size() - 1;
    AttendOp op = depths[0].op;
    AttendOp attend = findAttend(decode, getStreamId(op.getResult()));
    if (!attend)
      return 0;
    AbsorbedAttend rows(attend);
    for (size_t depth = depths.size(); depth-- > 0;)
      if (readsTheSame(depths[depth], rows))
        return depth;
    return 0;
  }

  /// FLOP of a chunk at `depth`, with what lies between it and the kept rows
  /// rebuilt once per entry.
  double prefillFlops(const Depths &depths, size_t depth, size_t kept) const {
    const AbsorbedAttend &attend = depths[depth];
    AttendOp op = attend.op;
    double flops = chunk * attend.projectFlops();
    for (auto [i, source] : llvm::enumerate(attend.sources)) {
      double every = cast<StreamType>(source.value.getType()).getEvery();
      double visible = visibleEntries(source.value, source.window, source.selection, context);
      double present = source.window ? std::min<double>(context, source.window + chunk) / every
                                     : context / every;
      flops += chunk * visible * 2.0 * op.getHeads() * attend.channels(i) +
               present * projectionFlops(depths[kept], i, depth, kept);
    }
    return flops;
  }

  PassReport *report = nullptr;
};

} // namespace

std::unique_ptr<Pass> attn::createAbsorbWeights(const AbsorbWeightsOptions &options,
                                                PassReport *report) {
  return std::make_unique<AbsorbWeightsPass>(options, report);
}
