// RUN: attn-opt %s --split-input-file --convert-attn-to-kv --kv-verify-form | FileCheck %s

// Pages are appended to once the row is there, then read. Ids, storage and keep
// attributes are used up; layers and traces stay.

#key = {cache = "layers.2.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 2 : i64, name = "key", readers = array<i64: 2>, rows = 0 : i64, segment = 0 : i64}
#value = {cache = "layers.2.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 2 : i64, name = "value", readers = array<i64: 2>, rows = 0 : i64, segment = 1 : i64}
attn.weight @k : 8x4
attn.weight @v : 8x4
attn.weight @q : 16x4
attn.weight @sink : 4
// CHECK: kv.cache @layers.2.main paged row [#kv.segment<"key", 8, #attn.format<bf16>>, #kv.segment<"value", 8, #attn.format<bf16>>] {layer = 2 : i64, readers = array<i64: 2>}
// CHECK-LABEL: kv.step @pages (!attn.stream<4>) -> (!attn.stream<4x4>) decode {
// CHECK: ^bb0(%[[X:.*]]: !attn.stream<4>):
attn.model @pages(%x: !attn.stream<4>) -> !attn.stream<4x4> {
  %q = attn.linear %x, @q {layer = 2 : i64, attn.id = 0 : i64} : (!attn.stream<4>) -> !attn.stream<4x4>
  %k0 = attn.linear %x, @k {layer = 2 : i64} : (!attn.stream<4>) -> !attn.stream<2x4>
  // CHECK: %[[K:.*]] = attn.round %{{.*}} to <bf16> {layer = 2 : i64} : !attn.stream<2x4>
  %k = attn.round %k0 to <bf16> {layer = 2 : i64, attn.keep = #key} : !attn.stream<2x4>
  %v0 = attn.linear %x, @v {layer = 2 : i64} : (!attn.stream<4>) -> !attn.stream<2x4>
  // CHECK: %[[V:.*]] = attn.round
  // CHECK-NEXT: kv.append %[[K]], %[[V]] to @layers.2.main {layer = 2 : i64} : !attn.stream<2x4>, !attn.stream<2x4>
  %v = attn.round %v0 to <bf16> {layer = 2 : i64, attn.keep = #value} : !attn.stream<2x4>
  // CHECK: %[[S0:.*]] = kv.attend_init {layer = 2 : i64} : !kv.state<4x4>
  // CHECK: %[[KR:.*]] = kv.read @layers.2.main[0] : !kv.rows<2x4>
  // CHECK: %[[VR:.*]] = kv.read @layers.2.main[1] : !kv.rows<2x4>
  // CHECK: %[[S1:.*]] = kv.attend_partial %[[S0]] scale 5.000000e-01 window 0 (%{{.*}} : !attn.stream<4x4>) keys (%[[KR]] : !kv.rows<2x4>) value %[[VR]] : !kv.rows<2x4> {layer = 2 : i64} -> !kv.state<4x4>
  // CHECK: kv.attend_finish %[[S1]] sink @sink {attn.trace = "o", layer = 2 : i64} : !kv.state<4x4> -> !attn.stream<4x4>
  %o = attn.attend scale 0.5 sink @sink causal (%q, %k : !attn.stream<4x4>, !attn.stream<2x4>)
      values %v : !attn.stream<2x4> {layer = 2 : i64, attn.trace = "o"} -> !attn.stream<4x4>
  attn.return %o : !attn.stream<4x4>
}
// CHECK: } prefill {
// CHECK-NEXT: }

// -----

// A ring is read as it was, then the chunk's own streams; it is written after
// its last reader. A score map goes to both.

#ring = {cache = "layers.0.window", every = 1 : i64, format = #attn.format<f32>, kind = "ring", layer = 0 : i64, name = "latent", readers = array<i64: 0, 1>, rows = 8 : i64, segment = 0 : i64}
attn.weight @w : 4x4
// CHECK: kv.cache @layers.0.window ring 8 row
// CHECK-LABEL: kv.step @ring
attn.model @ring(%q: !attn.stream<2x4>, %x: !attn.stream<4>) -> !attn.stream<2x4> {
  // CHECK: %[[C:.*]] = attn.linear
  %c = attn.linear %x, @w {attn.keep = #ring} : (!attn.stream<4>) -> !attn.stream<4>
  // CHECK: %[[R0:.*]] = kv.read @layers.0.window[0] : !kv.rows<4>
  // CHECK: %[[S0:.*]] = kv.attend_partial %{{.*}} window 8 (%{{.*}}) keys (%[[R0]] : !kv.rows<4>) value %[[R0]] : !kv.rows<4> -> !kv.state<2x4> {
  // CHECK: math.tanh
  // CHECK: kv.attend_partial %[[S0]] scale 5.000000e-01 window 8 (%{{.*}}) keys (%[[C]] : !attn.stream<4>) value %[[C]] : !attn.stream<4> -> !kv.state<2x4> {
  // CHECK: math.tanh
  %a = attn.attend scale 0.5 window 8 (%q, %c : !attn.stream<2x4>, !attn.stream<4>)
      values %c : !attn.stream<4> -> !attn.stream<2x4> {
  ^bb0(%s: f32, %qp: f32, %kp: f32, %h: f32):
    %t = math.tanh %s : f32
    attn.yield %t : f32
  }
  // CHECK: kv.attend_finish
  // CHECK: kv.read @layers.0.window[0]
  // CHECK: window 4 (%{{.*}}) keys (%{{.*}} : !kv.rows<4>)
  // CHECK: window 4 (%{{.*}}) keys (%[[C]] : !attn.stream<4>)
  // CHECK: kv.attend_finish
  // CHECK-NEXT: kv.append %[[C]] to @layers.0.window {layer = 0 : i64}
  %b = attn.attend scale 0.5 window 4 (%a, %c : !attn.stream<2x4>, !attn.stream<4>)
      values %c : !attn.stream<4> -> !attn.stream<2x4>
  // CHECK-NEXT: kv.return
  attn.return %b : !attn.stream<2x4>
}

// -----

// What is not kept is rebuilt, key and value together; the chunk's own
// projections are dead then.

#latent = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "latent", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
#rope = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "rope_key", readers = array<i64: 0>, rows = 0 : i64, segment = 1 : i64}
attn.weight @down : 4x8
attn.weight @k_rope : 2x8
attn.weight @up : 16x4
attn.weight @norm : 4
// CHECK-LABEL: kv.step @rebuild
attn.model @rebuild(%x: !attn.stream<8>, %q: !attn.stream<2x4>, %qr: !attn.stream<2x2>) -> !attn.stream<2x4> {
  // CHECK: %[[C:.*]] = attn.linear %{{.*}}, @down
  %c = attn.linear %x, @down {attn.keep = #latent} : (!attn.stream<8>) -> !attn.stream<4>
  // CHECK: %[[KR:.*]] = attn.linear %{{.*}}, @k_rope
  %kr = attn.linear %x, @k_rope {attn.keep = #rope} : (!attn.stream<8>) -> !attn.stream<2>
  // CHECK-NEXT: kv.append %[[C]], %[[KR]]
  // CHECK-NOT: attn.rms_norm
  %n = attn.rms_norm %c, @norm eps 1.0e-6 : !attn.stream<4>
  %k = attn.linear %n, @up groups 2 rows [0, 4] : (!attn.stream<4>) -> !attn.stream<2x4>
  %v = attn.linear %n, @up groups 2 rows [4, 4] : (!attn.stream<4>) -> !attn.stream<2x4>
  // CHECK: %[[RC:.*]] = kv.read @layers.0.main[0] : !kv.rows<4>
  // CHECK: %[[RK:.*]]:2 = kv.rebuild (%[[RC]] : !kv.rows<4>) -> (!kv.rows<2x4>, !kv.rows<2x4>) {
  // CHECK-NEXT: ^bb0(%[[E:.*]]: !attn.stream<4>):
  // CHECK-NEXT: %[[N:.*]] = attn.rms_norm %[[E]], @norm
  // CHECK-NEXT: %[[K:.*]] = attn.linear %[[N]], @up groups 2 rows [0, 4]
  // CHECK-NEXT: %[[V:.*]] = attn.linear %[[N]], @up groups 2 rows [4, 4]
  // CHECK-NEXT: kv.yield %[[K]], %[[V]]
  // CHECK: keys (%[[RK]]#0, %{{.*}} : !kv.rows<2x4>, !kv.rows<2>) value %[[RK]]#1 : !kv.rows<2x4>
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<2x4>, !attn.stream<2x4>),
                                    (%qr, %kr : !attn.stream<2x2>, !attn.stream<2>)
      values %v : !attn.stream<2x4> -> !attn.stream<2x4>
  attn.return %o : !attn.stream<2x4>
}

// -----

// An argument of the model may be kept. Two layers that read one row share its
// cache; two sources fold into one state.

#hidden = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "hidden", readers = array<i64: 0, 1>, rows = 0 : i64, segment = 0 : i64}
// CHECK-LABEL: kv.step @shared
// CHECK: ^bb0(%[[X:.*]]: !attn.stream<4>):
// CHECK-NEXT: kv.append %[[X]] to @layers.0.main
// CHECK-NOT: kv.append
attn.model @shared(%x: !attn.stream<4> {attn.keep = #hidden}) -> !attn.stream<1x4> {
  // CHECK: kv.attend_init
  // CHECK: kv.read
  // CHECK: %[[S:.*]] = kv.attend_partial {{.*}} window 0
  // CHECK: kv.read
  // CHECK: kv.attend_partial %[[S]] {{.*}} window 3
  %a = attn.attend scale 0.5
      causal (%x, %x : !attn.stream<4>, !attn.stream<4>) values %x : !attn.stream<4>
      window 3 (%x, %x : !attn.stream<4>, !attn.stream<4>) values %x : !attn.stream<4>
      -> !attn.stream<1x4>
  // CHECK: kv.attend_init
  %b = attn.attend scale 0.5 causal (%a, %x : !attn.stream<1x4>, !attn.stream<4>)
      values %x : !attn.stream<4> -> !attn.stream<1x4>
  attn.return %b : !attn.stream<1x4>
}
