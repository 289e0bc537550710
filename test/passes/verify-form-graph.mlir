// RUN: attn-opt %s --split-input-file --attn-verify-form --verify-diagnostics -o /dev/null
// RUN: not attn-opt %s --split-input-file --attn-verify-form=stage=decoupled 2>&1 | FileCheck %s

attn.model @graph(%k: !attn.stream<4>) -> !attn.stream<4> {
  attn.return %k : !attn.stream<4>
}

// -----

attn.model @ids(%k: !attn.stream<4>) -> !attn.stream<4> {
  // expected-error@+1 {{expected a graph without 'attn.id'}}
  %n = attn.rms_norm %k eps 1.0e-6 {attn.id = 0 : i64} : !attn.stream<4>
  attn.return %n : !attn.stream<4>
}

// -----

// CHECK: error: 'attn.attend' op reads a concatenation as keys; expected its parts
attn.model @concatenated(%q: !attn.stream<8>, %k: !attn.stream<4>) -> !attn.stream<8> {
  %c = attn.concat %k, %k : (!attn.stream<4>, !attn.stream<4>) -> !attn.stream<8>
  %o = attn.attend scale 1.0 causal (%q, %c : !attn.stream<8>, !attn.stream<8>) values %c : !attn.stream<8> -> !attn.stream<8>
  attn.return %o : !attn.stream<8>
}
