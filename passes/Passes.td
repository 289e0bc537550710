//===- Passes.td - passes on attn graphs ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Sorted by their place in the pipeline (passes/Pipelines.h). Every description
// shows what the pass does on an example that is also a test of it.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_TD
#define ATTNC_PASSES_TD

include "mlir/Pass/PassBase.td"

/// A pass that records its decisions (passes/Support/Report.h).
class AttnPass<string flag> : Pass<flag, "ModuleOp"> {
  let dependentDialects = ["::mlir::attn::AttnDialect"];
}

def RemarksOption : Option<"remarks", "remarks", "Remarks", /*default=*/"Remarks::Refused",
    "Which decisions to emit as remarks when no report collects them",
    [{::llvm::cl::values(
        clEnumValN(Remarks::None, "none", "No remarks"),
        clEnumValN(Remarks::Refused, "refused", "What was not done, and why"),
        clEnumValN(Remarks::All, "all", "Every decision"))}]>;

class BalanceOption<string what> : Option<"balance", "balance", "int64_t", /*default=*/"200",
    "FLOP that cost as much as one " # what>;

def DecoupleRope : AttnPass<"attn-decouple-rope"> {
  let summary = "Split concatenated queries and keys into position-free and rotated parts";
  let description = [{
    An attend over keys that are a concatenation becomes one over parts, with the
    query sliced to match: the score is a sum over channels, so the results are
    the same. The position-free part is then a plain linear image of what it was
    projected from, which `attn-absorb-weights` needs. On the way,

    - a slice off the rotated channels of a rope is a slice of its input, and a
      slice of exactly the rotated channels is a rope of a slice;
    - a projection that is read only through slices that attends use as keys or
      values becomes one projection per slice, each with its row ranges.

    A rotation of whole up-projected keys cannot be decoupled; a remark says so.

    Before:

    ```mlir
    %kv = attn.linear %c, @kv_b : (!attn.stream<512>) -> !attn.stream<16x256>
    %kn = attn.slice %kv [0, 128] : !attn.stream<16x256> -> !attn.stream<16x128>
    %k = attn.concat %kn, %kr : (!attn.stream<16x128>, !attn.stream<64>) -> !attn.stream<16x192>
    %o = attn.attend scale 0.07 causal (%q, %k : !attn.stream<16x192>, !attn.stream<16x192>)
      values %v : !attn.stream<16x128> -> !attn.stream<16x128>
    ```

    After:

    ```mlir
    %kn = attn.linear %c, @kv_b groups 16 rows [0, 128] : (!attn.stream<512>) -> !attn.stream<16x128>
    %o = attn.attend scale 0.07
      causal (%qn, %kn : !attn.stream<16x128>, !attn.stream<16x128>),
             (%qr, %kr : !attn.stream<16x64>, !attn.stream<64>)
      values %v : !attn.stream<16x128> -> !attn.stream<16x128>
    ```
  }];
  let options = [RemarksOption];
}

def ShareStreams : AttnPass<"attn-share-streams"> {
  let summary = "Merge ops that compute the same stream; drop what nobody reads";
  let description = [{
    Ops are pure, so two that agree in everything but `layer`, `attn.id` and
    `attn.trace` are one stream: two layers that read one source hold one cache.
    The earlier op stays, with the lowest layer. Ops with different traces stay
    apart. Ops without readers go, unless they are traced, then weights without
    readers.

    Before:

    ```mlir
    %k2 = attn.linear %x, @k {layer = 2 : i64} : (!attn.stream<64>) -> !attn.stream<64>
    %k3 = attn.linear %x, @k {layer = 3 : i64} : (!attn.stream<64>) -> !attn.stream<64>
    ```

    After:

    ```mlir
    %k2 = attn.linear %x, @k {layer = 2 : i64} : (!attn.stream<64>) -> !attn.stream<64>
    ```
  }];
  let options = [RemarksOption];
}

