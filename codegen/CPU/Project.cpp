//===- Project.cpp - the project kernel of CPU code -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An item is one panel of outputs for some tokens, in chunks. Inputs are taken a
// block at a time, copied together (rows of tokens are often a large power of
// two apart and would push each other out of the cache) and used for every strip
// of the panel; the part of a strip stays in the first cache while all tokens of
// the chunk pass over it. Partial sums of blocks are added up apart, which keeps
// the rounding error small.
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
      : e(kernel.e), spec(spec), choice(choice), vectors(choice.strip / kernel.e.lanes()) {
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
  void addSingle(Val token);
  void addChunk(Val token, Val count);
  void addStrip(Val strip, Val count, Val depth, Val length);
  void addBlock(Val strip, Val row, Val depth, Val length, int64_t tokens);
  void copyInputs(Val token, Val count, Val depth, Val length);
  void prefetch(Val strip, Val part, Val parts, Val depth);
  void putAway(Val token, Val count);
  void storeOutputs(Mem sums, Mem out, Mem addend, int64_t outputs);

  Mem input(Val token) { return spec.sharedInput ? x.row(token) : x.row(token, group); }
  int64_t inputStride() const { return choice.depth + e.lanes(); }
  Val vectorAt(int64_t v) { return e.index(v * e.lanes()); }
  Mem local(int64_t count) {
    auto type = MemRefType::get({count}, e.f32Type());
    auto alignment = e.b.getI64IntegerAttr(64);
    return {&e, e.b.create<memref::AllocaOp>(e.loc, type, alignment), Val()};
  }

  Emit &e;
  const ProjectSpec &spec;
  const ProjectChoice &choice;
  const int64_t vectors; ///< of a strip
  ViewArg x, y;
  Mem panels, bias, panel;
  Mem partial; ///< [tokens of a chunk][panel]
  Mem inputs;  ///< [tokens of a chunk][inputStride()]
  Val item, from, to, group, first;
};

void ProjectWriter::write() {
  int64_t perGroup = (spec.out + choice.panel - 1) / choice.panel;
  int64_t chunk = choice.tokens * choice.blocks;
  group = item / perGroup;
  first = item % perGroup * choice.panel;
  panel = panels.at(item * (spec.in * choice.panel));
  partial = local(chunk * choice.panel);
  inputs = local(chunk * inputStride());
  e.loop(from, to, chunk, [&](Val token) {
    Val count = e.min(to - token, e.index(chunk));
    e.when(
        equal(count, e.index(1)), [&] { addSingle(token); }, [&] { addChunk(token, count); });
    putAway(token, count);
  });
}

/// One token: memory is the limit, so the panel is read in its own order, all
/// outputs at a time. Several sums run side by side even if it is narrow.
void ProjectWriter::addSingle(Val token) {
  int64_t wide = choice.panel / e.lanes(), chains = std::max<int64_t>(1, choice.sums / wide);
  Mem in = input(token);
  auto step = [&](Val k, Val *so) {
    Val value = e.splat(in.load(k), e.lanes());
    for (int64_t v = 0; v < wide; ++v)
      so[v] = e.fma(value, panel.load(k * choice.panel + v * e.lanes(), e.lanes()), so[v]);
  };
  Val zero = e.splat(e.f32(0), e.lanes()), inputs = e.index(spec.in);
  Vals none(wide, zero);
  Vals total = e.loop(e.index(0), inputs, choice.depth, none, [&](Val depth, ArrayRef<Val> old) {
    Val length = e.min(inputs - depth, e.index(choice.depth));
    Val whole = length / chains * chains;
    Vals zeros(chains * wide, zero);
    Vals sums = e.loop(depth, depth + whole, chains, zeros, [&](Val k, ArrayRef<Val> so) {
      Vals next(so);
      for (int64_t i = 0; i < chains; ++i)
        step(k + i, &next[i * wide]);
      return next;
    });
    for (int64_t half = chains / 2; half; half /= 2)
      for (int64_t i = 0; i < half * wide; ++i)
        sums[i] = sums[i] + sums[half * wide + i];
    sums.truncate(wide);
    sums = e.loop(depth + whole, depth + length, 1, sums, [&](Val k, ArrayRef<Val> so) {
      Vals next(so);
      step(k, next.data());
      return next;
    });
    for (int64_t v = 0; v < wide; ++v)
      sums[v] = sums[v] + old[v];
    return sums;
  });
  for (int64_t v = 0; v < wide; ++v)
    partial.store(total[v], vectorAt(v));
}

