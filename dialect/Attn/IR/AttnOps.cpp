//===- AttnOps.cpp - structure ops: text, builders, resolution -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The ops that hold a graph together, and what all ops share. Verifiers are in
// AttnVerify.cpp and AttnWeights.cpp, folders in AttnFold.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/IR/Attn.h"
#include "dialect/Attn/IR/AttnText.h"
#include "dialect/Attn/Interpreter/Evaluation.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mlir::attn;

#define GET_OP_CLASSES
#include "dialect/Attn/IR/AttnOps.cpp.inc"

void AttnDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Attn/IR/AttnOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// model
//===----------------------------------------------------------------------===//

RegionKind ModelOp::getRegionKind(unsigned) { return RegionKind::SSACFG; }

ParseResult ModelOp::parse(OpAsmParser &parser, OperationState &state) {
  auto makeType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                     function_interface_impl::VariadicFlag,
                     std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(
      parser, state, /*allowVariadic=*/false, getFunctionTypeAttrName(state.name), makeType,
      getArgAttrsAttrName(state.name), getResAttrsAttrName(state.name));
}

void ModelOp::print(OpAsmPrinter &p) {
  function_interface_impl::printFunctionOp(p, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

//===----------------------------------------------------------------------===//
// weight
//===----------------------------------------------------------------------===//

ParseResult WeightOp::parse(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  SmallVector<int64_t> shape;
  (void)mlir::impl::parseOptionalVisibilityKeyword(parser, state.attributes);
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), state.attributes) ||
      parser.parseColon() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false, /*withTrailingX=*/false) ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  state.addAttribute(getShapeAttrName(state.name),
                     parser.getBuilder().getDenseI64ArrayAttr(shape));
  return success();
}

void WeightOp::print(OpAsmPrinter &p) {
  p << ' ';
  if (auto visibility = getSymVisibility())
    p << *visibility << ' ';
  p.printSymbolName(getSymName());
  p << " : ";
  llvm::interleave(getShape(), p, "x");
  p.printOptionalAttrDict((*this)->getAttrs(), {getSymNameAttrName(), getShapeAttrName(),
                                                getSymVisibilityAttrName()});
}

WeightOp attn::lookupWeight(Operation *op, FlatSymbolRefAttr symbol) {
  return SymbolTable::lookupNearestSymbolFrom<WeightOp>(op, symbol);
}

//===----------------------------------------------------------------------===//
// linear, slice, concat
//===----------------------------------------------------------------------===//

LinearOp::Geometry LinearOp::getGeometry(WeightOp weight) {
  Geometry g;
  g.groups = getGroups();
  g.groupRows = weight.getShape()[0] / g.groups;
  g.cols = weight.getShape()[1];
  g.rowBegin = getRows() ? (*getRows())[0] : 0;
  g.rowCount = getRows() ? (*getRows())[1] : g.groupRows;
  g.in = getTranspose() ? g.rowCount : g.cols;
  g.out = getTranspose() ? g.cols : g.rowCount;
  g.sharedInput = !getTranspose() && g.groups > 1 &&
                  getInput().getType().getNumFeatures() == g.in;
  return g;
}

/// `type` with `channels` on the last axis.
static StreamType withChannels(StreamType type, int64_t channels) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = channels;
  return type.withShape(shape);
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value input, int64_t offset,
                    int64_t size) {
  build(builder, state, withChannels(cast<StreamType>(input.getType()), size), input, offset,
        size);
}

void ConcatOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs) {
  int64_t channels = 0;
  auto type = cast<StreamType>(inputs.front().getType());
  for (Value input : inputs) {
    auto inputType = cast<StreamType>(input.getType());
    channels += inputType.getChannels();
    if (inputType.getShape().size() == 2)
      type = inputType;
  }
  build(builder, state, withChannels(type, channels), inputs);
}

// The terminator of a body that was written without one; the verifier of the
// op that holds it asks for a value.
void YieldOp::build(OpBuilder &, OperationState &) {}
