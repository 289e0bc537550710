// RUN: attn-opt %s --split-input-file --attn-split-forms --verify-diagnostics | FileCheck %s

attn.weight @w : 4x4
// CHECK: attn.model @m(%[[X:.+]]: !attn.stream<4>) -> !attn.stream<4> {
// CHECK-NEXT: attn.linear %[[X]], @w {attn.id = 0 : i64, layer = 1 : i64}
// CHECK-NEXT: attn.rms_norm %{{.*}} eps 1.0e-06 {attn.id = 1 : i64}
// CHECK: attn.model @m.prefill(%[[P:.+]]: !attn.stream<4>) -> !attn.stream<4> attributes {form = "prefill"} {
// CHECK-NEXT: attn.linear %[[P]], @w {attn.id = 0 : i64, layer = 1 : i64}
// CHECK-NEXT: attn.rms_norm %{{.*}} eps 1.0e-06 {attn.id = 1 : i64}
attn.model @m(%x: !attn.stream<4>) -> !attn.stream<4> {
  %y = attn.linear %x, @w {layer = 1 : i64} : (!attn.stream<4>) -> !attn.stream<4>
  %z = attn.rms_norm %y eps 1.0e-6 : !attn.stream<4>
  attn.return %z : !attn.stream<4>
}

// -----

// expected-error@+1 {{model @m already has a prefill form @m.prefill; expected a model in one form}}
attn.model @m(%x: !attn.stream<4>) -> !attn.stream<4> {
  attn.return %x : !attn.stream<4>
}
attn.model @m.prefill(%x: !attn.stream<4>) -> !attn.stream<4> attributes {form = "prefill"} {
  attn.return %x : !attn.stream<4>
}
