// RUN: attn-opt %s --split-input-file --verify-diagnostics

kv.cache @fold state 2 row [#kv.segment<"fold", 8, #attn.format<f32>>] every 4
kv.step @short(!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error @+1 {{needs a state of 3 rows}}
  %e = kv.compress @fold every 4 values (%x : !attn.stream<8>) at [0] gates (%x : !attn.stream<8>) gated [true] -> !attn.stream<8, every 4>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @pages paged row [#kv.segment<"fold", 8, #attn.format<f32>>]
kv.step @paged(!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error @+1 {{expected @pages to be a kv.cache that is a state}}
  %e = kv.compress @pages every 4 values (%x : !attn.stream<8>) at [0] gates (%x : !attn.stream<8>) gated [true] -> !attn.stream<8, every 4>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @fold state 3 row [#kv.segment<"fold", 8, #attn.format<f32>>] every 4
kv.step @rate(!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error @+1 {{expected a result of type '!attn.stream<8, every 4>', found '!attn.stream<8, every 2>'}}
  %e = kv.compress @fold every 4 values (%x : !attn.stream<8>) at [0] gates (%x : !attn.stream<8>) gated [true] -> !attn.stream<8, every 2>
  kv.return %x : !attn.stream<8>
} prefill {
}
