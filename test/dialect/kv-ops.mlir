// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

attn.weight @k_up : 2048x512
attn.weight @slope : 4
attn.weight @sink : 4

// CHECK: kv.cache @layers.0.main paged row [#kv.segment<"latent", 512, #attn.format<bf16>>, #kv.segment<"rope_key", 64, #attn.format<bf16>>] {readers = array<i64: 0, 1>}
kv.cache @layers.0.main paged row [#kv.segment<"latent", 512, #attn.format<bf16>>, #kv.segment<"rope_key", 64, #attn.format<bf16>>]
    {readers = array<i64: 0, 1>}
// CHECK: kv.cache @layers.1.window ring 128 row [#kv.segment<"key", 64, #attn.format<f32>>] {layer = 1 : i64, page_entries = 16 : i64, readers = array<i64: 1>}
kv.cache @layers.1.window ring 128 row [#kv.segment<"key", 64, #attn.format<f32>>]
    {layer = 1 : i64, page_entries = 16 : i64, readers = array<i64: 1>}
// CHECK: kv.cache @packed paged row [#kv.segment<"a", 448, #attn.format<e4m3, block = 64, scale = e8m0>>, #kv.segment<"pad", 1, #attn.format<f32>>] every 4
kv.cache @packed paged row [#kv.segment<"a", 448, #attn.format<e4m3, block = 64, scale = e8m0>>, #kv.segment<"pad", 1, #attn.format<f32>>] every 4

// CHECK-LABEL: kv.step @pages (!attn.stream<64>) -> (!attn.stream<64>) decode {
kv.step @pages (!attn.stream<64>) -> (!attn.stream<64>) decode {
^bb0(%x: !attn.stream<64>):
  // CHECK: kv.return %{{.*}} : !attn.stream<64>
  kv.return %x : !attn.stream<64>
// CHECK-NEXT: } prefill {
} prefill {
^bb0(%x: !attn.stream<64>):
  kv.return %x : !attn.stream<64>
// CHECK: } {threshold = 16 : i64}
} {threshold = 16 : i64}

// CHECK-LABEL: kv.step @rows
kv.step @rows (!attn.stream<512>, !attn.stream<64>, !attn.stream<4x512>, !attn.stream<4x64>) -> (!attn.stream<4x512>) decode {
^bb0(%c: !attn.stream<512>, %kr: !attn.stream<64>, %qc: !attn.stream<4x512>, %qr: !attn.stream<4x64>):
  // CHECK: kv.append %[[C:.*]], %[[KR:.*]] to @layers.0.main : !attn.stream<512>, !attn.stream<64>
  kv.append %c, %kr to @layers.0.main : !attn.stream<512>, !attn.stream<64>
  // CHECK: %[[CR:.*]] = kv.read @layers.0.main[0] : !kv.rows<512>
  %cr = kv.read @layers.0.main[0] : !kv.rows<512>
  %krr = kv.read @layers.0.main[1] : !kv.rows<64>
  // CHECK: %[[INIT:.*]] = kv.attend_init : !kv.state<4x512>
  %s0 = kv.attend_init : !kv.state<4x512>
  // CHECK: kv.attend_partial %[[INIT]] scale 1.250000e-01 window 0 (%{{.*}}, %{{.*}} : !attn.stream<4x512>, !attn.stream<4x64>) keys (%[[CR]], %{{.*}} : !kv.rows<512>, !kv.rows<64>) value %[[CR]] : !kv.rows<512> -> !kv.state<4x512>{{$}}
  %s1 = kv.attend_partial %s0 scale 0.125 window 0 (%qc, %qr : !attn.stream<4x512>, !attn.stream<4x64>)
      keys (%cr, %krr : !kv.rows<512>, !kv.rows<64>) value %cr : !kv.rows<512> -> !kv.state<4x512>
  // CHECK: kv.attend_finish %{{.*}} sink @sink : !kv.state<4x512> -> !attn.stream<4x512>
  %o = kv.attend_finish %s1 sink @sink : !kv.state<4x512> -> !attn.stream<4x512>
  kv.return %o : !attn.stream<4x512>
} prefill {
}

// CHECK-LABEL: kv.step @rebuilt
kv.step @rebuilt (!attn.stream<4x512>) -> (!attn.stream<4x512>) decode {
^bb0(%q: !attn.stream<4x512>):
  %c = kv.read @layers.0.main[0] : !kv.rows<512>
  // CHECK: kv.rebuild (%{{.*}} : !kv.rows<512>) -> (!kv.rows<4x512>) {
  %k = kv.rebuild (%c : !kv.rows<512>) -> (!kv.rows<4x512>) {
  ^bb0(%e: !attn.stream<512>):
    %y = attn.linear %e, @k_up : (!attn.stream<512>) -> !attn.stream<4x512>
    // CHECK: kv.yield %{{.*}} : !attn.stream<4x512>
    kv.yield %y : !attn.stream<4x512>
  }
  %s0 = kv.attend_init : !kv.state<4x512>
  // CHECK: kv.attend_partial {{.*}} consts [@slope] -> !kv.state<4x512> {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
  %s1 = kv.attend_partial %s0 scale 0.5 window 0 (%q : !attn.stream<4x512>)
      keys (%k : !kv.rows<4x512>) value %k : !kv.rows<4x512> consts [@slope] -> !kv.state<4x512> {
  ^bb0(%s: f32, %qp: f32, %kp: f32, %h: f32, %slope: f32):
    %d = arith.subf %kp, %qp : f32
    %b = arith.mulf %d, %slope : f32
    %r = arith.addf %s, %b : f32
    attn.yield %r : f32
  }
  %o = kv.attend_finish %s1 : !kv.state<4x512> -> !attn.stream<4x512>
  kv.return %o : !attn.stream<4x512>
} prefill {
}
