//===- AttnSelectOps.td - compression and selection -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Included by AttnOps.td, whose classes it uses.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_DIALECT_ATTN_SELECTOPS_TD
#define ATTNC_DIALECT_ATTN_SELECTOPS_TD

include "dialect/Attn/IR/AttnOps.td"

//===----------------------------------------------------------------------===//
// Per-token ops
//===----------------------------------------------------------------------===//

def Attn_LayerNormOp : Attn_StreamOp<"layer_norm", [SameOperandsAndResultType, Attn_UsesWeights]> {
  let summary = "Layer normalisation of the last axis, or of all channels";
  let description = [{
    y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * w + b. Over all
    channels of the element, or, with `per_head`, over the last axis of each
    head; the weight and the bias have as many entries as one normalised vector.

    Example: `%y = attn.layer_norm %x, @norm bias @shift eps 1.0e-6 : !attn.stream<64>`
  }];
  let arguments = (ins Attn_StreamType:$input, OptionalAttr<FlatSymbolRefAttr>:$weight,
                       OptionalAttr<FlatSymbolRefAttr>:$bias, F64Attr:$eps,
                       UnitAttr:$per_head);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = [{
    $input (`,` $weight^)? (`bias` $bias^)? `eps` custom<F64>($eps) (`per_head` $per_head^)?
    attr-dict `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Attn_HadamardOp : Attn_StreamOp<"hadamard", [SameOperandsAndResultType]> {
  let summary = "Orthonormal Hadamard transform of the last axis, of every head";
  let description = [{
    y[i] = n^-1/2 * sum_j (-1)^popcount(i & j) * x[j] over the n channels of the
    last axis, a power of two (Sylvester's order). It keeps dot products and is
    its own inverse; it spreads outliers before a rounding.

    Example: `%y = attn.hadamard %x : !attn.stream<64x128>`
  }];
  let arguments = (ins Attn_StreamType:$input);
  let results = (outs Attn_StreamType:$result);
  let assemblyFormat = "$input attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Attn_ExpandOp : Attn_StreamOp<"expand"> {
  let summary = "The same picks, counted in elements of a faster stream";
  let description = [{
    A pick of an element every m tokens becomes the pick of the elements that it
    was made from: of every-1 elements, m times as many. A selection of blocks of
    b elements every m becomes one of blocks of m * b elements every 1. Elements
    that the token does not see stay hidden.

    Example: `%t = attn.expand %s : !attn.selection<16, every 4, groups 2> -> !attn.selection<16, groups 2, block 4>`
  }];
  let arguments = (ins Attn_SelectionType:$input);
  let results = (outs Attn_SelectionType:$result);
  let assemblyFormat = [{
    $input attr-dict `:` qualified(type($input)) `->` qualified(type($result))
  }];
  let builders = [OpBuilder<(ins "Value":$input)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Compression
//===----------------------------------------------------------------------===//

def Attn_CompressOp : Attn_StreamOp<"compress", [
    AttrSizedOperandSegments, Attn_UsesWeights,
    DeclareOpInterfaceMethods<Attn_HistoryOpInterface>]> {
  let summary = "Gated pooling: one element for m";
  let description = [{
    A part is a stream of values, optionally one of gates, and a block offset of
    0 or less. Result element i pools, channel by channel, the m elements of
    block i + offset of every part, as far as that block exists:

      y_i[c] = sum_p sum_{j<m} alpha_pj[c] * v_p[(i + offset_p) * m + j][c]

    with alpha the softmax over all (p, j) of those rows of the gates plus
    `bias`. Gates have the values' channels, or one channel that all share;
    without gates a part's logits are 0, so that a part alone is averaged. `bias`
    is a weight [m, gate channels of all parts side by side]: row j is added to
    the gates of the j-th element of a block. A channel whose rows all weigh
    nothing, and an element without rows, are 0.

    The operands have one rate r, the result has r * m. `every` is m.

    Example:

    ```mlir
    %c = attn.compress every 4 bias @ape
        (%vb, %gb at -1 : !attn.stream<512>, !attn.stream<512>),
        (%va, %ga at 0 : !attn.stream<512>, !attn.stream<512>)
        -> !attn.stream<512, every 4>
    %mean = attn.compress every 64 (%k at 0 : !attn.stream<8x128>) -> !attn.stream<8x128, every 64>
    ```
  }];
  // gated[p]: part p has a gate, the next of `gates`.
  let arguments = (ins Variadic<Attn_StreamType>:$values,
                       Variadic<Attn_StreamType>:$gates,
                       I64Attr:$every,
                       DenseI64ArrayAttr:$offsets,
                       DenseBoolArrayAttr:$gated,
                       OptionalAttr<FlatSymbolRefAttr>:$bias);
  let results = (outs Attn_StreamType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    using Part = CompressPart;
    SmallVector<Part> getParts();
    /// Columns of the bias: the channels of all gates.
    int64_t getGateChannels();
  }];
  let builders = [
    OpBuilder<(ins "ArrayRef<CompressPart>":$parts, "int64_t":$every,
                   CArg<"FlatSymbolRefAttr", "{}">:$bias)>
  ];
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

def Attn_ScoreOp : Attn_StreamOp<"score", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<Attn_HistoryOpInterface>]> {
  let summary = "Scores of a token against the elements of a stream";
  let description = [{
    For token t, group g of the result and each element e that t sees (that is
    complete: (e + 1) * every <= t + 1), with H heads in runs of H / groups:

      s[t, g, e] = scale * sum_{h in run g} w_h * act(q_h . k_e)

    act is `relu` or `none`; w is 1 without `weights`. Keys have H heads, a
    divisor of H (heads share them in runs), or none (all share them). With
    `within`, elements outside the picks have no score; its groups divide the
    result's.

    Example:

    ```mlir
    %s = attn.score relu scale 1.1048543456039806e-2
        (%q, %k : !attn.stream<64x128>, !attn.stream<128, every 4>)
        weights %w : !attn.stream<64> -> !attn.scores<every 4>
    ```
  }];
  let arguments = (ins Attn_StreamType:$query, Attn_StreamType:$key,
                       Optional<Attn_StreamType>:$weights,
                       Optional<Attn_SelectionType>:$within,
                       Attn_Activation:$activation, F64Attr:$scale);
  let results = (outs Attn_ScoresType:$result);
  let assemblyFormat = [{
    $activation `scale` custom<F64>($scale) ` `
    `(` $query `,` $key `:` qualified(type($query)) `,` qualified(type($key)) `)`
    (`weights` $weights^ `:` qualified(type($weights)))?
    (`within` $within^ `:` qualified(type($within)))?
    attr-dict `->` qualified(type($result))
  }];
  let builders = [
    OpBuilder<(ins "Activation":$activation, "double":$scale, "Value":$query, "Value":$key,
                   "Value":$weights, CArg<"Value", "{}">:$within,
                   CArg<"int64_t", "1">:$groups)>
  ];
  let hasVerifier = 1;
}

def Attn_TopKOp : Attn_StreamOp<"top_k"> {
  let summary = "The elements with the highest scores";
  let description = [{
    For each token and group the k elements (the picks of the result's type) that
    score highest; all of them if fewer have a score. Of equal scores the lower
    position is picked; -0 equals 0. A NaN is never picked, and is reported.

    Example: `%sel = attn.top_k %s : !attn.scores<every 4> -> !attn.selection<512, every 4>`
  }];
  let arguments = (ins Attn_ScoresType:$scores);
  let results = (outs Attn_SelectionType:$result);
  let assemblyFormat = [{
    $scores attr-dict `:` qualified(type($scores)) `->` qualified(type($result))
  }];
  let builders = [OpBuilder<(ins "Value":$scores, "int64_t":$picks)>];
  let hasVerifier = 1;
}

def Attn_BlockTopKOp : Attn_StreamOp<"block_top_k"> {
  let summary = "The blocks of elements with the highest scores";
  let description = [{
    A block is `block` consecutive elements, from element 0 on; its score is the
    `max` or the `sum` of those of its elements that have one, and a block without
    any is none. The first `pin_first` and the newest `pin_newest` blocks are
    picked whatever their scores, and the highest of the rest, k in all (the
    picks of the result's type). Ties and NaN as in `top_k`; a block with a NaN in
    it is picked only if pinned.

    Example:

    ```mlir
    %pool = attn.block_top_k %s block 8 max pin_newest 1 : !attn.scores -> !attn.selection<2048, block 8>
    ```
  }];
  let arguments = (ins Attn_ScoresType:$scores, I64Attr:$block, Attn_Reduction:$reduction,
                       DefaultValuedAttr<I64Attr, "0">:$pin_first,
                       DefaultValuedAttr<I64Attr, "0">:$pin_newest);
  let results = (outs Attn_SelectionType:$result);
  let assemblyFormat = [{
    $scores `block` $block $reduction (`pin_first` $pin_first^)? (`pin_newest` $pin_newest^)?
    attr-dict `:` qualified(type($scores)) `->` qualified(type($result))
  }];
  let builders = [
    OpBuilder<(ins "Value":$scores, "int64_t":$picks, "int64_t":$block, "Reduction":$reduction,
                   CArg<"int64_t", "0">:$pinFirst, CArg<"int64_t", "0">:$pinNewest)>
  ];
  let hasVerifier = 1;
}

#endif
