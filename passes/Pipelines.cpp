//===- Pipelines.cpp - from a graph to a plan ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Names of options
//===----------------------------------------------------------------------===//

template <typename EnumT>
using Names = ArrayRef<std::pair<EnumT, StringRef>>;

static constexpr std::pair<Storage, StringRef> kStorages[] = {
    {Storage::Exact, "exact"}, {Storage::BF16, "bf16"}, {Storage::Published, "published"}};
static constexpr std::pair<Absorb, StringRef> kAbsorbs[] = {
    {Absorb::Cost, "cost"}, {Absorb::Always, "always"}, {Absorb::Never, "never"}};
static constexpr std::pair<Cut, StringRef> kCuts[] = {
    {Cut::Cost, "cost"}, {Cut::Bytes, "bytes"}, {Cut::Flops, "flops"}};

template <typename EnumT>
static std::optional<EnumT> parse(Names<EnumT> names, StringRef text) {
  for (auto &[value, name] : names)
    if (name == text)
      return value;
  return std::nullopt;
}

template <typename EnumT>
static StringRef nameOf(Names<EnumT> names, EnumT wanted) {
  return llvm::find_if(names, [&](auto &entry) { return entry.first == wanted; })->second;
}

std::optional<Storage> attn::parseStorage(StringRef text) {
  return parse<Storage>(kStorages, text);
}
std::optional<Absorb> attn::parseAbsorb(StringRef text) { return parse<Absorb>(kAbsorbs, text); }
std::optional<Cut> attn::parseCut(StringRef text) { return parse<Cut>(kCuts, text); }
StringRef attn::stringify(Storage storage) { return nameOf<Storage>(kStorages, storage); }
StringRef attn::stringify(Absorb absorb) { return nameOf<Absorb>(kAbsorbs, absorb); }
StringRef attn::stringify(Cut cut) { return nameOf<Cut>(kCuts, cut); }

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

static void addCheck(OpPassManager &manager, const PlanOptions &options, Stage stage) {
  if (!options.verifyEach)
    return;
  VerifyFormOptions check;
  check.stage = stage;
  manager.addPass(createVerifyForm(check));
}

void attn::buildPlanPipeline(OpPassManager &manager, const PlanOptions &options,
                             PassReport *report) {
  addCheck(manager, options, Stage::Graph);
  manager.addPass(createDecoupleRope({}, report));
  manager.addPass(createShareStreams({}, report));
  addCheck(manager, options, Stage::Decoupled);

  ChooseStorageOptions storage;
  storage.storage = options.storage;
  manager.addPass(createChooseStorage(storage, report));
  manager.addPass(createSplitForms());

  AbsorbWeightsOptions absorb;
  absorb.absorb = options.absorb, absorb.balance = options.balance;
  absorb.context = options.context, absorb.chunk = options.chunk;
  for (Form form : {Form::Decode, Form::Prefill}) {
    absorb.form = form;
    manager.addPass(createAbsorbWeights(absorb, report));
  }
  // What absorption left without readers.
  manager.addPass(createShareStreams({}, report));

  InferCachesOptions caches;
  caches.cut = options.cut, caches.balance = options.balance;
  manager.addPass(createInferCaches(caches, report));
  manager.addPass(createMaterializeStorage({}, report));
  addCheck(manager, options, Stage::Planned);
}

LogicalResult attn::planModule(ModuleOp module, const PlanOptions &options, PassReport &report) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  buildPlanPipeline(manager, options, &report);
  return manager.run(module);
}

void attn::buildLowerPipeline(OpPassManager &manager, const PlanOptions &options,
                              PassReport *report) {
  addCheck(manager, options, Stage::Planned);
  ConvertAttnToKvOptions convert;
  convert.pageEntries = options.pageEntries, convert.layout = options.layout;
  convert.threshold = options.threshold, convert.context = options.context;
  manager.addPass(createConvertAttnToKv(convert, report));
  if (options.verifyEach)
    manager.addPass(createKvVerifyForm());
}

LogicalResult attn::lowerModule(ModuleOp module, const PlanOptions &options, PassReport &report) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  buildLowerPipeline(manager, options, &report);
  return manager.run(module);
}

namespace {

/// The plan options on a command line.
struct PlanPipelineOptions : PassPipelineOptions<PlanPipelineOptions> {
  Option<Storage> storage{*this, "storage", llvm::cl::desc("How kept streams are stored"),
                          llvm::cl::init(Storage::Published),
                          llvm::cl::values(clEnumValN(Storage::Exact, "exact", ""),
                                           clEnumValN(Storage::BF16, "bf16", ""),
                                           clEnumValN(Storage::Published, "published", ""))};
  Option<Absorb> absorb{*this, "absorb", llvm::cl::desc("When to absorb projections"),
                        llvm::cl::init(Absorb::Cost),
                        llvm::cl::values(clEnumValN(Absorb::Cost, "cost", ""),
                                         clEnumValN(Absorb::Always, "always", ""),
                                         clEnumValN(Absorb::Never, "never", ""))};
  Option<Cut> cut{*this, "cut", llvm::cl::desc("What the cut minimises first"),
                  llvm::cl::init(Cut::Cost),
                  llvm::cl::values(clEnumValN(Cut::Cost, "cost", ""),
                                   clEnumValN(Cut::Bytes, "bytes", ""),
                                   clEnumValN(Cut::Flops, "flops", ""))};
  Option<int64_t> balance{*this, "balance", llvm::cl::desc("FLOP per stored byte"),
                          llvm::cl::init(200)};
  Option<int64_t> context{*this, "context", llvm::cl::desc("Visible tokens of the prefill form"),
                          llvm::cl::init(4096)};
  Option<int64_t> chunk{*this, "chunk", llvm::cl::desc("New tokens of the prefill form"),
                        llvm::cl::init(512)};
};

} // namespace

void attn::registerPipelines() {
  PassPipelineRegistration<PlanPipelineOptions>(
      "attn-plan", "From a graph to a plan: what is kept, and in what bytes",
      [](OpPassManager &manager, const PlanPipelineOptions &from) {
        PlanOptions options;
        options.storage = from.storage, options.absorb = from.absorb, options.cut = from.cut;
        options.balance = from.balance, options.context = from.context;
        options.chunk = from.chunk;
        options.verifyEach = true;
        buildPlanPipeline(manager, options);
      });
}
