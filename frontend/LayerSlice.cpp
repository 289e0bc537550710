//===- LayerSlice.cpp - some layers of a graph
//-----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "frontend/LayerSlice.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;

namespace attnc {

int64_t countLayers(ModelOp model) {
  int64_t highest = 0;
  for (Operation &op : model.getBlock().without_terminator())
    highest = std::max(highest, getLayer(&op));
  return highest + 1;
}

namespace {

class LayerSlicer {
public:
  LayerSlicer(ModelOp model, int64_t begin, int64_t end)
      : model(model), begin(begin), end(end) {}

  std::string run() {
    int64_t layers = countLayers(model);
    if (begin < 0 || begin >= end || end > layers)
      return "found layers " + std::to_string(begin) + ":" +
             std::to_string(end) + " of a model of " + std::to_string(layers) +
             "; expected A:B with 0 <= A < B <= " + std::to_string(layers);
    if (begin == 0 && end == layers)
      return "";
    Value output = findOutput();
    if (!output)
      return "layers " + std::to_string(begin) + ":" + std::to_string(end) +
             " leave no result of the model's type; expected a residual stack";
    std::string error = connectInput();
    if (!error.empty())
      return error;
    connectOutput(output);
    eraseRest();
    return "";
  }

private:
  bool keeps(Operation *op) {
    return !isa<ReturnOp>(op) && getLayer(op) >= begin && getLayer(op) < end;
  }

  Value findOutput() {
    if (model.getFunctionType().getNumResults() != 1)
      return {};
    Type wanted = model.getFunctionType().getResult(0);
    Value output;
    for (Operation &op : model.getBlock())
      for (Value result : op.getResults())
        if (keeps(&op) && result.getType() == wanted &&
            llvm::any_of(result.getUsers(),
                         [&](Operation *user) { return !keeps(user); }))
          output = result;
    return output;
  }

  std::string connectInput() {
    llvm::SetVector<Value> outside;
    for (Operation &op : model.getBlock()) {
      if (!keeps(&op))
        continue;
      for (Value operand : op.getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (producer && keeps(producer))
          continue;
        outside.insert(operand);
        if (begin > 0 ? outside.size() > 1 : producer != nullptr)
          return "layer " + std::to_string(getLayer(&op)) +
                 " reads more than its input from outside layers " +
                 std::to_string(begin) + ":" + std::to_string(end) +
                 "; expected layers that need nothing else";
      }
    }
    if (begin == 0)
      return "";
    Block &body = model.getBlock();
    Value input = outside.front();
    Value argument = body.addArgument(input.getType(), input.getLoc());
    input.replaceUsesWithIf(
        argument, [&](OpOperand &use) { return keeps(use.getOwner()); });
    return "";
  }

  void connectOutput(Value output) {
    body().getTerminator()->setOperands(output);
  }

  void eraseRest() {
    SmallVector<Operation *> rest;
    for (Operation &op : body().without_terminator())
      if (!keeps(&op))
        rest.push_back(&op);
    for (Operation *op : llvm::reverse(rest))
      op->erase();
    if (begin > 0)
      body().eraseArguments(0, body().getNumArguments() - 1);
    model.setFunctionType(
        FunctionType::get(model.getContext(), body().getArgumentTypes(),
                          model.getFunctionType().getResults()));
    eraseWeights();
  }

  void eraseWeights() {
    auto module = model->getParentOfType<ModuleOp>();
    llvm::DenseSet<StringAttr> used;
    model.walk([&](Operation *op) {
      op->getAttrDictionary().walk([&](SymbolRefAttr symbol) {
        used.insert(symbol.getRootReference());
      });
    });
    for (WeightOp weight :
         llvm::make_early_inc_range(module.getOps<WeightOp>()))
      if (!used.contains(weight.getSymNameAttr()))
        weight.erase();
  }

  Block &body() { return model.getBlock(); }

  ModelOp model;
  int64_t begin, end;
};

} // namespace

std::string sliceLayers(ModelOp model, int64_t begin, int64_t end) {
  return LayerSlicer(model, begin, end).run();
}

} // namespace attnc
