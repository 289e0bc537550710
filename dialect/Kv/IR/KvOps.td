//===- KvOps.td - the kv dialect ------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_KV_OPS_TD
#define ATTNC_DIALECT_KV_OPS_TD

include "dialect/Attn/IR/AttnTypes.td"
include "dialect/Attn/IR/AttnAttrs.td"
include "dialect/Attn/IR/AttnInterfaces.td"
include "dialect/Kv/IR/KvEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kv_Dialect : Dialect {
  let name = "kv";
  let cppNamespace = "::mlir::kv";
  let summary = "Where a graph's streams live, and what one step does";
  let description = [{
    A `kv.step` is one batch of ragged sequences. In it, a stream is the chunk of
    new tokens, and the attn ops that read no history keep their meaning: each
    element by itself. Ops that read history are replaced by ops on rows of
    caches: pages, rings and states, whose bytes the `kv.cache` symbols state.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerOps();
  }];
}

class Kv_Op<string mnemonic, list<Trait> traits = []> : Op<Kv_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

class Kv_Type<string name, string typeMnemonic> : TypeDef<Kv_Dialect, name> {
  let mnemonic = typeMnemonic;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Kv_RowsType : Kv_Type<"Rows", "rows"> {
  let summary = "Entries of one sequence as they are read back";
  let description = [{
    One element per entry of a cache, values after unpacking; features and rate
    as of the stream that was kept, or that is rebuilt from kept ones.

    Example: `!kv.rows<512>`, `!kv.rows<128x128, every 4>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "int64_t":$every);
  let extraClassDeclaration = [{
    /// The type of the entries' elements as streams, and back.
    ::mlir::attn::StreamType getStream() const {
      return ::mlir::attn::StreamType::get(getContext(), getShape(), getEvery());
    }
    static RowsType of(::mlir::attn::StreamType type) {
      return get(type.getContext(), type.getShape(), type.getEvery());
    }
    int64_t getChannels() const { return getShape().back(); }
    int64_t getHeads() const { return getShape().size() == 2 ? getShape()[0] : 1; }
    int64_t getNumFeatures() const { return getHeads() * getChannels(); }
  }];
}

def Kv_StateType : Kv_Type<"State", "state"> {
  let summary = "A softmax state for each token of the chunk";
  let description = [{
    (acc [H, d] unnormalised, max [H], sum [H]): the monoid of attention. Folding
    sources one after another and merging states give the same result.

    Example: `!kv.state<128x512>`
  }];
  let parameters = (ins "int64_t":$heads, "int64_t":$channels);
}

def Kv_SegmentAttr : AttrDef<Kv_Dialect, "Segment"> {
  let mnemonic = "segment";
  let summary = "Some channels of a row in one format";
  let description = [{
    Channels of a stream with heads count head by head. A segment named "pad"
    holds `channels` unused bytes.

    Example: `#kv.segment<"latent", 512, #attn.format<bf16>>`
  }];
  let parameters = (ins StringRefParameter<"">:$name, "int64_t":$channels, "::mlir::attn::FormatAttr":$format);
  let assemblyFormat = "`<` $name `,` $channels `,` qualified($format) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isPad() const { return getName() == "pad"; }
  }];
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Kv_CacheOp : Kv_Op<"cache", [Symbol]> {
  let summary = "The rows that a group of streams keeps";
  let description = [{
    `paged`: every entry, for ever. `ring`: the newest `rows` entries. `state`: a
    fold of `rows` rows. A row is its segments one after another; the bytes follow
    from their formats, where they lie from `layout`.

    Example:

    ```mlir
    kv.cache @layers.0.main paged row [#kv.segment<"latent", 512, #attn.format<bf16>>, #kv.segment<"rope_key", 64, #attn.format<bf16>>]
        {layer = 0 : i64, readers = array<i64: 0>}
    kv.cache @layers.1.window ring 128 row [#kv.segment<"kv", 512, #attn.format<f32>>] {layer = 1 : i64, readers = array<i64: 1>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Kv_CacheKind:$kind,
                       OptionalAttr<I64Attr>:$rows, ArrayAttr:$row,
                       DefaultValuedAttr<I64Attr, "1">:$every,
                       DefaultValuedAttr<I64Attr, "0">:$layer,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$readers,
                       DefaultValuedAttr<I64Attr, "64">:$page_entries,
                       DefaultValuedAttr<StrAttr, "\"token\"">:$layout,
                       OptionalAttr<StrAttr>:$sym_visibility);
  let assemblyFormat = "$sym_name $kind ($rows^)? `row` $row (`every` $every^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The cache as plain data, places derived; the verifier has checked it.
    ::attnc::CacheDesc getDesc();
  }];
}

def Kv_StepOp : Kv_Op<"step", [IsolatedFromAbove, Symbol,
    DeclareOpInterfaceMethods<RegionKindInterface, ["getRegionKind"]>]> {
  let summary = "What one step of the compiled model does";
  let description = [{
    Two bodies over the same caches: `decode` serves the sequences of a batch
    with fewer than `threshold` new tokens, `prefill` the others, so that any
    mixture is legal. An empty prefill region means the decode body serves all.
    Block arguments are the inputs, the bodies' returns the outputs.

    Example:

    ```mlir
    kv.step @model (!attn.stream<64>) -> (!attn.stream<64>) decode {
    ^bb0(%x: !attn.stream<64>):
      kv.return %x : !attn.stream<64>
    } prefill {
    } {threshold = 16 : i64}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       DefaultValuedAttr<I64Attr, "1">:$threshold,
                       OptionalAttr<StrAttr>:$sym_visibility);
  let regions = (region SizedRegion<1>:$decode, MaxSizedRegion<1>:$prefill);
  let assemblyFormat = [{
    $sym_name custom<StepSignature>($function_type) `decode` $decode `prefill` $prefill attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The body that serves sequences with many new tokens.
    Block &getPrefillBlock() { return getPrefill().empty() ? getDecode().front() : getPrefill().front(); }
  }];
}

def Kv_ReturnOp : Kv_Op<"return", [Terminator, ReturnLike, HasParent<"StepOp">]> {
  let summary = "The outputs of a step";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

def Kv_AppendOp : Kv_Op<"append", [MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Rounds the chunk's elements to their formats and writes their rows";
  let description = [{
    One operand per segment, in order. Paged rows are appended before they are
    read; a ring is written after its old rows were read.

    Example: `kv.append %c, %kr to @layers.0.main : !attn.stream<512>, !attn.stream<64>`
  }];
  let arguments = (ins Variadic<Attn_StreamType>:$values, FlatSymbolRefAttr:$cache);
  let assemblyFormat = "$values `to` $cache attr-dict `:` qualified(type($values))";
  let hasVerifier = 1;
}

def Kv_ReadOp : Kv_Op<"read", [MemoryEffects<[MemRead]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The rows of one segment of a cache";
  let description = [{
    A description of where rows are, not a copy: its users load tiles of it.
    From a paged cache: all entries, the chunk's included. From a ring: the
    entries that precede the chunk.

    Example: `%c = kv.read @layers.0.main [0] : !kv.rows<512>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$cache, I64Attr:$segment);
  let results = (outs Kv_RowsType:$rows);
  let assemblyFormat = "$cache `[` $segment `]` attr-dict `:` qualified(type($rows))";
}

def Kv_RebuildOp : Kv_Op<"rebuild", [Pure, SingleBlock, IsolatedFromAbove]> {
  let summary = "Rows derived from kept rows when they are read";
  let description = [{
    The body maps the elements of the operands' entries to those of the results,
    entry by entry (attn ops that read no history; positions are those of the
    entries). Users take it a tile at a time: nothing of the size of the context
    is ever built.

    Example:

    ```mlir
    %k = kv.rebuild (%c : !kv.rows<512>) -> (!kv.rows<16x128>) {
    ^bb0(%e: !attn.stream<512>):
      %y = attn.linear %e, @k_up : (!attn.stream<512>) -> !attn.stream<16x128>
      kv.yield %y : !attn.stream<16x128>
    }
    ```
  }];
  let arguments = (ins Variadic<Kv_RowsType>:$inputs);
  let results = (outs Variadic<Kv_RowsType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    ` ` `(` $inputs `:` qualified(type($inputs)) `)` `->` `(` qualified(type($results)) `)`
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Kv_YieldOp : Kv_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"RebuildOp">]> {
  let summary = "The results of a rebuild's body";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Kv_AttendInitOp : Kv_Op<"attend_init", [Pure]> {
  let summary = "The empty softmax state";
  let description = [{
    acc 0, max the lowest finite number, sum 0.

    Example: `%s = kv.attend_init : !kv.state<128x512>`
  }];
  let results = (outs Kv_StateType:$state);
  let assemblyFormat = "attr-dict `:` qualified(type($state))";
}

def Kv_AttendPartialOp : Kv_Op<"attend_partial", [
    Pure, AttrSizedOperandSegments, IsolatedFromAbove, AllTypesMatch<["state", "result"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Folds one source into a softmax state";
  let description = [{
    Keys and the value are all rows of caches of one kind and rate (read or
    rebuilt), or all streams: the chunk's own elements. Visibility as in `attn.attend`: window 0
    means every entry up to the query's token. Scores are scale * sum_p q_p . k_p,
    then the region, if any, as in `attn.attend`. With `select`, only the rows that
    the selection picks are read, of those the token sees.

    Example:

    ```mlir
    %s1 = kv.attend_partial %s0 scale 1.352338e-01 window 0
        (%qn, %qr : !attn.stream<128x512>, !attn.stream<128x64>)
        keys (%c, %kr : !kv.rows<512>, !kv.rows<64>)
        value %c : !kv.rows<512> -> !kv.state<128x512>
    ```
  }];
  let arguments = (ins Kv_StateType:$state, Variadic<Attn_StreamType>:$queries,
                       Variadic<AnyType>:$keys, AnyType:$value,
                       Optional<Attn_SelectionType>:$selection,
                       F64Attr:$scale, I64Attr:$window,
                       OptionalAttr<ArrayAttr>:$consts);
  let results = (outs Kv_StateType:$result);
  let regions = (region MaxSizedRegion<1>:$score_map);
  let extraClassDeclaration = [{
    /// Whether the operands are rows of caches, or the chunk's own elements.
    bool readsRows() { return isa<RowsType>(getValue().getType()); }
    int64_t getEvery();
    int64_t getHeads() { return cast<StateType>(getState().getType()).getHeads(); }
  }];
  let assemblyFormat = [{
    $state `scale` $scale `window` $window ` ` `(` $queries `:` qualified(type($queries)) `)`
    `keys` ` ` `(` $keys `:` type($keys) `)` `value` $value `:` type($value)
    (`select` $selection^ `:` qualified(type($selection)))? (`consts` $consts^)? attr-dict `->` qualified(type($result)) ($score_map^)?
  }];
  let hasVerifier = 1;
}

def Kv_AttendFinishOp : Kv_Op<"attend_finish", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Divides a softmax state by its sum";
  let description = [{
    The sink, a logit per head that is not scaled, joins the sum exactly once. A
    row with sum 0 is 0.

    Example: `%o = kv.attend_finish %s sink @sinks : !kv.state<8x64> -> !attn.stream<8x64>`
  }];
  let arguments = (ins Kv_StateType:$state, OptionalAttr<FlatSymbolRefAttr>:$sink);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = "$state (`sink` $sink^)? attr-dict `:` qualified(type($state)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

def Kv_TopKOp : Kv_Op<"top_k", [Pure, AttrSizedOperandSegments]> {
  let summary = "Scores the rows of a cache and picks the best";
  let description = [{
    `attn.score` and `attn.top_k` in one, over rows of a paged cache: each token of
    the chunk scores every entry that it sees (or that is in `within`) and picks
    the highest. With a `block` other than 1, or pins, it is `attn.block_top_k`.
    Scores are nowhere as long as the context; two selectors over the same scores
    each compute them.

    Example:

    ```mlir
    %k = kv.read @layers.2.index [0] : !kv.rows<128, every 4>
    %sel = kv.top_k relu scale 1.104854e-02 (%q, %k : !attn.stream<64x128>, !kv.rows<128, every 4>)
        weights %w : !attn.stream<64> -> !attn.selection<512, every 4>
    %pool = kv.top_k relu scale 1.104854e-02 (%q, %k : !attn.stream<64x128>, !kv.rows<128, every 4>)
        block 8 max pin_newest 1 -> !attn.selection<256, every 4, block 8>
    ```
  }];
  let arguments = (ins Attn_StreamType:$query, Kv_RowsType:$key,
                       Optional<Attn_StreamType>:$weights,
                       Optional<Attn_SelectionType>:$within,
                       Attn_Activation:$activation, F64Attr:$scale,
                       DefaultValuedAttr<I64Attr, "1">:$block,
                       DefaultValuedAttr<Attn_Reduction, "::mlir::attn::Reduction::Max">:$reduction,
                       DefaultValuedAttr<I64Attr, "0">:$pin_first,
                       DefaultValuedAttr<I64Attr, "0">:$pin_newest);
  let results = (outs Attn_SelectionType:$result);
  let assemblyFormat = [{
    $activation `scale` $scale ` `
    `(` $query `,` $key `:` qualified(type($query)) `,` qualified(type($key)) `)`
    (`weights` $weights^ `:` qualified(type($weights)))?
    (`within` $within^ `:` qualified(type($within)))?
    (`block` $block^ $reduction)? (`pin_first` $pin_first^)? (`pin_newest` $pin_newest^)?
    attr-dict `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Compression
//===----------------------------------------------------------------------===//

def Kv_CompressOp : Kv_Op<"compress", [
    MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Gated pooling of the chunk, continued from a state";
  let description = [{
    `attn.compress` within a step: adds the chunk's elements to the state and
    emits the elements that they complete. Part p reads block offset `at`[p]; it
    has a gate, the next of `gates`, if `gated`[p].

    The state holds, part after part, the running softmax of the newest 1 - offset
    blocks, block b in slot b % (1 - offset): a row each of acc, max and sum.

    Example:

    ```mlir
    %c = kv.compress @layers.2.main_fold every 4 bias @ape
        values (%vb, %va : !attn.stream<512>, !attn.stream<512>) at [-1, 0]
        gates (%gb, %ga : !attn.stream<512>, !attn.stream<512>) gated [true, true]
        -> !attn.stream<512, every 4>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, Variadic<Attn_StreamType>:$values,
                       Variadic<Attn_StreamType>:$gates, I64Attr:$every,
                       DenseI64ArrayAttr:$offsets, DenseBoolArrayAttr:$gated,
                       OptionalAttr<FlatSymbolRefAttr>:$bias);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = [{
    $state `every` $every (`bias` $bias^)?
    `values` ` ` `(` $values `:` qualified(type($values)) `)` `at` $offsets
    (`gates` ` ` `(` $gates^ `:` qualified(type($gates)) `)`)? `gated` $gated
    attr-dict `->` qualified(type($result))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// acc, max and sum of one block.
    static constexpr int64_t kStateRows = 3;
    SmallVector<::mlir::attn::CompressPart> getParts();
    /// Rows of the state.
    int64_t getNumStateRows();
    /// The rate of the parts.
    int64_t getInputEvery() {
      return cast<::mlir::attn::StreamType>(getValues()[0].getType()).getEvery();
    }
  }];
}

#endif
