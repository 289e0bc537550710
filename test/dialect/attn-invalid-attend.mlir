// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+2 {{expected a source: 'causal', 'window' or 'select'}}
  %o = attn.attend scale 1.0
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{expected floating point literal}}
  %o = attn.attend scale fast
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{expected a finite 'scale', found}}
  %o = attn.attend scale 1.0e+999
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+2 {{expected a positive window, found 0}}
  %o = attn.attend scale 1.0
      window 0 (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+2 {{expected 'values'}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) value %k : !attn.stream<16>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<2x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{query has 2 heads, the result 4}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<2x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16, every 2>, %k: !attn.stream<16>) {
  // expected-error @+1 {{expected queries with one element per token, found '!attn.stream<4x16, every 2>'}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<4x16, every 2>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{expected a result with one element per token, found '!attn.stream<4x16, every 2>'}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16, every 2>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<8>) {
  // expected-error @+1 {{query has 16 channels per head, its key 8}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<8>) values %k : !attn.stream<8>
      -> !attn.stream<4x8>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16, every 2>, %v: !attn.stream<16>) {
  // expected-error @+1 {{key has one element every 2 tokens, the value of its source one every 1}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16, every 2>) values %v : !attn.stream<16>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<3x16>) {
  // expected-error @+1 {{key has 3 heads, which does not divide the 4 heads of the queries}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<3x16>) values %k : !attn.stream<3x16>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16>, %v: !attn.stream<8x16>) {
  // expected-error @+1 {{value has 8 heads, which does not divide the 4 heads of the queries}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %v : !attn.stream<8x16>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{value has 16 channels per head, the result 8}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x8>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16, every 2>) {
  // expected-error @+1 {{a window counts tokens; expected a source with one element per token, found '!attn.stream<16, every 2>'}}
  %o = attn.attend scale 1.0
      window 4 (%q, %k : !attn.stream<4x16>, !attn.stream<16, every 2>) values %k : !attn.stream<16, every 2>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16, every 2>, %s: !attn.selection<4>) {
  // expected-error @+1 {{selection picks elements every 1 tokens, its source has one every 2}}
  %o = attn.attend scale 1.0
      select %s : !attn.selection<4> (%q, %k : !attn.stream<4x16>, !attn.stream<16, every 2>)
      values %k : !attn.stream<16, every 2>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16>, %s: !attn.selection<4, groups 3>) {
  // expected-error @+1 {{selection has 3 groups, which does not divide the 4 heads of the queries}}
  %o = attn.attend scale 1.0
      select %s : !attn.selection<4, groups 3> (%q, %k : !attn.stream<4x16>, !attn.stream<16>)
      values %k : !attn.stream<16>
      -> !attn.stream<4x16>
  return
}

// -----

func.func @f(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{operand #3 must be variadic of a selection: for each token and group, at most k picks among a stream's elements, but got '!attn.stream<16>'}}
  %o = attn.attend scale 1.0
      select %k : !attn.stream<16> (%q, %k : !attn.stream<4x16>, !attn.stream<16>)
      values %k : !attn.stream<16>
      -> !attn.stream<4x16>
  return
}

// -----

attn.weight @sinks : 8
attn.model @m(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{weight @sinks has 8 entries, expected 4, one per head}}
  %o = attn.attend scale 1.0 sink @sinks
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16>
  attn.return
}

// -----

attn.model @m(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{weight @slopes is not declared; expected attn.weight @slopes in the module}}
  %o = attn.attend scale 1.0 consts [@slopes]
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16> {
  ^bb0(%score: f32, %query: f32, %key: f32, %head: f32, %slope: f32):
    attn.yield %score : f32
  }
  attn.return
}

// -----

attn.model @m(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{'consts' are arguments of a score map; found 1 and no score map}}
  %o = attn.attend scale 1.0 consts [@slopes]
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16>
  attn.return
}

// -----

attn.model @m(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{'consts' is a list of weights such as [@a]; found "slopes"}}
  %o = attn.attend scale 1.0 consts ["slopes"]
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16>
  attn.return
}

// -----

attn.model @m(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{body has 1 arguments; expected 4}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16> {
  ^bb0(%score: f32):
    attn.yield %score : f32
  }
  attn.return
}

// -----

attn.model @m(%q: !attn.stream<4x16>, %k: !attn.stream<16>) {
  // expected-error @+1 {{expected its body to end with attn.yield}}
  %o = attn.attend scale 1.0
      causal (%q, %k : !attn.stream<4x16>, !attn.stream<16>) values %k : !attn.stream<16>
      -> !attn.stream<4x16> {
  ^bb0(%score: f32, %query: f32, %key: f32, %head: f32):
    %y = arith.addf %score, %key : f32
  }
  attn.return
}
