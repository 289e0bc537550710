//===- KvOps.cpp - caches, steps and rows ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Text and verifiers of everything but attention, which is in KvAttend.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/Kv/IR/Kv.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::kv;

static ParseResult parseStepSignature(OpAsmParser &parser, TypeAttr &type) {
  SmallVector<Type> inputs, results;
  auto parseType = [&](SmallVectorImpl<Type> &list) {
    return [&] { return parser.parseType(list.emplace_back()); };
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseType(inputs)) ||
      parser.parseArrow() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseType(results)))
    return failure();
  type = TypeAttr::get(parser.getBuilder().getFunctionType(inputs, results));
  return success();
}

static void printStepSignature(OpAsmPrinter &printer, StepOp, TypeAttr type) {
  auto function = cast<FunctionType>(type.getValue());
  printer << '(';
  llvm::interleaveComma(function.getInputs(), printer);
  printer << ") -> (";
  llvm::interleaveComma(function.getResults(), printer);
  printer << ')';
}

#define GET_OP_CLASSES
#include "dialect/Kv/IR/KvOps.cpp.inc"

void KvDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Kv/IR/KvOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// cache
//===----------------------------------------------------------------------===//

::attnc::CacheDesc CacheOp::getDesc() {
  ::attnc::CacheDesc desc;
  desc.name = getSymName().str();
  desc.layer = getLayer();
  desc.kind = static_cast<::attnc::CacheKind>(getKind());
  desc.readers.assign(getReaders().begin(), getReaders().end());
  desc.every = getEvery();
  desc.rows = getRows().value_or(0);
  for (auto segment : getRow().getAsRange<SegmentAttr>())
    desc.segments.push_back({segment.getName().str(), segment.getFormat().getFormat(),
                             segment.getChannels(), segment.isPad()});
  desc.pageEntries = getPageEntries();
  desc.layout = getLayout().str();
  (void)desc.place();
  return desc;
}

/// Fails unless `row` is a list of segments whose names differ, pads aside.
static LogicalResult checkSegments(CacheOp op) {
  llvm::StringSet<> names;
  bool values = false;
  for (Attribute entry : op.getRow()) {
    auto segment = dyn_cast<SegmentAttr>(entry);
    if (!segment)
      return op.emitOpError("a row is a list of #kv.segment; found ") << entry;
    if (segment.isPad())
      continue;
    values = true;
    if (!names.insert(segment.getName()).second)
      return op.emitOpError("found two segments named '")
             << segment.getName() << "'; expected different names";
  }
  if (!values)
    return op.emitOpError("expected a row with at least one segment of values");
  return success();
}

LogicalResult CacheOp::verify() {
  bool paged = getKind() == CacheKind::Paged;
  if (paged && getRows())
    return emitOpError("a paged cache keeps every entry; found ") << *getRows() << " rows";
  if (!paged && !getRows())
    return emitOpError("expected the number of rows of a ") << stringifyCacheKind(getKind());
  if (failed(checkSegments(*this)))
    return failure();
  if (int64_t(getLayer()) < 0)
    return emitOpError("expected a layer of 0 or more, found ") << int64_t(getLayer());
  int64_t last = -1;
  for (int64_t reader : getReaders()) {
    if (reader <= last)
      return emitOpError("expected readers in ascending order from 0, found ")
             << reader << " after " << last;
    last = reader;
  }
  ::attnc::CacheDesc desc = getDesc();
  if (std::string error = desc.place(); !error.empty())
    return emitOpError() << error;
  return success();
}

/// The declaration of the cache that `op` names; emits why there is none.
static CacheOp findCache(Operation *op, FlatSymbolRefAttr symbol, SymbolTableCollection &tables) {
  Operation *found = tables.lookupNearestSymbolFrom(op, symbol);
  if (!found) {
    op->emitOpError("cache ") << symbol << " is not declared; expected kv.cache " << symbol
                              << " in the module";
    return nullptr;
  }
  auto cache = dyn_cast<CacheOp>(found);
  if (!cache)
    op->emitOpError("expected ") << symbol << " to be a kv.cache, found " << found->getName();
  return cache;
}

//===----------------------------------------------------------------------===//
// step, return
//===----------------------------------------------------------------------===//

RegionKind StepOp::getRegionKind(unsigned) { return RegionKind::SSACFG; }

LogicalResult StepOp::verify() {
  auto type = getFunctionType();
  for (Type input : type.getInputs())
    if (!isa<attn::StreamType>(input))
      return emitOpError("takes streams; found an argument of type ") << input;
  for (Type result : type.getResults())
    if (!isa<attn::StreamType>(result))
      return emitOpError("returns streams; found a result of type ") << result;
  if (type.getInputs().empty())
    return emitOpError("expected at least one stream as argument, found none");
  if (int64_t(getThreshold()) < 1)
    return emitOpError("expected a threshold of at least 1 new token, found ")
           << int64_t(getThreshold());
  return success();
}

