//===- Absorption.cpp - moving projections out of an attend ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/Absorption.h"

#include "dialect/Attn/Interpreter/Evaluation.h"
#include "passes/Support/Graph.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;

static StreamType typeOf(Value stream) { return cast<StreamType>(stream.getType()); }

bool HeadProjection::sameMatrices(const HeadProjection &other) const {
  LinearOp a = op, b = other.op;
  return a.getWeightAttr() == b.getWeightAttr() && a.getBiasAttr() == b.getBiasAttr() &&
         a.getTranspose() == b.getTranspose() && heads == other.heads && rows == other.rows;
}

/// Reads `stream` as per-head projections by `heads` matrices. On failure
/// `reason` says what is in the way.
static std::optional<HeadProjection> asHeadProjection(Value stream, int64_t heads,
                                                      std::string &reason) {
  auto op = stream.getDefiningOp<LinearOp>();
  WeightOp weight = op ? lookupWeight(op, op.getWeightAttr()) : WeightOp();
  if (!weight)
    return std::nullopt;
  std::string name = describe(op);
  if (op.getType().getHeads() != heads) {
    reason = name + " makes " + std::to_string(op.getType().getHeads()) + " heads for " +
             std::to_string(heads) + " query heads; heads that share one in runs have no "
             "projection of their own to move";
    return std::nullopt;
  }
  LinearOp::Geometry g = op.getGeometry(weight);
  HeadProjection p;
  p.op = op, p.heads = heads, p.in = g.in, p.out = g.out, p.shared = g.sharedInput;
  if (op.getRows())
    p.rows = {g.rowBegin, g.rowCount};
  if (g.groups == 1 && heads > 1) {
    // One matrix for all heads: a run of its rows belongs to each head.
    if (op.getTranspose() || p.rows) {
      reason = name + " has no run of whole weight rows for each head";
      return std::nullopt;
    }
    p.out = g.out / heads, p.shared = true;
  } else if (g.groups != heads) {
    reason = name + " has " + std::to_string(g.groups) + " groups, not one for each of the " +
             std::to_string(heads) + " heads";
    return std::nullopt;
  }
  StreamType input = op.getInput().getType();
  bool fits = p.shared || heads == 1 ? input.getShape().size() == 1
                                     : input.getShape() == ArrayRef<int64_t>{heads, p.in};
  if (!fits) {
    reason = name + " reads across the axes of its input, which keys and values cannot";
    return std::nullopt;
  }
  return p;
}

/// The first op between a projection and the attend that reads `stream`, null
/// if `stream` is made from no projection by ops of its own kind.
static Operation *findObstacle(Value stream, LinearOp &projection) {
  Operation *nearest = stream.getDefiningOp();
  for (Operation *op = nearest; op && isRecomputable(op);
       op = op->getNumOperands() == 1 ? op->getOperand(0).getDefiningOp() : nullptr) {
    projection = dyn_cast<LinearOp>(op);
    if (projection)
      return nearest;
  }
  return nullptr;
}

/// Why `stream` is not a projection of something, empty if it never was one.
static std::string obstacleText(Value stream, StringRef side) {
  LinearOp projection;
  Operation *obstacle = findObstacle(stream, projection);
  if (!obstacle || obstacle == projection)
    return "";
  std::string name = obstacle->getName().getStringRef().str();
  std::string text = name + " stands between " + describe(projection) + " and the " + side.str() +
                     " of the attend";
  if (isa<RopeOp>(obstacle))
    return text + ": it turns them by their position, which the query side does not know";
  return text + ": only a projection may";
}

AbsorbedAttend::AbsorbedAttend(AttendOp op) : op(op) {
  for (const AttendOp::Source &from : op.getSources()) {
    Source &source = sources.emplace_back();
    for (auto [query, key] : llvm::zip_equal(from.queries, from.keys))
      source.parts.push_back({query, key, {}});
    source.value = from.value, source.selection = from.selection, source.window = from.window;
  }
}

SmallVector<Value> AbsorbedAttend::rowStreams(unsigned i) const {
  llvm::SetVector<Value> streams;
  for (const Part &part : sources[i].parts)
    streams.insert(part.key);
  streams.insert(sources[i].value);
  return streams.takeVector();
}

int64_t AbsorbedAttend::channels(unsigned i) const {
  int64_t n = typeOf(sources[i].value).getChannels();
  for (const Part &part : sources[i].parts)
    n += typeOf(part.key).getChannels();
  return n;
}

double AbsorbedAttend::projectFlops() const {
  double flops = 0;
  for (const HeadProjection &p : after)
    flops += p.flops();
  for (const Source &source : sources)
    for (const Part &part : source.parts)
      for (const HeadProjection &p : part.toQuery)
        flops += p.flops();
  return flops;
}

//===----------------------------------------------------------------------===//
// One step
//===----------------------------------------------------------------------===//

/// Moves the projections of all key parts of `source` that have one.
static bool stepKeys(AbsorbedAttend &next, AbsorbedAttend::Source &source, std::string &reason) {
  AttendOp op = next.op;
  bool moved = false;
  for (AbsorbedAttend::Part &part : source.parts) {
    std::optional<HeadProjection> p = asHeadProjection(part.key, op.getHeads(), reason);
    if (!p)
      continue;
    if (p->op.getBiasAttr() &&
        (next.sources.size() != 1 || op.getSinkAttr() || !op.getScoreMap().empty())) {
      reason = "the key bias of " + describe(p->op) + " adds to every score of its source, which "
               "softmax ignores only with one source, no sink and no score map";
      continue;
    }
    part.key = p->op.getInput();
    part.toQuery.push_back(*p);
    moved = true;
  }
  return moved;
}

