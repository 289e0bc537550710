//===- SplitForms.cpp - a decode and a prefill form of each model ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Support/Graph.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SPLITFORMS
#include "passes/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

class SplitFormsPass : public attn::impl::SplitFormsBase<SplitFormsPass> {
public:
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (ModelOp model : llvm::make_early_inc_range(getOperation().getOps<ModelOp>())) {
      if (getForm(model) == Form::Prefill)
        continue;
      std::string name = (model.getSymName() + kPrefillSuffix).str();
      if (symbols.lookup(name)) {
        emitError(model.getLoc(), "model @")
            << model.getSymName() << " already has a prefill form @" << name
            << "; expected a model in one form";
        return signalPassFailure();
      }
      Builder builder(&getContext());
      int64_t id = 0;
      for (Operation &op : model.getBlock().without_terminator())
        op.setAttr(kIdAttr, builder.getI64IntegerAttr(id++));
      ModelOp prefill = model.clone();
      prefill.setSymName(name);
      prefill->setAttr(kFormAttr, builder.getStringAttr("prefill"));
      symbols.insert(prefill, std::next(Block::iterator(model)));
    }
  }
};

} // namespace