/// Fails unless `block` has the arguments and the return that `step` declares.
static LogicalResult checkBody(StepOp step, Block &block, StringRef name) {
  FunctionType type = step.getFunctionType();
  if (block.getArgumentTypes() != type.getInputs())
    return step.emitOpError() << "the " << name << " body takes (" << block.getArgumentTypes()
                              << "); expected (" << type.getInputs()
                              << "), as the step declares";
  auto ret = block.empty() ? ReturnOp() : dyn_cast<ReturnOp>(block.back());
  if (!ret)
    return step.emitOpError() << "expected the " << name << " body to end with kv.return";
  if (ret.getOperandTypes() != type.getResults())
    return ret.emitOpError() << "returns (" << ret.getOperandTypes() << "); expected ("
                             << type.getResults() << "), as the step declares";
  return success();
}

LogicalResult StepOp::verifyRegions() {
  if (failed(checkBody(*this, getDecode().front(), "decode")))
    return failure();
  return getPrefill().empty() ? success() : checkBody(*this, getPrefill().front(), "prefill");
}

//===----------------------------------------------------------------------===//
// append, read
//===----------------------------------------------------------------------===//

LogicalResult AppendOp::verify() {
  if (getValues().empty())
    return emitOpError("expected one value per segment, found none");
  return success();
}

LogicalResult AppendOp::verifySymbolUses(SymbolTableCollection &tables) {
  CacheOp cache = findCache(*this, getCacheAttr(), tables);
  if (!cache)
    return failure();
  SmallVector<SegmentAttr> segments;
  for (auto segment : cache.getRow().getAsRange<SegmentAttr>())
    if (!segment.isPad())
      segments.push_back(segment);
  if (segments.size() != getValues().size())
    return emitOpError("has ") << getValues().size() << " values; cache " << getCacheAttr()
                               << " has " << segments.size() << " segments";
  for (auto [value, segment] : llvm::zip_equal(getValues(), segments)) {
    auto type = cast<attn::StreamType>(value.getType());
    if (type.getNumFeatures() != segment.getChannels())
      return emitOpError("value has ") << type.getNumFeatures() << " channels, segment '"
                                       << segment.getName() << "' of " << getCacheAttr() << ' '
                                       << segment.getChannels();
    if (type.getEvery() != int64_t(cache.getEvery()))
      return emitOpError("value has one element every ")
             << type.getEvery() << " tokens, cache " << getCacheAttr() << " one every "
             << cache.getEvery();
    int64_t block = segment.getFormat().getBlock();
    if (type.getHeads() > 1 && block != 0 && (block < 0 || type.getChannels() % block != 0))
      return emitOpError("value has ") << type.getChannels() << " channels per head; expected a "
                                       << "multiple of the block of " << segment.getFormat();
  }
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &tables) {
  CacheOp cache = findCache(*this, getCacheAttr(), tables);
  if (!cache)
    return failure();
  int64_t index = getSegment(), count = cache.getRow().size();
  if (index < 0 || index >= count)
    return emitOpError("reads segment ") << index << "; cache " << getCacheAttr() << " has "
                                         << count;
  auto segment = cast<SegmentAttr>(cache.getRow()[index]);
  if (segment.isPad())
    return emitOpError("reads segment ") << index << " of " << getCacheAttr()
                                         << ", which is a pad; expected one with values";
  RowsType type = getType();
  if (type.getNumFeatures() != segment.getChannels())
    return emitOpError("has ") << type.getNumFeatures() << " channels, segment '"
                               << segment.getName() << "' of " << getCacheAttr() << ' '
                               << segment.getChannels();
  if (type.getEvery() != int64_t(cache.getEvery()))
    return emitOpError("has one entry every ") << type.getEvery() << " tokens, cache "
                                               << getCacheAttr() << " one every "
                                               << cache.getEvery();
  return success();
}

//===----------------------------------------------------------------------===//
// rebuild
//===----------------------------------------------------------------------===//

LogicalResult RebuildOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected rows to rebuild from, found none");
  int64_t every = cast<RowsType>(getInputs()[0].getType()).getEvery();
  SmallVector<Type> expected;
  for (Type type : getInputs().getTypes()) {
    expected.push_back(cast<RowsType>(type).getStream());
    if (cast<RowsType>(type).getEvery() != every)
      return emitOpError("expected all inputs at one rate, found every ")
             << every << " and every " << cast<RowsType>(type).getEvery();
  }
  Block &body = getBody().front();
  if (body.getArgumentTypes() != TypeRange(expected))
    return emitOpError("body takes (") << body.getArgumentTypes() << "); expected ("
                                       << TypeRange(expected) << "), one element of each input";
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError("expected its body to end with kv.yield");
  expected.clear();
  for (Type type : getResultTypes())
    expected.push_back(cast<RowsType>(type).getStream());
  if (yield.getOperandTypes() != TypeRange(expected))
    return yield.emitOpError() << "yields (" << yield.getOperandTypes() << "); expected ("
                               << TypeRange(expected) << "), one element of each result";
  for (Operation &op : body.without_terminator())
    if (!isa<attn::EvaluateOpInterface>(op) || isa<attn::HistoryOpInterface, attn::ExternOp>(op))
      return op.emitOpError("is not allowed in a rebuild; expected ops of attn that compute an "
                            "entry from itself");
  return success();
}
