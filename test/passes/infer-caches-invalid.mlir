// RUN: attn-opt %s --split-input-file --attn-infer-caches="balance=9223372036854775807 remarks=all" --verify-diagnostics
// RUN: not attn-opt %s --split-input-file --attn-infer-caches="balance=0" 2>&1 | FileCheck %s

// CHECK: error: expected a positive balance, found 0

// expected-error@+1 {{the costs of @too_dear are too large to be weighed exactly; expected a smaller balance, or rates with a smaller common multiple}}
attn.model @too_dear(%q: !attn.stream<2147483648>, %k: !attn.stream<2147483648>) -> !attn.stream<2147483648> {
  %o = attn.attend scale 1.0 causal (%q, %k : !attn.stream<2147483648>, !attn.stream<2147483648>) values %k : !attn.stream<2147483648> -> !attn.stream<2147483648>
  attn.return %o : !attn.stream<2147483648>
}

// -----

// expected-error@+1 {{the rates of the streams of @rates have no common multiple below 2^63}}
attn.model @rates(%a: !attn.stream<8, every 4611686018427387847>, %b: !attn.stream<8, every 4611686018427387817>) -> !attn.stream<8, every 4611686018427387847> {
  attn.return %a : !attn.stream<8, every 4611686018427387847>
}

// -----

// An op that the other form does not have cannot be kept for it.

attn.model @m(%q: !attn.stream<8>) -> !attn.stream<8> {
  // expected-error@+1 {{a stream is read when old tokens are, but can neither be kept nor computed again}}
  %k = attn.extern @outside (%q) : (!attn.stream<8>) -> !attn.stream<8>
  %o = attn.attend scale 1.0 causal (%q, %k : !attn.stream<8>, !attn.stream<8>) values %k : !attn.stream<8> -> !attn.stream<8>
  attn.return %o : !attn.stream<8>
}
attn.model @m.prefill(%q: !attn.stream<8>) -> !attn.stream<8> attributes {form = "prefill"} {
  attn.return %q : !attn.stream<8>
}

// -----

// Every decision is in the report.

attn.weight @k : 4x8
attn.model @remarks(%q: !attn.stream<4>, %x: !attn.stream<8>) -> !attn.stream<4> {
  // expected-remark@+1 {{applied: layers.0.window keeps latent, 4 x bf16, the newest 3 entries}}
  %k = attn.linear %x, @k : (!attn.stream<8>) -> !attn.stream<4>
  %o = attn.attend scale 1.0 window 3 (%q, %k : !attn.stream<4>, !attn.stream<4>) values %k : !attn.stream<4> -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}

// -----

// Of a fold the state instead of old elements.

// expected-remark@+1 {{note: fold states take 48 bytes per sequence; open rows of values and gates would take 32}}
attn.model @folds(%q: !attn.stream<4>, %x: !attn.stream<4>) -> !attn.stream<4> {
  // expected-remark@+2 {{applied: layers.0.main keeps latent, 4 x bf16, every entry}}
  // expected-remark@+1 {{applied: layers.0.main_fold keeps 3 x 4 x f32, 48 bytes: a running softmax (acc, max, sum) of each open block; the 2 open rows of values and gates would be 32 bytes}}
  %k = attn.compress every 2 (%x at 0 : !attn.stream<4>) -> !attn.stream<4, every 2>
  %o = attn.attend scale 1.0 causal (%q, %k : !attn.stream<4>, !attn.stream<4, every 2>) values %k : !attn.stream<4, every 2> -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}

// -----

// expected-remark@+1 {{note: fold states take 144 bytes per sequence; open rows of values and gates would take 288}}
attn.model @overlap(%v: !attn.stream<4>, %g: !attn.stream<4>) -> !attn.stream<4, every 3> {
  // expected-remark@+1 {{applied: layers.0.main_fold keeps 9 x 4 x f32, 144 bytes: a running softmax (acc, max, sum) of each open block; the 6 open rows of values and gates would be 288 bytes}}
  %k = attn.compress every 3 (%v, %g at -1 : !attn.stream<4>, !attn.stream<4>), (%v at 0 : !attn.stream<4>) -> !attn.stream<4, every 3>
  attn.return %k : !attn.stream<4, every 3>
}