def ChooseStorage : AttnPass<"attn-choose-storage"> {
  let summary = "Decide in which format each stream would be stored if it were kept";
  let description = [{
    Sets `attn.storage` on every op with a stream, and on the model's arguments:
    under `published` the format of an attn.round for its result and
    `default-format` for the rest; under `bf16` and `exact` bf16 and f32 for all.
    The latter two replace the roundings of the model, which go.

    Before:

    ```mlir
    %c8 = attn.round %c to <e4m3, block = 64, scale = e8m0> : !attn.stream<512>
    ```

    After, with `storage=published`:

    ```mlir
    %c8 = attn.round %c to <e4m3, block = 64, scale = e8m0> {attn.storage = #attn.format<e4m3, block = 64, scale = e8m0>} : !attn.stream<512>
    ```
  }];
  let options = [
    Option<"storage", "storage", "Storage", /*default=*/"Storage::Published",
      "Where formats come from",
      [{::llvm::cl::values(
          clEnumValN(Storage::Exact, "exact", "f32, no rounding anywhere"),
          clEnumValN(Storage::BF16, "bf16", "bf16 for every stream"),
          clEnumValN(Storage::Published, "published", "as the model's roundings say"))}]>,
    Option<"defaultFormat", "default-format", "std::string", /*default=*/"\"bf16\"",
      "Format of streams without a rounding under `published`">,
    RemarksOption];
}

def SplitForms : AttnPass<"attn-split-forms"> {
  let summary = "Clone each model into a decode and a prefill form";
  let description = [{
    @m stays as the decode form, @m.prefill (`form = "prefill"`) is its copy.
    Every op gets an `attn.id` first, so that a stream that is kept in the decode
    form is found again in the other, whatever later passes did to each.

    Before:

    ```mlir
    attn.model @m(%x: !attn.stream<4>) -> !attn.stream<4> {
      %y = attn.linear %x, @w : (!attn.stream<4>) -> !attn.stream<4>
      attn.return %y : !attn.stream<4>
    }
    ```

    After:

    ```mlir
    attn.model @m(%x: !attn.stream<4>) -> !attn.stream<4> {
      %y = attn.linear %x, @w {attn.id = 0 : i64} : (!attn.stream<4>) -> !attn.stream<4>
      attn.return %y : !attn.stream<4>
    }
    attn.model @m.prefill(%x: !attn.stream<4>) -> !attn.stream<4> attributes {form = "prefill"} {
      %y = attn.linear %x, @w {attn.id = 0 : i64} : (!attn.stream<4>) -> !attn.stream<4>
      attn.return %y : !attn.stream<4>
    }
    ```
  }];
}

def AbsorbWeights : AttnPass<"attn-absorb-weights"> {
  let summary = "Attend over what keys and values are projected from";
  let description = [{
    With keys M c and values N c of an entry, q.(M c) = (M^T q).c and
    sum_e p_e (N c_e) = N (sum_e p_e c_e): the key projection moves to the query,
    the value projection behind the sum, and the rows shrink to c. The scale is
    that of the unabsorbed scores and does not change.

    Legal only if

    - nothing but the projection lies between c and the attend, with one matrix
      per query head (heads that share keys in runs have no such form);
    - a key bias comes with one source, no sink and no score map: it then adds the
      same q.b to every score, which softmax ignores;
    - a value bias comes with no sink and no score map, and a source that always
      shows the token itself: the weights then sum to 1;
    - all sources share one value projection;
    - key and value side of a source move together, or one of them reads c already.

    A projection of a projection is absorbed step by step, as deep as it pays;
    that chooses the order in which the products associate.

    With `absorb=cost`, the decode form weighs, per visible entry, the bytes of
    the rows plus FLOP over `balance`; the prefill form the FLOP of `chunk` new
    tokens at `context`, with every projection that is not absorbed rebuilt once
    per entry from the rows that the decode form keeps. The prefill form is
    never absorbed deeper than its decode form, whose rows it reads.

    Before:

    ```mlir
    %k = attn.linear %c, @kv_b groups 16 rows [0, 128] : (!attn.stream<512>) -> !attn.stream<16x128>
    %v = attn.linear %c, @kv_b groups 16 rows [128, 128] : (!attn.stream<512>) -> !attn.stream<16x128>
    %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<16x128>, !attn.stream<16x128>)
      values %v : !attn.stream<16x128> -> !attn.stream<16x128>
    ```

    After:

    ```mlir
    %q1 = attn.linear %q, @kv_b groups 16 rows [0, 128] transpose : (!attn.stream<16x128>) -> !attn.stream<16x512>
    %o1 = attn.attend scale 0.5 causal (%q1, %c : !attn.stream<16x512>, !attn.stream<512>)
      values %c : !attn.stream<512> -> !attn.stream<16x512>
    %o = attn.linear %o1, @kv_b groups 16 rows [128, 128] : (!attn.stream<16x512>) -> !attn.stream<16x128>
    ```
  }];
  let options = [
    Option<"form", "form", "Form", /*default=*/"Form::Decode", "The models to work on",
      [{::llvm::cl::values(clEnumValN(Form::Decode, "decode", "Decode forms"),
                           clEnumValN(Form::Prefill, "prefill", "Prefill forms"))}]>,
    Option<"absorb", "absorb", "Absorb", /*default=*/"Absorb::Cost", "When to absorb",
      [{::llvm::cl::values(clEnumValN(Absorb::Cost, "cost", "Where it is cheaper"),
                           clEnumValN(Absorb::Always, "always", "Where it is legal"),
                           clEnumValN(Absorb::Never, "never", "Nowhere"))}]>,
    BalanceOption<"byte of a row">,
    Option<"context", "context", "int64_t", /*default=*/"4096",
      "Visible tokens that the prefill form is weighed at">,
    Option<"chunk", "chunk", "int64_t", /*default=*/"512",
      "New tokens that the prefill form is weighed at">,
    RemarksOption];
}

