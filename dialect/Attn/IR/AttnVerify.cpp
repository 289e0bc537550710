//===- AttnVerify.cpp - what an op may be, seen by itself --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Local verifiers. What needs a weight's declaration is in AttnWeights.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::verifyStreamOp(Operation *op) {
  // A module's body has no order, so a value could depend on itself there.
  if (isa_and_nonnull<ModuleOp>(op->getParentOp()))
    return op->emitOpError("expected inside an attn.model, found in a module");
  Attribute layer = op->getAttr(kLayerAttr);
  if (!layer)
    return success();
  auto number = dyn_cast<IntegerAttr>(layer);
  if (!number || !number.getType().isSignlessInteger(64) || number.getInt() < 0)
    return op->emitOpError("expected '") << kLayerAttr << "' to be an i64 of 0 or more, found "
                                         << layer;
  return success();
}

/// Fails unless `input` has the result's rate.
static LogicalResult checkRate(Operation *op, StreamType input, StreamType result) {
  if (input.getEvery() == result.getEvery())
    return success();
  return op->emitOpError("input has one element every ")
         << input.getEvery() << " tokens, result one every " << result.getEvery()
         << "; expected the same rate";
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// The text form has no empty symbol.
static LogicalResult checkName(Operation *op, StringRef name) {
  return name.empty() ? op->emitOpError("expected a name, found an empty one") : success();
}

LogicalResult ModelOp::verify() {
  if (failed(checkName(*this, getSymName())))
    return failure();
  auto isStream = [](Type type) { return isa<StreamType>(type); };
  for (Type type : getFunctionType().getInputs())
    if (!isStream(type))
      return emitOpError("takes streams; found an argument of type ") << type;
  for (Type type : getFunctionType().getResults())
    if (!isStream(type))
      return emitOpError("returns streams; found a result of type ") << type;
  if (getArgumentTypes().empty())
    return emitOpError("expected at least one stream as argument, found none");
  if (getBlock().empty() || !isa<ReturnOp>(getBlock().back()))
    return emitOpError("expected its body to end with attn.return");
  return success();
}

LogicalResult ReturnOp::verify() {
  TypeRange expected = cast<ModelOp>((*this)->getParentOp()).getFunctionType().getResults();
  if (getNumOperands() != expected.size())
    return emitOpError("returns ") << getNumOperands() << " values; expected "
                                   << expected.size() << ", as the model declares";
  for (auto [i, found, wanted] : llvm::enumerate(getOperandTypes(), expected))
    if (found != wanted)
      return emitOpError("returns ") << found << " as value " << i << "; expected " << wanted
                                     << ", as the model declares";
  return success();
}

LogicalResult WeightOp::verify() {
  if (failed(checkName(*this, getSymName())))
    return failure();
  if (getShape().empty())
    return emitOpError("expected a shape such as 64 or 512x5120, found none");
  int64_t entries = 1;
  for (int64_t extent : getShape()) {
    if (extent <= 0)
      return emitOpError("expected positive extents, found ") << extent;
    if (__builtin_mul_overflow(entries, extent, &entries) || entries > (int64_t(1) << 40))
      return emitOpError("expected at most 2^40 entries");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Per-token ops
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::verify() {
  if (failed(checkRate(*this, getInput().getType(), getType())))
    return failure();
  if (int64_t(getGroups()) <= 0)
    return emitOpError("expected positive 'groups', found ") << int64_t(getGroups());
  if (auto rows = getRows()) {
    if (rows->size() != 2)
      return emitOpError("expected 'rows' as [first, count], found ")
             << rows->size() << " numbers";
    if ((*rows)[0] < 0 || (*rows)[1] <= 0)
      return emitOpError("expected 'rows' to begin at 0 or later and to have a positive count, "
                         "found [")
             << (*rows)[0] << ", " << (*rows)[1] << "]";
  }
  if (getTranspose() && getBias())
    return emitOpError("'bias' is indexed like the weight's rows, which 'transpose' sums over; "
                       "expected one or the other");
  return success();
}

LogicalResult RMSNormOp::verify() {
  double eps = getEps().convertToDouble(), offset = getWeightOffset().convertToDouble();
  if (!std::isfinite(eps) || eps < 0)
    return emitOpError("expected a finite 'eps' of 0 or more, found ") << eps;
  if (!std::isfinite(offset))
    return emitOpError("expected a finite 'offset', found ") << offset;
  return success();
}

LogicalResult RopeOp::verify() {
  int64_t dims = getRotary().getDims(), channels = getType().getChannels();
  if (dims > channels)
    return emitOpError("rotates ") << dims << " channels; the last axis of its input has "
                                   << channels;
  double amplitude = getRotary().getAmplitude().getValueAsDouble();
  if (getInverse() && amplitude != 1.0)
    return emitOpError("'inverse' turns a plain rotation back; expected amplitude 1, found ")
           << amplitude;
  return success();
}

LogicalResult SliceOp::verify() {
  StreamType input = getInput().getType();
  int64_t offset = getOffset(), size = getSize(), channels = input.getChannels();
  if (offset < 0 || size <= 0 || offset > channels || size > channels - offset)
    return emitOpError("takes channels [") << offset << ", " << offset << " + " << size
                                           << ") of an axis of " << channels;
  SmallVector<int64_t> shape(input.getShape());
  shape.back() = size;
  if (getType() != input.withShape(shape))
    return emitOpError("expected a result of type ") << input.withShape(shape) << ", found "
                                                     << getType();
  return success();
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected at least one input");
  StreamType result = getType();
  int64_t channels = 0;
  for (auto [i, value] : llvm::enumerate(getInputs())) {
    auto input = cast<StreamType>(value.getType());
    if (failed(checkRate(*this, input, result)))
      return failure();
    if (input.getShape().size() == 2 && input.getShape().drop_back() != result.getShape().drop_back())
      return emitOpError("input ") << i << " has " << input.getHeads()
                                   << " heads; expected none, or the heads of the result "
                                   << result;
    channels += input.getChannels();
  }
  if (channels != result.getChannels())
    return emitOpError("inputs have ") << channels << " channels together, the result's last axis "
                                       << result.getChannels();
  return success();
}

LogicalResult ExternOp::verify() {
  if (failed(checkName(*this, getCallee())))
    return failure();
  if (getInputs().empty())
    return emitOpError("expected at least one input");
  for (Value input : getInputs())
    if (failed(checkRate(*this, cast<StreamType>(input.getType()), getType())))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Scalar bodies
//===----------------------------------------------------------------------===//

static bool isScalar(Type type) { return type.isF32() || type.isInteger(1); }

LogicalResult attn::verifyScalarBody(Operation *op, Region &body, unsigned arguments) {
  Block &block = body.front();
  if (block.getNumArguments() != arguments)
    return op->emitOpError("body has ") << block.getNumArguments() << " arguments; expected "
                                        << arguments;
  for (Type type : block.getArgumentTypes())
    if (!type.isF32())
      return op->emitOpError("body takes scalars written f32; found an argument of type ") << type;
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op->emitOpError("expected its body to end with attn.yield");
  if (yield.getNumOperands() != 1 || !yield.getOperandTypes()[0].isF32())
    return yield.emitOpError("expected one value of type f32");
  for (Operation &inner : block.without_terminator()) {
    if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(inner.getDialect()))
      return inner.emitOpError("is not allowed here; a scalar body holds ops of arith and math");
    if (!llvm::all_of(inner.getOperandTypes(), isScalar) ||
        !llvm::all_of(inner.getResultTypes(), isScalar))
      return inner.emitOpError("computes on other types; a scalar body holds f32 and i1");
  }
  return success();
}

/// Fails unless `consts`, if present, is a list of symbols.
static LogicalResult checkConsts(Operation *op, std::optional<ArrayAttr> consts) {
  if (!consts)
    return success();
  for (Attribute constant : *consts)
    if (!isa<FlatSymbolRefAttr>(constant))
      return op->emitOpError("'consts' is a list of weights such as [@a]; found ") << constant;
  return success();
}

LogicalResult MapOp::verify() {
  StreamType result = getType();
  if (getInputs().empty())
    return emitOpError("expected at least one input");
  for (auto [i, value] : llvm::enumerate(getInputs())) {
    auto input = cast<StreamType>(value.getType());
    if (failed(checkRate(*this, input, result)))
      return failure();
    int64_t features = input.getNumFeatures();
    if (features != result.getNumFeatures() && features != result.getHeads() && features != 1)
      return emitOpError("input ") << i << " has " << features << " channels; expected "
                                   << result.getNumFeatures() << " like the result, "
                                   << result.getHeads() << " (one per head) or 1";
  }
  if (failed(checkConsts(*this, getConsts())))
    return failure();
  unsigned consts = getConsts() ? getConsts()->size() : 0;
  return verifyScalarBody(*this, getBody(), getInputs().size() + consts);
}

//===----------------------------------------------------------------------===//
// attend
//===----------------------------------------------------------------------===//

/// Fails unless the lists of sources, parts and selections fit together. Until
/// then getSources() must not be called.
static LogicalResult checkSegments(AttendOp op) {
  size_t sources = op.getPartCounts().size();
  if (sources == 0)
    return op.emitOpError("expected at least one source");
  if (op.getWindows().size() != sources || op.getValues().size() != sources)
    return op.emitOpError("has ") << sources << " part counts, " << op.getWindows().size()
                                  << " windows and " << op.getValues().size()
                                  << " values; expected one of each per source";
  size_t parts = 0, selections = 0;
  for (auto [count, window] : llvm::zip_equal(op.getPartCounts(), op.getWindows())) {
    if (count <= 0 || size_t(count) > op.getQueries().size())
      return op.emitOpError("found a source of ") << count << " parts; expected 1 to "
                                                  << op.getQueries().size()
                                                  << ", the number of queries";
    if (window < -1)
      return op.emitOpError("found window ")
             << window << "; expected 0 (causal), a width, or -1 (a selection)";
    parts += count;
    selections += window == -1;
  }
  if (op.getQueries().size() != parts || op.getKeys().size() != parts)
    return op.emitOpError("has ") << op.getQueries().size() << " queries and "
                                  << op.getKeys().size() << " keys for " << parts << " parts";
  if (op.getSelections().size() != selections)
    return op.emitOpError("has ") << op.getSelections().size() << " selections for "
                                  << selections << " sources that select";
  return success();
}

/// Fails unless `type`, a key or a value, has as many heads as may be read by
/// `heads` query heads.
static LogicalResult checkSharedHeads(AttendOp op, StringRef what, StreamType type,
                                      int64_t heads) {
  if (heads % type.getHeads() == 0)
    return success();
  return op.emitOpError() << what << " has " << type.getHeads()
                          << " heads, which does not divide the " << heads
                          << " heads of the queries";
}

static LogicalResult checkParts(AttendOp op, const AttendOp::Source &source) {
  StreamType result = op.getType();
  auto valueType = cast<StreamType>(source.value.getType());
  for (auto [q, k] : llvm::zip_equal(source.queries, source.keys)) {
    auto query = cast<StreamType>(q.getType()), key = cast<StreamType>(k.getType());
    if (query.getHeads() != result.getHeads())
      return op.emitOpError("query has ") << query.getHeads() << " heads, the result "
                                          << result.getHeads();
    if (query.getEvery() != 1)
      return op.emitOpError("expected queries with one element per token, found ") << query;
    if (query.getChannels() != key.getChannels())
      return op.emitOpError("query has ") << query.getChannels() << " channels per head, its key "
                                          << key.getChannels();
    if (key.getEvery() != valueType.getEvery())
      return op.emitOpError("key has one element every ")
             << key.getEvery() << " tokens, the value of its source one every "
             << valueType.getEvery();
    if (failed(checkSharedHeads(op, "key", key, result.getHeads())))
      return failure();
  }
  if (valueType.getChannels() != result.getChannels())
    return op.emitOpError("value has ") << valueType.getChannels()
                                        << " channels per head, the result "
                                        << result.getChannels();
  return checkSharedHeads(op, "value", valueType, result.getHeads());
}

static LogicalResult checkVisibility(AttendOp op, const AttendOp::Source &source) {
  auto valueType = cast<StreamType>(source.value.getType());
  if (source.window && valueType.getEvery() != 1)
    return op.emitOpError("a window counts tokens; expected a source with one element per token, "
                          "found ")
           << valueType;
  if (!source.selection)
    return success();
  auto selection = cast<SelectionType>(source.selection.getType());
  if (selection.getEvery() != valueType.getEvery())
    return op.emitOpError("selection picks elements every ")
           << selection.getEvery() << " tokens, its source has one every "
           << valueType.getEvery();
  if (op.getHeads() % selection.getGroups() != 0)
    return op.emitOpError("selection has ") << selection.getGroups()
                                            << " groups, which does not divide the "
                                            << op.getHeads() << " heads of the queries";
  return success();
}

LogicalResult AttendOp::verify() {
  if (getType().getEvery() != 1)
    return emitOpError("expected a result with one element per token, found ") << getType();
  if (!std::isfinite(getScale().convertToDouble()))
    return emitOpError("expected a finite 'scale', found ") << getScale().convertToDouble();
  if (failed(checkSegments(*this)) || failed(checkConsts(*this, getConsts())))
    return failure();
  for (const Source &source : getSources())
    if (failed(checkParts(*this, source)) || failed(checkVisibility(*this, source)))
      return failure();
  unsigned consts = getConsts() ? getConsts()->size() : 0;
  if (!getScoreMap().empty())
    return verifyScalarBody(*this, getScoreMap(), 4 + consts);
  if (consts)
    return emitOpError("'consts' are arguments of a score map; found ") << consts
                                                                       << " and no score map";
  return success();
}
