// RUN: attn-opt %s --attn-split-forms --attn-absorb-weights --attn-absorb-weights=form=prefill | FileCheck %s --check-prefixes=CHECK,EXPANDED
// RUN: attn-opt %s --attn-split-forms --attn-absorb-weights --attn-absorb-weights="form=prefill chunk=16" | FileCheck %s --check-prefixes=CHECK,ABSORBED
// RUN: attn-opt %s --attn-split-forms --attn-absorb-weights=absorb=never --attn-absorb-weights="form=prefill absorb=always" 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: not attn-opt %s --attn-absorb-weights="balance=0" 2>&1 | FileCheck %s --check-prefix=BALANCE
// RUN: not attn-opt %s --attn-absorb-weights="chunk=-1" 2>&1 | FileCheck %s --check-prefix=CHUNK

// BALANCE: error: expected a positive balance, context and chunk, found 0, 4096 and 512
// CHUNK: error: expected a positive balance, context and chunk, found 200, 4096 and -1

// A chunk of 512 tokens at context 4096 shares the rebuilt keys and values, one of
// 16 tokens does not pay for them. The decode form is absorbed either way.

attn.weight @kv_b : 4096x512

// CHECK: attn.model @m(
// CHECK: attn.linear {{.*}} transpose
// CHECK: attn.attend
// CHECK: attn.linear {{.*}} {attn.id = 2 : i64}
// CHECK: attn.model @m.prefill(
// EXPANDED-NOT: transpose
// ABSORBED: transpose

// Rows that the decode form does not keep are out of reach for the prefill form.
// KEPT: remark: refused: not absorbed: asked for with absorb=never
// KEPT: remark: refused: not absorbed: the decode form keeps the projected rows
// KEPT-NOT: transpose
attn.model @m(%qn: !attn.stream<16x128>, %qr: !attn.stream<16x64>, %c: !attn.stream<512>, %kr: !attn.stream<64>) -> !attn.stream<16x128> {
  %k = attn.linear %c, @kv_b groups 16 rows [0, 128] : (!attn.stream<512>) -> !attn.stream<16x128>
  %v = attn.linear %c, @kv_b groups 16 rows [128, 128] : (!attn.stream<512>) -> !attn.stream<16x128>
  %o = attn.attend scale 0.07216878364870323
      causal (%qn, %k : !attn.stream<16x128>, !attn.stream<16x128>),
             (%qr, %kr : !attn.stream<16x64>, !attn.stream<64>)
      values %v : !attn.stream<16x128> -> !attn.stream<16x128>
  attn.return %o : !attn.stream<16x128>
}