def InferCaches : AttnPass<"attn-infer-caches"> {
  let summary = "Find the streams that must outlive a step: the KV cache as a minimum cut";
  let description = [{
    What history operands of the decode form read must be there when an old token
    is read: kept then, or computed again from what is kept. For each stream the
    choice costs its stored bytes per token, or the FLOP of the op that makes it,
    plus having that op's inputs; inputs of the model, results of externs and of
    ops that read history cannot be computed again. The cheapest choice is a
    minimum cut, found with exact integers.

    - `cut=cost`: bytes + FLOP / `balance`, then bytes; `bytes`: bytes, then FLOP;
      `flops`: FLOP, then bytes. Then the fewest ops to compute again; of equal
      cuts the one nearest the readers.
    - Streams that all history must reach are paged. Streams that only windows
      reach become rings, after the paged ones and the wider windows, whose rows
      cost nothing then.
    - Kept streams of one rate, lifetime and set of readers form one row.
    - An op that folds its history needs no old elements, but a state: for a part
      of an attn.compress at block offset -o, o + 1 open blocks with three f32
      rows each, a running softmax (acc, max, sum).

    Each kept stream's op (or the model's argument) gets `attn.keep`, each op that
    folds `attn.state`, in both forms of a split model; `attn.storage` (bf16 where
    absent) is used up.

    Before:

    ```mlir
    %k = attn.linear %x, @k : (!attn.stream<64>) -> !attn.stream<2x16>
    %v = attn.linear %x, @v : (!attn.stream<64>) -> !attn.stream<2x16>
    %o = attn.attend scale 0.25 causal (%q, %k : !attn.stream<4x16>, !attn.stream<2x16>)
      values %v : !attn.stream<2x16> -> !attn.stream<4x16>
    ```

    After:

    ```mlir
    %k = attn.linear %x, @k {attn.keep = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 0 : i64, name = "key", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}} : (!attn.stream<64>) -> !attn.stream<2x16>
    %v = attn.linear %x, @v {attn.keep = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 0 : i64, name = "value", readers = array<i64: 0>, rows = 0 : i64, segment = 1 : i64}} : (!attn.stream<64>) -> !attn.stream<2x16>
    %o = attn.attend scale 0.25 causal (%q, %k : !attn.stream<4x16>, !attn.stream<2x16>)
      values %v : !attn.stream<2x16> -> !attn.stream<4x16>
    ```
  }];
  let options = [
    Option<"cut", "cut", "Cut", /*default=*/"Cut::Cost", "What the cut minimises first",
      [{::llvm::cl::values(clEnumValN(Cut::Cost, "cost", "bytes + FLOP / balance"),
                           clEnumValN(Cut::Bytes, "bytes", "Stored bytes"),
                           clEnumValN(Cut::Flops, "flops", "FLOP to compute again"))}]>,
    BalanceOption<"stored byte">,
    RemarksOption];
}

def MaterializeStorage : AttnPass<"attn-materialize-storage"> {
  let summary = "Round kept streams to the format they are stored in";
  let description = [{
    Puts attn.round on each kept stream that has none, in both forms, and moves
    `attn.keep` to it, so that storage is part of the values: every reader, the
    current token's too, sees what a later step will read back. f32 means no
    rounding.

    Before:

    ```mlir
    %c = attn.linear %x, @w {attn.keep = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 0 : i64, name = "latent", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}} : (!attn.stream<4>) -> !attn.stream<4>
    ```

    After:

    ```mlir
    %c = attn.linear %x, @w : (!attn.stream<4>) -> !attn.stream<4>
    %r = attn.round %c to <bf16> {attn.keep = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 0 : i64, name = "latent", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}} : !attn.stream<4>
    ```
  }];
  let options = [RemarksOption];
}

