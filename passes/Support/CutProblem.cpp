//===- CutProblem.cpp - which streams to keep, which to compute again ------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/CutProblem.h"

#include "passes/Support/Graph.h"
#include "passes/Support/Streams.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::attn;
using attnc::Int128;

/// Sums of all capacities stay below this, so that flows cannot overflow.
static constexpr Int128 kLimit = Int128(1) << 125;

FailureOr<CutProblem> CutProblem::create(ModelOp model, Cut objective, int64_t balance,
                                         bool needsIdentity) {
  CutProblem problem;
  problem.model = model;
  DenseMap<Value, unsigned> index;
  for (Value stream : getStreams(model)) {
    Node node;
    node.stream = stream;
    node.keepable = isa<StreamType>(stream.getType()) && (!needsIdentity || getStreamId(stream));
    Operation *op = stream.getDefiningOp();
    node.recomputable = op && isRecomputable(op);
    if (op)
      for (Value operand : op->getOperands())
        node.inputs.push_back(index.lookup(operand));
    index[stream] = problem.nodes.size();
    problem.nodes.push_back(std::move(node));
  }
  if (failed(problem.weigh(objective, balance)) || failed(problem.fit()))
    return failure();
  return problem;
}

/// Fills in the costs per token: those of an element divided by the tokens it
/// stands for, all scaled to whole numbers.
LogicalResult CutProblem::weigh(Cut objective, int64_t balance) {
  auto everyOf = [](Value stream) {
    auto type = dyn_cast<StreamType>(stream.getType());
    return type ? type.getEvery() : 1;
  };
  int64_t common = 1;
  for (const Node &node : nodes) {
    int64_t every = everyOf(node.stream);
    if (__builtin_mul_overflow(common / std::gcd(common, every), every, &common))
      return emitError(model.getLoc(), "the rates of the streams of @")
             << model.getSymName() << " have no common multiple below 2^63";
  }
  for (Node &node : nodes) {
    Int128 weight = common / everyOf(node.stream);
    Int128 bytes = node.keepable ? weight * getStoredBytes(node.stream) : 0, flops = 0;
    if (node.recomputable)
      if (auto work = dyn_cast<WorkOpInterface>(node.stream.getDefiningOp()))
        flops = weight * std::llround(work.getWork(1).total());
    Int128 *keep = node.keep.digits, *recompute = node.recompute.digits;
    switch (objective) {
    case Cut::Cost:
      keep[0] = bytes * balance, keep[1] = bytes, recompute[0] = flops;
      break;
    case Cut::Bytes:
      keep[0] = bytes, recompute[1] = flops;
      break;
    case Cut::Flops:
      keep[1] = bytes, recompute[0] = flops;
      break;
    }
    recompute[2] = 1;
  }
  return success();
}

/// Chooses what a unit of each digit is worth: more than all of the next
/// digit's together.
LogicalResult CutProblem::fit() {
  Int128 sums[3] = {0, 0, 0};
  for (const Node &node : nodes)
    for (int i = 0; i < 3; ++i)
      if (__builtin_add_overflow(sums[i], node.keep.digits[i] + node.recompute.digits[i],
                                 &sums[i]))
        sums[i] = kLimit;
  base[2] = 1;
  infinite = sums[2] + 1;
  for (int i = 1; i >= 0; --i) {
    base[i] = infinite;
    Int128 digit;
    if (__builtin_mul_overflow(base[i], sums[i], &digit) ||
        __builtin_add_overflow(infinite, digit, &infinite) || infinite >= kLimit)
      return emitError(model.getLoc(), "the costs of @")
             << model.getSymName() << " are too large to be weighed exactly; expected a smaller "
                                      "balance, or rates with a smaller common multiple";
  }
  return success();
}

Int128 CutProblem::pack(const Cost &cost) const {
  return cost.digits[0] * base[0] + cost.digits[1] * base[1] + cost.digits[2] * base[2];
}

FailureOr<CutAnswer> CutProblem::solve(ArrayRef<Value> needs, const DenseSet<Value> &free) const {
  ::attnc::MinCut cut;
  DenseSet<Value> needed(needs.begin(), needs.end());
  std::vector<int> need(nodes.size()), comp(nodes.size());
  for (auto [i, node] : llvm::enumerate(nodes)) {
    need[i] = cut.addNode(), comp[i] = cut.addNode();
    bool isFree = free.contains(node.stream);
    cut.addEdge(comp[i], need[i], isFree ? 0 : node.keepable ? pack(node.keep) : infinite);
    cut.addEdge(::attnc::MinCut::kSource, comp[i],
                node.recomputable ? pack(node.recompute) : infinite);
    for (unsigned input : node.inputs)
      cut.addEdge(need[input], comp[i], infinite);
    if (needed.contains(node.stream))
      cut.addEdge(need[i], ::attnc::MinCut::kSink, infinite);
  }
  std::vector<bool> sinkSide = cut.sinkSide();
  CutAnswer answer;
  for (auto [i, node] : llvm::enumerate(nodes)) {
    if (!sinkSide[need[i]])
      continue;
    (sinkSide[comp[i]] ? answer.recomputed : answer.kept).insert(node.stream);
  }
  // An infinite flow means that there is no answer; it cuts at the needs.
  for (Value stream : needs)
    if (!answer.kept.contains(stream) && !answer.recomputed.contains(stream))
      return emitError(stream.getLoc(), "a stream is read when old tokens are, but can neither be "
                                        "kept nor computed again");
  return answer;
}
