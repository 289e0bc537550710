//===- AttnTypes.td - types of the attn dialect ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_ATTN_TYPES_TD
#define ATTNC_DIALECT_ATTN_TYPES_TD

include "dialect/Attn/IR/AttnBase.td"
include "mlir/IR/AttrTypeBase.td"

class Attn_Type<string name, string typeMnemonic>
    : TypeDef<Attn_Dialect, name> {
  let mnemonic = typeMnemonic;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Attn_StreamType : Attn_Type<"Stream", "stream"> {
  let summary = "a stream: a causal sequence of feature vectors";
  let description = [{
    One element per token, or per `every` tokens: element e is defined once token
    e * every + every - 1 has been read. Features are one channel axis, or heads
    x channels. The numbers are reals: only `attn.round` rounds.

    Example: `!attn.stream<128x192>`, `!attn.stream<512, every 4>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "int64_t":$every);
  let builders = [
    TypeBuilder<(ins "ArrayRef<int64_t>":$shape, CArg<"int64_t", "1">:$every), [{
      return $_get($_ctxt, shape, every);
    }]>
  ];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    /// Channels of the last axis.
    int64_t getChannels() const { return getShape().back(); }
    /// The leading axis of a rank-2 stream, else 1.
    int64_t getHeads() const { return getShape().size() == 2 ? getShape()[0] : 1; }
    /// All channels of one element.
    int64_t getNumFeatures() const { return getHeads() * getChannels(); }
    /// The same rate with other features.
    StreamType withShape(ArrayRef<int64_t> shape) const {
      return StreamType::get(getContext(), shape, getEvery());
    }
  }];
}

def Attn_ScoresType : Attn_Type<"Scores", "scores"> {
  let summary = "scores: for each token and group, one per visible element of a stream";
  let description = [{
    Scores against the elements of a stream of rate `every`. Outside a `within`
    selection a score is absent, never minus infinity. Defaults (every 1,
    groups 1) are not printed.

    Example: `!attn.scores<every 4>`, `!attn.scores<groups 8>`
  }];
  let parameters = (ins "int64_t":$every, "int64_t":$groups);
}

def Attn_SelectionType : Attn_Type<"Selection", "selection"> {
  let summary = "a selection: for each token and group, at most k picks among a stream's elements";
  let description = [{
    Each pick stands for `block` consecutive elements of a stream of rate
    `every`. `groups` is 1 or divides the heads that read it. Defaults (every 1,
    groups 1, block 1) are not printed.

    Example: `!attn.selection<512, every 4>`, `!attn.selection<2048, block 8>`
  }];
  let parameters = (ins "int64_t":$picks, "int64_t":$every, "int64_t":$groups, "int64_t":$block);
}

#endif