def VerifyForm : AttnPass<"attn-verify-form"> {
  let summary = "Check what the next stage assumes";
  let description = [{
    Changes nothing; fails with a diagnostic where the module is not in the form:

    - `graph`: from the frontend. Models carry no `attn.keep` and no `attn.id`.
    - `decoupled`: `graph`, and no attend reads a concatenation as keys.
    - `planned`: ready for `convert-attn-to-kv`. Each cache's segments are
      complete and agree on it; a kept stream is rounded to its format; all that
      history operands read is kept, or a pure per-token function of what is
      kept; each op that folds its history has a state of its size; the prefill
      form keeps exactly what the decode form keeps.
  }];
  let options = [
    Option<"stage", "stage", "Stage", /*default=*/"Stage::Graph", "The form to check",
      [{::llvm::cl::values(clEnumValN(Stage::Graph, "graph", "From the frontend"),
                           clEnumValN(Stage::Decoupled, "decoupled", "Keys are in parts"),
                           clEnumValN(Stage::Planned, "planned", "Caches are decided"))}]>];
}

def ConvertAttnToKv : Pass<"convert-attn-to-kv", "ModuleOp"> {
  let summary = "From a plan to caches and a step";
  let description = [{
    Needs the form `planned` (attn-verify-form). The rows that `attn.keep` speaks
    of become `kv.cache` symbols, the two forms of a model the bodies of one
    `kv.step`:

    - a source of an attend reads kept streams as rows; what it reads and is not
      kept is rebuilt from rows by the per-token ops in between;
    - pages are appended to as soon as the row is computed, then read; a ring is
      read as it was, next to the chunk's own streams, and written after its last
      reader;
    - equal forms are one body. Of different ones the prefill body serves
      sequences with at least `threshold` new tokens, by default the least number
      for which it takes fewer FLOP at `context` visible tokens.

    Before:

    ```mlir
    attn.model @m(%x: !attn.stream<4>) -> !attn.stream<2x4> {
      %q = attn.linear %x, @q : (!attn.stream<4>) -> !attn.stream<2x4>
      %c = attn.linear %x, @w {attn.keep = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "latent", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}} : (!attn.stream<4>) -> !attn.stream<4>
      %o = attn.attend scale 0.5 causal (%q, %c : !attn.stream<2x4>, !attn.stream<4>)
        values %c : !attn.stream<4> -> !attn.stream<2x4>
      attn.return %o : !attn.stream<2x4>
    }
    ```

    After:

    ```mlir
    kv.cache @layers.0.main paged row [#kv.segment<"latent", 4, #attn.format<f32>>] {readers = array<i64: 0>}
    kv.step @m(!attn.stream<4>) -> (!attn.stream<2x4>) decode {
    ^bb0(%x: !attn.stream<4>):
      %q = attn.linear %x, @q : (!attn.stream<4>) -> !attn.stream<2x4>
      %c = attn.linear %x, @w : (!attn.stream<4>) -> !attn.stream<4>
      kv.append %c to @layers.0.main {layer = 0 : i64} : !attn.stream<4>
      %s = kv.attend_init : !kv.state<2x4>
      %r = kv.read @layers.0.main[0] : !kv.rows<4>
      %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x4>)
        keys (%r : !kv.rows<4>) value %r : !kv.rows<4> -> !kv.state<2x4>
      %o = kv.attend_finish %t : !kv.state<2x4> -> !attn.stream<2x4>
      kv.return %o : !attn.stream<2x4>
    } prefill {
    }
    ```
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::kv::KvDialect"];
  let options = [
    Option<"pageEntries", "page-size", "int64_t", /*default=*/"64", "Entries per page">,
    Option<"layout", "layout", "std::string", /*default=*/"\"token\"", "How rows lie in a page">,
    Option<"threshold", "threshold", "int64_t", /*default=*/"0",
      "New tokens from which the prefill body serves a sequence; 0: where it is cheaper">,
    Option<"context", "context", "int64_t", /*default=*/"4096",
      "Visible tokens at which the bodies are weighed">,
    RemarksOption];
}

def KvVerifyForm : Pass<"kv-verify-form", "ModuleOp"> {
  let summary = "Check what code and executors assume of a step";
  let description = [{
    Changes nothing; fails with a diagnostic unless

    - the module holds one `kv.step` and no `attn.model`;
    - its bodies hold ops of kv and per-token ops of attn only;
    - each body appends to every cache once: to pages before they are read, to
      rings after, and a window of a ring's reader fits the ring;
    - an attend's rows come from caches of one kind, and a segment is read in one
      shape everywhere;
    - a softmax state is used once.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::kv::KvDialect"];
}

#endif
