//===- Project.cpp - the project kernel of CPU code -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An item is one panel of outputs for some tokens. Inputs are taken a block at a
// time: that part of the panel stays in the first cache while all tokens of a
// chunk pass over it, and the partial sums of blocks are added up apart, which
// keeps the rounding error small. The inputs of the tokens that are summed side
// by side are copied together first: their rows are often a large power of two
// apart and would push each other out of the cache.
//
//===----------------------------------------------------------------------===//
#include "codegen/CPU/Emitters.h"
#include "codegen/CPU/Kernel.h"
#include "codegen/CPU/TileChoice.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace attnc::cpu {
namespace {

class ProjectWriter {
public:
  ProjectWriter(KernelScope &kernel, const ProjectSpec &spec, const ProjectChoice &choice)
      : e(kernel.e), spec(spec), choice(choice), vectors(choice.panel / kernel.e.lanes()) {
    x = kernel.view();
    y = kernel.view();
    panels = kernel.floats();
    bias = kernel.floats();
    item = kernel.integer();
    from = kernel.integer();
    to = kernel.integer();
  }
  void write();

private:
  void addBlocks(Val token, Val count, Val depth, Val length);
  void addBlock(Val token, Val row, Val depth, Val length, int64_t tokens);
  void addSingle(Val token, Val row, Val depth, Val length);
  void copyInputs(Val token, Val depth, Val length, int64_t tokens);
  void putAway(Val token, Val count);
  void storeOutputs(Mem sums, Mem out, Mem addend, int64_t outputs);

  Mem input(Val token) {
    return spec.sharedInput ? x.row(token) : x.row(token, group);
  }
  Vals panelRow(Val depth) {
    Vals row;
    for (int64_t v = 0; v < vectors; ++v)
      row.push_back(panel.load(depth * choice.panel + v * e.lanes(), e.lanes()));
    return row;
  }
  int64_t inputStride() const { return choice.depth + e.lanes(); }
  Mem local(int64_t count) {
    auto type = MemRefType::get({count}, e.f32Type());
    auto alignment = e.b.getI64IntegerAttr(64);
    return {&e, e.b.create<memref::AllocaOp>(e.loc, type, alignment), Val()};
  }
  void addTo(Mem sum, ArrayRef<Val> values) {
    for (auto [v, value] : llvm::enumerate(values)) {
      Val at = e.index(int64_t(v) * e.lanes());
      sum.store(sum.load(at, e.lanes()) + value, at);
    }
  }