/// The one projection of all values, if it can move behind the sum.
static std::optional<HeadProjection> valueProjection(const AbsorbedAttend &attend,
                                                     std::string &reason) {
  AttendOp op = attend.op;
  std::optional<HeadProjection> first;
  for (const AbsorbedAttend::Source &source : attend.sources) {
    std::optional<HeadProjection> p = asHeadProjection(source.value, op.getHeads(), reason);
    if (!p)
      return std::nullopt;
    if (first && !first->sameMatrices(*p)) {
      reason = "the sources' values are projected by different weights, " + describe(first->op) +
               " and " + describe(p->op) + "; behind the sum there is room for one";
      return std::nullopt;
    }
    if (!first)
      first = p;
  }
  if (!first->op.getBiasAttr())
    return first;
  bool seesItself = llvm::any_of(attend.sources, [](const AbsorbedAttend::Source &source) {
    return !source.selection && typeOf(source.value).getEvery() == 1;
  });
  if (op.getSinkAttr() || !op.getScoreMap().empty() || !seesItself) {
    reason = "the value bias of " + describe(first->op) + " is added once only where the weights "
             "of the values sum to 1: with no sink, no score map, and a source that shows the "
             "token itself";
    return std::nullopt;
  }
  return first;
}

/// Whether a key part of `source` and its value are the same stream, the value
/// being `value` after the step.
static bool readsAsKey(const AbsorbedAttend::Source &source, Value value) {
  return llvm::any_of(source.parts,
                      [&](const AbsorbedAttend::Part &part) { return part.key == value; });
}

std::optional<AbsorbedAttend> AbsorbedAttend::step(std::string &reason) const {
  reason.clear();
  AbsorbedAttend next = *this;
  std::string keyReason, valueReason;
  std::optional<HeadProjection> value = valueProjection(*this, valueReason);
  for (auto [i, source] : llvm::enumerate(next.sources)) {
    bool keys = stepKeys(next, source, keyReason);
    Value rows = value ? source.value.getDefiningOp<LinearOp>().getInput() : source.value;
    // Both sides move, or the other side reads what they are projected from.
    if ((keys && value) || ((keys || value) && readsAsKey(source, rows))) {
      source.value = rows;
      continue;
    }
    std::string keyText = keyReason, valueText = valueReason;
    for (const Part &part : sources[i].parts)
      if (keyText.empty())
        keyText = obstacleText(part.key, "keys");
    if (valueText.empty())
      valueText = obstacleText(sources[i].value, "values");
    if (keys && valueText.empty())
      valueText = "the values are no projection, and not what the keys are projected from";
    if (value && !keys && keyText.empty())
      keyText = "no key part is a projection, or what the values are projected from";
    reason = !keys && !keyText.empty() ? keyText : valueText;
    return std::nullopt;
  }
  if (value)
    next.after.push_back(*value);
  return next;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// `projection` applied to each head of `input`, or its transpose.
static Value project(OpBuilder &builder, Operation *origin, Value input,
                     const HeadProjection &projection, bool transposed) {
  LinearOp op = projection.op;
  int64_t channels = transposed ? projection.in : projection.out;
  SmallVector<int64_t> shape(typeOf(input).getShape());
  shape.back() = channels;
  DenseI64ArrayAttr rows;
  if (projection.rows)
    rows = builder.getDenseI64ArrayAttr({projection.rows->first, projection.rows->second});
  bool transpose = op.getTranspose() != transposed;
  // A key bias drops out of the softmax; a value bias stays with its matrix.
  auto created = builder.create<LinearOp>(
      origin->getLoc(), typeOf(input).withShape(shape), input, op.getWeightAttr(),
      transposed ? FlatSymbolRefAttr() : op.getBiasAttr(),
      builder.getI64IntegerAttr(projection.heads), rows,
      transpose ? builder.getUnitAttr() : UnitAttr());
  inherit(origin, created);
  return created;
}

Value AbsorbedAttend::materialize(OpBuilder &builder) const {
  AttendOp attend = op;
  builder.setInsertionPoint(attend);
  SmallVector<AttendOp::Source> built;
  for (const Source &source : sources) {
    AttendOp::Source &to = built.emplace_back();
    for (const Part &part : source.parts) {
      Value query = part.query;
      for (const HeadProjection &p : part.toQuery)
        query = project(builder, attend, query, p, /*transposed=*/true);
      to.queries.push_back(query), to.keys.push_back(part.key);
    }
    to.value = source.value, to.selection = source.selection, to.window = source.window;
  }
  SmallVector<int64_t> shape(attend.getType().getShape());
  shape.back() = typeOf(built[0].value).getChannels();
  auto sum = builder.create<AttendOp>(attend.getLoc(), attend.getType().withShape(shape), built,
                                      attend.getScale().convertToDouble(), attend.getSinkAttr(),
                                      attend.getConstsAttr());
  sum.getScoreMap().takeBody(attend.getScoreMap());
  inherit(attend, sum);
  Value result = sum;
  for (const HeadProjection &p : llvm::reverse(after))
    result = project(builder, attend, result, p, /*transposed=*/false);
  // The op that now computes the attend's stream takes over its name.
  result.getDefiningOp()->setDiscardableAttrs(attend->getDiscardableAttrDictionary());
  return result;
}
