//===- CommandExplain.cpp - attnc explain ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Four parts: the graph of the input (or of one layer), what each pass changed
// and why or why not, what is kept in the end, and whose rows and picks the
// layers read.
//
//===----------------------------------------------------------------------===//

#include "passes/CachePlanning.h"
#include "passes/Work.h"
#include "tools/attnc/Compilation.h"
#include "tools/attnc/Diagnostics.h"

#include "mlir/IR/AsmState.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <set>

using namespace attnc;
using namespace mlir;

namespace {

int fail(const std::string &error) {
  printError(error);
  return kFailure;
}

bool ofLayer(Operation &op, int64_t layer) {
  return op.hasAttr(attn::kLayerAttr) && attn::getLayer(&op) == layer;
}

/// Prints the ops of `layer`, or the whole module without one.
void printGraph(ModuleOp module, std::optional<int64_t> layer) {
  if (!layer) {
    module->print(llvm::outs());
    llvm::outs() << '\n';
    return;
  }
  attn::ModelOp model = findModel(module);
  AsmState state(module);
  for (Operation &op : model.getBlock())
    if (ofLayer(op, *layer)) {
      llvm::outs() << "  ";
      op.print(llvm::outs(), state);
      llvm::outs() << '\n';
    }
}

/// True if `entry` is about `layer`, or about the model as a whole.
bool concerns(const attn::ReportEntry &entry, const Invocation &invocation) {
  if (!invocation.pass.empty() && entry.pass != invocation.pass)
    return false;
  return !invocation.layer || entry.layer < 0 || entry.layer == *invocation.layer;
}

/// Prints decisions; those that many layers share are printed once, with their
/// layers.
void printDecisions(const attn::PassReport &report, const Invocation &invocation) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<int64_t>> layers;
  for (const attn::ReportEntry &entry : report.entries) {
    if (!concerns(entry, invocation))
      continue;
    std::string key = entry.pass + (entry.model.empty() ? "" : " @" + entry.model) + ": " +
                      attn::stringify(entry.kind).str() + ": " + entry.text;
    auto [it, isNew] = layers.try_emplace(key);
    if (isNew)
      order.push_back(key);
    if (entry.layer >= 0 && (it->second.empty() || it->second.back() != entry.layer))
      it->second.push_back(entry.layer);
  }
  for (const std::string &key : order) {
    const std::vector<int64_t> &list = layers[key];
    std::string where;
    if (list.size() == 1)
      where = "layer " + std::to_string(list[0]) + ": ";
    else if (!list.empty())
      where = std::to_string(list.size()) + " layers (" + std::to_string(list.front()) + " to " +
              std::to_string(list.back()) + "): ";
    std::printf("  %s%s\n", where.c_str(), key.c_str());
  }
}

void printCounts(const attn::PassReport &report, const std::string &pass) {
  for (const auto &[name, counts] : report.counts) {
    if (!pass.empty() && name != pass)
      continue;
    std::string text;
    for (const auto &[what, n] : counts)
      text += (text.empty() ? "" : ", ") + what + " " + std::to_string(n);
    std::printf("  %-28s %s\n", name.c_str(), text.c_str());
  }
}

/// "ring of 128 rows", "paged every 4"
std::string describeKind(const CacheDesc &cache) {
  std::string text(stringify(cache.kind));
  if (cache.kind != CacheKind::Paged)
    return text + " of " + std::to_string(cache.rows) + " rows";
  return cache.every == 1 ? text : text + " every " + std::to_string(cache.every);
}

void printCaches(const std::vector<CacheDesc> &caches, std::optional<int64_t> layer) {
  for (const CacheDesc &cache : caches) {
    if (layer && cache.layer != *layer &&
        std::find(cache.readers.begin(), cache.readers.end(), *layer) == cache.readers.end())
      continue;
    std::string segments;
    for (const Segment &s : cache.segments)
      segments += (segments.empty() ? "" : " | ") + s.name + " " + std::to_string(s.channels) +
                  " x " + s.format.str();
    std::printf("  %-24s %s, %lld bytes a row: %s\n", cache.name.c_str(),
                describeKind(cache).c_str(), (long long)cache.rowBytes, segments.c_str());
  }
}

/// "of layer 2", or "of its own" where that is the layer itself.
std::string ownerText(int64_t owner, int64_t layer) {
  return owner == layer ? "of its own" : "of layer " + std::to_string(owner);
}

/// Prints who owns rows and picks and who reads them; layers that do the same
/// share a line.
void printLayers(const std::vector<attn::LayerKind> &kinds, std::optional<int64_t> wanted) {
  std::vector<std::pair<std::string, std::string>> lines; // text, layers
  for (const attn::LayerKind &kind : kinds) {
    if (wanted && kind.layer != *wanted)
      continue;
    std::string text = kind.kind;
    if (kind.kvSource >= 0)
      text += ": rows " + ownerText(kind.kvSource, kind.layer);
    if (kind.indexSource >= 0)
      text += ", picks " + ownerText(kind.indexSource, kind.layer);
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](auto &known) { return known.first == text; });
    if (line == lines.end())
      line = lines.insert(lines.end(), {text, ""});
    line->second += (line->second.empty() ? "" : ", ") + std::to_string(kind.layer);
  }
  for (const auto &[text, layers] : lines)
    std::printf("  %s: layers %s\n", text.c_str(), layers.c_str());
}

} // namespace

int attnc::runExplain(const Invocation &invocation) {
  auto compilation = Compilation::create(invocation.inputs[0], invocation, "published");
  if (!compilation)
    return fail(compilation.error());
  Compilation &c = **compilation;
  if (invocation.layer && *invocation.layer >= c.info().layers)
    return fail(invocation.inputs[0] + ": --layer: found " + std::to_string(*invocation.layer) +
                "; expected a layer below " + std::to_string(c.info().layers));
  if (std::string error = c.plan(); !error.empty())
    return fail(error);
  FailureOr<std::vector<CacheDesc>> caches =
      attn::planOf(c.planned(), c.planOptions().pageEntries, c.planOptions().layout);
  if (failed(caches))
    return fail(c.info().file + ": the plan is malformed");

  std::set<std::string> passes;
  for (const auto &[name, counts] : c.report().counts)
    passes.insert(name);
  if (!invocation.pass.empty() && !passes.count(invocation.pass)) {
    std::string list;
    for (const std::string &name : passes)
      list += (list.empty() ? "" : ", ") + name;
    return fail("--pass: found '" + invocation.pass + "'; expected one of " + list);
  }
  if (invocation.pass.empty()) {
    std::printf("%s (%s): the graph%s\n", c.info().name.c_str(), c.info().modelType.c_str(),
                invocation.layer ? (" of layer " + std::to_string(*invocation.layer)).c_str() : "");
    std::fflush(stdout);
    printGraph(c.graph(), invocation.layer);
    llvm::outs().flush();
    std::printf("\n");
  }
  std::printf("what the passes did\n");
  printCounts(c.report(), invocation.pass);
  printDecisions(c.report(), invocation);
  if (invocation.pass.empty()) {
    std::printf("\nwhat is kept\n");
    printCaches(*caches, invocation.layer);
    std::printf("\nwhat the layers read\n");
    printLayers(attn::layerKindsOf(c.planned()), invocation.layer);
    for (const std::string &note : c.info().notes)
      std::printf("note: %s\n", note.c_str());
  }
  return kSuccess;
}