void ProjectWriter::addChunk(Val token, Val count) {
  Val zero = e.splat(e.f32(0), e.lanes());
  e.loop(e.index(0), count * choice.panel, e.lanes(), [&](Val i) { partial.store(zero, i); });
  e.loop(e.index(0), e.index(spec.in), choice.depth, [&](Val depth) {
    Val length = e.min(e.index(spec.in) - depth, e.index(choice.depth));
    copyInputs(token, count, depth, length);
    e.loop(e.index(0), e.index(choice.panel), choice.strip,
           [&](Val strip) { addStrip(strip, count, depth, length); });
  });
}

void ProjectWriter::copyInputs(Val token, Val count, Val depth, Val length) {
  Val whole = length / e.lanes() * e.lanes();
  e.loop(e.index(0), count, 1, [&](Val i) {
    Mem in = input(token + i).at(depth), out = inputs.at(i * inputStride());
    e.loop(e.index(0), whole, e.lanes(), [&](Val k) { out.store(in.load(k, e.lanes()), k); });
    e.loop(whole, length, 1, [&](Val k) { out.store(in.load(k), k); });
  });
}

/// Adds the copied inputs of `count` tokens to the outputs of one strip: as many
/// tokens as registers hold at a time, then a few, then one by one.
void ProjectWriter::addStrip(Val strip, Val count, Val depth, Val length) {
  Val done = e.index(0);
  for (int64_t tokens : {choice.tokens, choice.tokens / 3, int64_t(1)}) {
    Val end = count / tokens * tokens;
    e.loop(done, end, tokens, [&](Val row) {
      if (tokens == choice.tokens)
        prefetch(strip, row / tokens, count / tokens, depth);
      addBlock(strip, row, depth, length, tokens);
    });
    done = end;
  }
}

/// Asks for part `part` of the next strip. Strips are not consecutive in memory;
/// the processor does not foresee them.
void ProjectWriter::prefetch(Val strip, Val part, Val parts, Val depth) {
  int64_t strips = choice.panel / choice.strip;
  if (strips == 1)
    return;
  Val last = equal(strip, e.index(choice.panel - choice.strip));
  Val next = (e.select(last, depth + choice.depth, depth)) * choice.panel +
             e.select(last, e.index(0), strip + choice.strip);
  Val begin = part * choice.depth / parts, end = (part + 1) * choice.depth / parts;
  int64_t line = 64 / 4;
  e.loop(begin, end, 1, [&](Val k) {
    for (int64_t c = 0; c < choice.strip; c += line)
      panel.prefetch(next + k * choice.panel + c);
  });
}

void ProjectWriter::addBlock(Val strip, Val row, Val depth, Val length, int64_t tokens) {
  Mem weights = panel.at(depth * choice.panel + strip);
  Mem in = inputs.at(row * inputStride());
  Vals zeros(tokens * vectors, e.splat(e.f32(0), e.lanes()));
  Vals sums = e.loop(e.index(0), length, 1, zeros, [&](Val k, ArrayRef<Val> so) {
    Vals weight, next;
    for (int64_t v = 0; v < vectors; ++v)
      weight.push_back(weights.load(k * choice.panel + v * e.lanes(), e.lanes()));
    for (int64_t i = 0; i < tokens; ++i) {
      Val value = e.splat(in.load(k + i * inputStride()), e.lanes());
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(e.fma(value, weight[v], so[i * vectors + v]));
    }
    return next;
  });
  for (int64_t i = 0; i < tokens; ++i) {
    Mem out = partial.at((row + i) * choice.panel + strip);
    for (int64_t v = 0; v < vectors; ++v)
      out.store(out.load(vectorAt(v), e.lanes()) + sums[i * vectors + v], vectorAt(v));
  }
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
