// RUN: attn-opt %s --split-input-file --convert-attn-to-kv=remarks=all --kv-verify-form --verify-diagnostics | FileCheck %s
// RUN: attn-opt %s --split-input-file '--convert-attn-to-kv=threshold=7 page-size=16' | FileCheck %s --check-prefix=OPTIONS

// Different forms: the decode body attends over the latent, the prefill body
// rebuilds keys from the same rows, worth it from some number of tokens on.
// Decode: 2 * 8 * (64 + 64) = 2048 per entry and 2 * 8 * 4 * 64 * 2 per token;
// prefill: 2 * 8 * (4 + 4) = 128 per entry and 8192 per entry and step.
// 4096 * 8192 / (4096 * (2048 - 128) + 8192) is a little more than 4.

#latent = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "latent", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
attn.weight @up : 64x64
// CHECK: kv.cache @layers.0.main
// OPTIONS: kv.cache @layers.0.main {{.*}} {page_entries = 16 : i64
// CHECK-LABEL: kv.step @forms
// expected-remark @below {{the prefill body serves sequences from 5 new tokens on: it is the cheaper one there at a context of 4096}}
attn.model @forms(%c: !attn.stream<64> {attn.keep = #latent}, %q: !attn.stream<8x4>) -> !attn.stream<8x4> {
  %q1 = attn.linear %q, @up groups 8 rows [0, 4] transpose : (!attn.stream<8x4>) -> !attn.stream<8x64>
  // CHECK: kv.read @layers.0.main[0]
  // CHECK-NOT: kv.rebuild
  %o1 = attn.attend scale 0.5 causal (%q1, %c : !attn.stream<8x64>, !attn.stream<64>)
      values %c : !attn.stream<64> -> !attn.stream<8x64>
  %o = attn.linear %o1, @up groups 8 rows [4, 4] : (!attn.stream<8x64>) -> !attn.stream<8x4>
  attn.return %o : !attn.stream<8x4>
}
// CHECK: } prefill {
attn.model @forms.prefill(%c: !attn.stream<64> {attn.keep = #latent}, %q: !attn.stream<8x4>) -> !attn.stream<8x4> attributes {form = "prefill"} {
  %k = attn.linear %c, @up groups 8 rows [0, 4] : (!attn.stream<64>) -> !attn.stream<8x4>
  %v = attn.linear %c, @up groups 8 rows [4, 4] : (!attn.stream<64>) -> !attn.stream<8x4>
  // CHECK: kv.append
  // CHECK: kv.rebuild
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<8x4>, !attn.stream<8x4>)
      values %v : !attn.stream<8x4> -> !attn.stream<8x4>
  attn.return %o : !attn.stream<8x4>
}
// CHECK: } {threshold = 5 : i64}
// OPTIONS: } {threshold = 7 : i64}

// -----

// Equal forms are one body, whatever their ids.

#row = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "row", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
attn.weight @w : 4x4
// CHECK-LABEL: kv.step @equal
attn.model @equal(%x: !attn.stream<4>) -> !attn.stream<1x4> {
  %k = attn.linear %x, @w {attn.keep = #row, attn.id = 0 : i64} : (!attn.stream<4>) -> !attn.stream<4>
  %o = attn.attend scale 0.5 causal (%x, %k : !attn.stream<4>, !attn.stream<4>)
      values %k : !attn.stream<4> -> !attn.stream<1x4>
  attn.return %o : !attn.stream<1x4>
}
// CHECK: } prefill {
// CHECK-NEXT: }
// CHECK-NOT: threshold
attn.model @equal.prefill(%x: !attn.stream<4>) -> !attn.stream<1x4> attributes {form = "prefill"} {
  %k = attn.linear %x, @w {attn.keep = #row, attn.id = 7 : i64} : (!attn.stream<4>) -> !attn.stream<4>
  %o = attn.attend scale 0.5 causal (%x, %k : !attn.stream<4>, !attn.stream<4>)
      values %k : !attn.stream<4> -> !attn.stream<1x4>
  attn.return %o : !attn.stream<1x4>
}
