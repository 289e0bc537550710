// RUN: attn-opt %s | attn-opt | FileCheck %s

// Two parts, a bias by position in the block: six states of three rows.
attn.weight @ape : 4x16
kv.cache @layers.2.fold state 9 row [#kv.segment<"fold", 8, #attn.format<f32>>] every 4 {layer = 2 : i64}
kv.step @overlap(!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // CHECK: kv.compress @layers.2.fold every 4 bias @ape
  // CHECK-SAME: at [-1, 0] gates ({{.*}}) gated [true, true] -> !attn.stream<8, every 4>
  %e = kv.compress @layers.2.fold every 4 bias @ape values (%x, %x : !attn.stream<8>, !attn.stream<8>) at [-1, 0]
      gates (%x, %x : !attn.stream<8>, !attn.stream<8>) gated [true, true] -> !attn.stream<8, every 4>
  kv.return %x : !attn.stream<8>
} prefill {
}