  Emit &e;
  const ProjectSpec &spec;
  const ProjectChoice &choice;
  const int64_t vectors;
  ViewArg x, y;
  Mem panels, bias, panel;
  Mem partial; ///< [tokens of a chunk][panel]
  Mem inputs;  ///< [tokens of a block][inputStride()]
  Val item, from, to, group, first;
};

void ProjectWriter::write() {
  int64_t perGroup = (spec.out + choice.panel - 1) / choice.panel;
  int64_t chunk = choice.tokens * choice.blocks;
  group = item / perGroup;
  first = item % perGroup * choice.panel;
  panel = panels.at(item * (spec.in * choice.panel));
  partial = local(chunk * choice.panel);
  inputs = local(choice.tokens * inputStride());
  Val zero = e.splat(e.f32(0), e.lanes());
  e.loop(from, to, chunk, [&](Val token) {
    Val count = e.min(to - token, e.index(chunk));
    e.loop(e.index(0), count * choice.panel, e.lanes(),
           [&](Val i) { partial.store(zero, i); });
    e.loop(e.index(0), e.index(spec.in), choice.depth, [&](Val depth) {
      addBlocks(token, count, depth, e.min(e.index(spec.in) - depth, e.index(choice.depth)));
    });
    putAway(token, count);
  });
}

/// Adds inputs [depth, depth + length) of `count` tokens: as many as registers
/// hold at a time, then a few, then one by one.
void ProjectWriter::addBlocks(Val token, Val count, Val depth, Val length) {
  Val done = e.index(0);
  for (int64_t tokens : {choice.tokens, choice.tokens / 3}) {
    Val end = count / tokens * tokens;
    e.loop(done, end, tokens,
           [&](Val row) { addBlock(token + row, row, depth, length, tokens); });
    done = end;
  }
  e.loop(done, count, 1, [&](Val row) { addSingle(token + row, row, depth, length); });
}

void ProjectWriter::addBlock(Val token, Val row, Val depth, Val length, int64_t tokens) {
  copyInputs(token, depth, length, tokens);
  Vals zeros(tokens * vectors, e.splat(e.f32(0), e.lanes()));
  Vals sums = e.loop(e.index(0), length, 1, zeros, [&](Val k, ArrayRef<Val> so) {
    Vals weights = panelRow(depth + k), next;
    for (int64_t i = 0; i < tokens; ++i) {
      Val value = e.splat(inputs.load(k + i * inputStride()), e.lanes());
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(e.fma(value, weights[v], so[i * vectors + v]));
    }
    return next;
  });
  for (int64_t i = 0; i < tokens; ++i)
    addTo(partial.at((row + i) * choice.panel),
          ArrayRef<Val>(sums).slice(i * vectors, vectors));
}

void ProjectWriter::copyInputs(Val token, Val depth, Val length, int64_t tokens) {
  Val whole = length / e.lanes() * e.lanes();
  for (int64_t i = 0; i < tokens; ++i) {
    Mem in = input(token + i).at(depth), out = inputs.at(i * inputStride());
    e.loop(e.index(0), whole, e.lanes(), [&](Val k) { out.store(in.load(k, e.lanes()), k); });
    e.loop(whole, length, 1, [&](Val k) { out.store(in.load(k), k); });
  }
}

/// One token leaves the multipliers idle unless several sums run side by side.
void ProjectWriter::addSingle(Val token, Val row, Val depth, Val length) {
  int64_t chains = choice.chains;
  Mem in = input(token).at(depth);
  Vals zeros(chains * vectors, e.splat(e.f32(0), e.lanes()));
  auto step = [&](Val k, Val *so) {
    Val value = e.splat(in.load(k), e.lanes());
    for (auto [v, weight] : llvm::enumerate(panelRow(depth + k)))
      so[v] = e.fma(value, weight, so[v]);
  };
  Val whole = length / chains * chains;
  Vals sums = e.loop(e.index(0), whole, chains, zeros, [&](Val k, ArrayRef<Val> so) {
    Vals next(so);
    for (int64_t i = 0; i < chains; ++i)
      step(k + i, &next[i * vectors]);
    return next;
  });
  for (int64_t width = chains / 2; width; width /= 2)
    for (int64_t i = 0; i < width * vectors; ++i)
      sums[i] = sums[i] + sums[width * vectors + i];
  sums.truncate(vectors);
  sums = e.loop(whole, length, 1, sums, [&](Val k, ArrayRef<Val> so) {
    Vals next(so);
    step(k, next.data());
    return next;
  });
  addTo(partial.at(row * choice.panel), sums);
}

/// Outputs of the chunk's tokens, bias added. The last panel of a group may
/// stand for fewer outputs than it is wide.
void ProjectWriter::putAway(Val token, Val count) {
  int64_t rest = spec.out % choice.panel;
  Mem addend = bias.at(group * spec.out + first);
  e.loop(e.index(0), count, 1, [&](Val i) {
    Mem sums = partial.at(i * choice.panel), out = y.row(token + i, group).at(first);
    if (rest == 0)
      return storeOutputs(sums, out, addend, choice.panel);
    e.when(
        equal(first, e.index(spec.out - rest)),
        [&] { storeOutputs(sums, out, addend, rest); },
        [&] { storeOutputs(sums, out, addend, choice.panel); });
  });
}

void ProjectWriter::storeOutputs(Mem sums, Mem out, Mem addend, int64_t outputs) {
  int64_t n = e.lanes();
  for (int64_t c = 0; c < outputs; c += n) {
    while (n > outputs - c)
      n /= 2;
    Val at = e.index(c), sum = sums.load(at, n);
    out.store(spec.bias ? sum + addend.load(at, n) : sum, at);
  }
}

} // namespace

void emitProject(ModuleOp module, const std::string &name, const ProjectSpec &spec,
                 const CpuTarget &target, KernelDesc &desc) {
  ProjectChoice choice = chooseProject(spec, target);
  KernelScope kernel(module, name + bodySuffix, target);
  ProjectWriter(kernel, spec, choice).write();
  desc.params["panel"] = choice.panel;
  desc.params["tokens"] = choice.tokens * choice.blocks;
}

} // namespace attnc::cpu
