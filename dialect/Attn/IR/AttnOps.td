//===- AttnOps.td - operations of the attn dialect ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_ATTN_OPS_TD
#define ATTNC_DIALECT_ATTN_OPS_TD

include "dialect/Attn/IR/AttnBase.td"
include "dialect/Attn/IR/AttnAttrs.td"
include "dialect/Attn/IR/AttnTypes.td"
include "dialect/Attn/IR/AttnInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

/// Inside a model; `layer`, if present, is a layer number.
def Attn_InGraph : NativeOpTrait<"InGraph"> {
  let cppNamespace = "::mlir::attn";
}

/// An op of a graph: pure, with work and a meaning.
class Attn_StreamOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, traits # [
        Pure, Attn_InGraph,
        DeclareOpInterfaceMethods<Attn_WorkOpInterface>,
        DeclareOpInterfaceMethods<Attn_EvaluateOpInterface>]>;

/// An op that names weights checks them against their declarations.
defvar Attn_UsesWeights = DeclareOpInterfaceMethods<SymbolUserOpInterface>;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Attn_ModelOp : Attn_Op<"model", [
    IsolatedFromAbove, Symbol, FunctionOpInterface, SingleBlock,
    DeclareOpInterfaceMethods<RegionKindInterface, ["getRegionKind"]>]> {
  let summary = "The graph of a model";
  let description = [{
    Streams in, streams out. The module that holds a model holds its weights.

    Example:

    ```mlir
    attn.weight @w : 64x64
    attn.model @identity(%x: !attn.stream<64>) -> !attn.stream<64> {
      %y = attn.linear %x, @w : (!attn.stream<64>) -> !attn.stream<64>
      attn.return %y : !attn.stream<64>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ArrayRef<Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ArrayRef<Type> getResultTypes() { return getFunctionType().getResults(); }
    Region *getCallableRegion() { return &getBody(); }
    Block &getBlock() { return getBody().front(); }
  }];
}

def Attn_ReturnOp : Attn_Op<"return", [Pure, Terminator, ReturnLike, HasParent<"ModelOp">]> {
  let summary = "The outputs of a model";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Attn_WeightOp : Attn_Op<"weight", [Symbol]> {
  let summary = "A parameter, under its name in the checkpoint";
  let description = [{
    The shape is the checkpoint's. Values are bound when the model runs.

    Example: `attn.weight @"model.layers.0.self_attn.q_proj.weight" : 512x5120`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$shape,
                       OptionalAttr<StrAttr>:$sym_visibility);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Per-token ops
//===----------------------------------------------------------------------===//

def Attn_LinearOp : Attn_StreamOp<"linear", [Attn_UsesWeights]> {
  let summary = "Projection by a weight, whole or per group";
  let description = [{
    The weight is a matrix [groups * R, I]. `rows [b, n]` takes rows b .. b+n of
    each group's R (default: all). With M_g those rows of group g:

      y[g, r] = sum_i M_g[r, i] * x[g, i]          (one input part per group)
      y[g, r] = sum_i M_g[r, i] * x[i]             (x has I channels: shared)
      y[g, i] = sum_r M_g[r, i] * x[g, r]          (transpose)

    plus `bias`, indexed like the weight's rows. The features of x and y are read
    and written in order, whatever their shape; only their number matters.

    Example:

    ```mlir
    %k = attn.linear %c, @kv_b groups 128 rows [0, 128] : (!attn.stream<512>) -> !attn.stream<128x128>
    %q = attn.linear %qn, @kv_b groups 128 rows [0, 128] transpose : (!attn.stream<128x128>) -> !attn.stream<128x512>
    ```
  }];
  let arguments = (ins Attn_StreamType:$input, FlatSymbolRefAttr:$weight,
                       OptionalAttr<FlatSymbolRefAttr>:$bias,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       OptionalAttr<DenseI64ArrayAttr>:$rows,
                       UnitAttr:$transpose);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? (`groups` $groups^)? (`rows` $rows^)?
    (`transpose` $transpose^)? attr-dict `:` functional-type($input, $result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What the op reads of its weight, resolved against its declaration.
    struct Geometry {
      int64_t groups;     ///< blocks of rows of the weight
      int64_t groupRows;  ///< R
      int64_t cols;       ///< I
      int64_t rowBegin, rowCount;
      int64_t in, out;    ///< channels per group of x (if not shared) and y
      bool sharedInput;   ///< x has `in` channels, read by every group
    };
    Geometry getGeometry(WeightOp weight);
  }];
}

def Attn_RMSNormOp : Attn_StreamOp<"rms_norm", [SameOperandsAndResultType, Attn_UsesWeights]> {
  let summary = "Root-mean-square normalisation of the last axis, or of all channels";
  let description = [{
    y = x / sqrt(mean(x^2) + eps) * (w + weight_offset). Over all channels of the
    element, or, with `per_head`, over the last axis of each head; the weight
    has as many entries as one normalised vector.

    Example: `%y = attn.rms_norm %x, @norm eps 1.0e-6 : !attn.stream<64>`
  }];
  let arguments = (ins Attn_StreamType:$input, OptionalAttr<FlatSymbolRefAttr>:$weight,
                       F64Attr:$eps, DefaultValuedAttr<F64Attr, "0.0">:$weight_offset,
                       UnitAttr:$per_head);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = [{
    $input (`,` $weight^)? `eps` custom<F64>($eps) (`offset` custom<F64>($weight_offset)^)? (`per_head` $per_head^)?
    attr-dict `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Attn_RopeOp : Attn_StreamOp<"rope", [SameOperandsAndResultType]> {
  let summary = "Rotary position embedding";
  let description = [{
    Rotates the first or last `dims` channels of the last axis (of every head) by
    the angle of the element's position: the token's, or, for an `every m`
    stream, that of the element's first token. `interleaved` pairs channels 2i
    and 2i+1, `half_split` pairs i and i + dims/2. `inverse` turns back.

    Example:

    ```mlir
    %y = attn.rope %x last interleaved <theta = 10000.0, dims = 64> : !attn.stream<128x192>
    ```
  }];
  let arguments = (ins Attn_StreamType:$input, Attn_RotatedEnd:$end, Attn_Pairing:$pairing,
                       Attn_RotaryAttr:$rotary, UnitAttr:$inverse);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = [{
    $input $end $pairing (`inverse` $inverse^)? $rotary attr-dict `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Attn_SliceOp : Attn_StreamOp<"slice"> {
  let summary = "Some channels of the last axis, of every head";
  let description = [{
    Example: `%v = attn.slice %kv [128, 128] : !attn.stream<16x256> -> !attn.stream<16x128>`
    takes channels 128 .. 255.
  }];
  let arguments = (ins Attn_StreamType:$input, I64Attr:$offset, I64Attr:$size);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = [{
    $input `[` $offset `,` $size `]` attr-dict `:` qualified(type($input)) `->` qualified(type($result))
  }];
  let builders = [OpBuilder<(ins "Value":$input, "int64_t":$offset, "int64_t":$size)>];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Attn_ConcatOp : Attn_StreamOp<"concat"> {
  let summary = "Streams side by side on the last axis";
  let description = [{
    An operand without heads is repeated for every head of the result.

    Example: `%k = attn.concat %kn, %kr : (!attn.stream<16x128>, !attn.stream<64>) -> !attn.stream<16x192>`
  }];
  let arguments = (ins Variadic<Attn_StreamType>:$inputs);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let builders = [OpBuilder<(ins "ValueRange":$inputs)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_MapOp : Attn_StreamOp<"map", [
    SingleBlockImplicitTerminator<"YieldOp">, IsolatedFromAbove, Attn_UsesWeights]> {
  let summary = "A scalar function of streams and constants, channel by channel";
  let description = [{
    The body sees one scalar per input and per constant and yields one. An input
    has the result's features, or one channel per head, or one per element; a
    constant is a weight with as many entries as the result has channels, heads,
    last-axis channels, or one. Scalars are written f32 and mean reals. The body
    may use `arith` and `math`.

    Example:

    ```mlir
    %h2 = attn.map(%h, %a : !attn.stream<64>, !attn.stream<64>) -> !attn.stream<64> {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      attn.yield %s : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Attn_StreamType>:$inputs,
                       OptionalAttr<ArrayAttr>:$consts);
  let results = (outs Attn_StreamType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `:` type($inputs) `)` (`consts` $consts^)? attr-dict `->` qualified(type($result)) $body
  }];
  let hasVerifier = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "The result of a scalar body";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{}]>];
}

def Attn_RoundOp : Attn_StreamOp<"round", [SameOperandsAndResultType]> {
  let summary = "Rounds values to a number format";
  let description = [{
    As the model was trained, or as the plan stores: every reader, the current
    chunk too, sees the rounded value. Block formats scale `block` consecutive
    channels of the last axis together.

    Example: `%r = attn.round %c to <bf16> : !attn.stream<512>`
  }];
  let arguments = (ins Attn_StreamType:$input, Attn_FormatAttr:$format);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = "$input `to` $format attr-dict `:` qualified(type($result))";
  let hasFolder = 1;
}

def Attn_ExternOp : Attn_StreamOp<"extern"> {
  let summary = "A per-token function that the caller supplies";
  let description = [{
    A feed-forward or MoE block that a serving engine owns. An `optional` one
    that is not supplied is zero. Nothing is recomputed through it.

    Example: `%f = attn.extern @"model.layers.0.mlp" optional (%h) : (!attn.stream<64>) -> !attn.stream<64>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Attn_StreamType>:$inputs, UnitAttr:$optional);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = [{
    $callee (`optional` $optional^)? `(` $inputs `)` attr-dict `:` functional-type($inputs, $result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Ops that read history
//===----------------------------------------------------------------------===//

def Attn_AttendOp : Attn_StreamOp<"attend", [
    AttrSizedOperandSegments, IsolatedFromAbove, Attn_UsesWeights,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<Attn_HistoryOpInterface>]> {
  let summary = "One softmax over any number of sources";
  let description = [{
    A source is a list of (query part, key part) pairs, a value, and a
    visibility: `causal` (all tokens up to this one), `window W` (the newest W,
    this one included) or `select %s` (the picks of a selection). Over all
    visible elements e of all sources together, for each head:

      s_e = scale * sum_p q_p . k_p[e],  s_e = score_map(s_e) if given
      o   = sum_e softmax(s)_e * v[e]

    Queries have H heads; a key or value has H, a divisor of H (heads share it in
    runs: query head h reads h / (H / heads)), or none (all heads share it). The
    value's channels are the result's. `sink` is a weight of H logits, one extra
    entry without a value, not scaled. A row that sees nothing is 0.

    The optional region maps a score (after scaling) given (score, query
    position, position of the element's first token, head), all written f32,
    then one scalar per constant in `consts` (weights of H entries).

    Example:

    ```mlir
    %o = attn.attend scale 1.352338e-01
        causal (%qn, %c : !attn.stream<128x512>, !attn.stream<512>),
               (%qr, %kr : !attn.stream<128x64>, !attn.stream<64>)
        values %c : !attn.stream<512>
        -> !attn.stream<128x512>
    ```
  }];
  // windows[i] of source i: 0 causal, W > 0 a window, -1 the next selection.
  let arguments = (ins Variadic<Attn_StreamType>:$queries,
                       Variadic<Attn_StreamType>:$keys,
                       Variadic<Attn_StreamType>:$values,
                       Variadic<Attn_SelectionType>:$selections,
                       DenseI64ArrayAttr:$part_counts,
                       DenseI64ArrayAttr:$windows,
                       F64Attr:$scale,
                       OptionalAttr<FlatSymbolRefAttr>:$sink,
                       OptionalAttr<ArrayAttr>:$consts);
  let results = (outs Attn_StreamType:$result);
  let regions = (region MaxSizedRegion<1>:$score_map);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    using Source = AttendSource;
    SmallVector<Source> getSources();
    int64_t getHeads() { return getResult().getType().getHeads(); }
  }];
  let builders = [
    OpBuilder<(ins "Type":$result, "ArrayRef<AttendSource>":$sources, "double":$scale,
                   "FlatSymbolRefAttr":$sink, CArg<"ArrayAttr", "{}">:$consts)>
  ];
}

include "dialect/Attn/IR/AttnSelectOps.td"

#endif
