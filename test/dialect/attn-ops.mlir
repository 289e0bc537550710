// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// Every op prints as it is written.

// CHECK: attn.weight @matrix : 64x32
attn.weight @matrix : 64x32
// CHECK: attn.weight private @model.layers.0.norm.weight : 64 {note = "kept"}
attn.weight private @"model.layers.0.norm.weight" : 64 {note = "kept"}
attn.weight @bias : 64
attn.weight @norm : 16
attn.weight @per_head : 4

// CHECK-LABEL: attn.model @structure(
// CHECK-SAME: %[[X:.+]]: !attn.stream<64>, %[[Y:.+]]: !attn.stream<32>) -> (!attn.stream<32>, !attn.stream<64>)
// CHECK: attn.return %[[Y]], %[[X]] : !attn.stream<32>, !attn.stream<64>
attn.model @structure(%x: !attn.stream<64>, %y: !attn.stream<32>) -> (!attn.stream<32>, !attn.stream<64>) {
  attn.return %y, %x : !attn.stream<32>, !attn.stream<64>
}

// CHECK-LABEL: attn.model private @no_results(%{{.*}}: !attn.stream<64>) attributes {layers = 2 : i64}
attn.model private @no_results(%x: !attn.stream<64>) attributes {layers = 2 : i64} {
  attn.return
}

// CHECK-LABEL: attn.model @linear(
// CHECK-SAME: %[[X:.+]]: !attn.stream<32>, %[[H:.+]]: !attn.stream<4x32>)
attn.model @linear(%x: !attn.stream<32>, %heads: !attn.stream<4x32>) -> !attn.stream<32> {
  // CHECK: attn.linear %[[X]], @matrix : (!attn.stream<32>) -> !attn.stream<64>
  %whole = attn.linear %x, @matrix : (!attn.stream<32>) -> !attn.stream<64>
  // CHECK: attn.linear %[[X]], @matrix bias @bias {layer = 3 : i64} : (!attn.stream<32>) -> !attn.stream<8x8>
  %biased = attn.linear %x, @matrix bias @bias {layer = 3 : i64} : (!attn.stream<32>) -> !attn.stream<8x8>
  // CHECK: attn.linear %[[X]], @matrix groups 4 rows [8, 8] : (!attn.stream<32>) -> !attn.stream<4x8>
  %shared = attn.linear %x, @matrix groups 4 rows [8, 8] : (!attn.stream<32>) -> !attn.stream<4x8>
  // CHECK: attn.linear %[[H]], @matrix groups 4 : (!attn.stream<4x32>) -> !attn.stream<4x16>
  %own = attn.linear %heads, @matrix groups 4 : (!attn.stream<4x32>) -> !attn.stream<4x16>
  // CHECK: attn.linear %{{.*}}, @matrix groups 4 rows [8, 8] transpose : (!attn.stream<4x8>) -> !attn.stream<4x32>
  %turned = attn.linear %shared, @matrix groups 4 rows [8, 8] transpose : (!attn.stream<4x8>) -> !attn.stream<4x32>
  attn.return %x : !attn.stream<32>
}

// CHECK-LABEL: attn.model @per_token(
// CHECK-SAME: %[[X:.+]]: !attn.stream<64>, %[[H:.+]]: !attn.stream<4x16>, %[[S:.+]]: !attn.stream<8, every 4>)
attn.model @per_token(%x: !attn.stream<64>, %heads: !attn.stream<4x16>, %slow: !attn.stream<8, every 4>) -> !attn.stream<64> {
  // CHECK: attn.rms_norm %[[X]], @model.layers.0.norm.weight eps 1.0e-06 : !attn.stream<64>
  %norm = attn.rms_norm %x, @model.layers.0.norm.weight eps 1.0e-6 : !attn.stream<64>
  // CHECK: attn.rms_norm %[[H]], @norm eps 1.0e-06 offset 1.0 per_head : !attn.stream<4x16>
  %head_norm = attn.rms_norm %heads, @norm eps 1.0e-6 offset 1.0 per_head : !attn.stream<4x16>
  // CHECK: attn.rms_norm %[[H]] eps 1.0e-20 : !attn.stream<4x16>
  %plain_norm = attn.rms_norm %heads eps 1.0e-20 : !attn.stream<4x16>
  // CHECK: attn.rope %[[H]] last interleaved <theta = 10000.0, dims = 8> : !attn.stream<4x16>
  %last = attn.rope %heads last interleaved <theta = 10000.0, dims = 8> : !attn.stream<4x16>
  // CHECK: attn.rope %[[S]] first half_split inverse <theta = 10000.0, dims = 8> : !attn.stream<8, every 4>
  %first = attn.rope %slow first half_split inverse <theta = 10000.0, dims = 8> : !attn.stream<8, every 4>
  // CHECK: attn.slice %[[H]][12, 4] : !attn.stream<4x16> -> !attn.stream<4x4>
  %slice = attn.slice %heads [12, 4] : !attn.stream<4x16> -> !attn.stream<4x4>
  // CHECK: attn.concat %[[H]], %[[X]] : (!attn.stream<4x16>, !attn.stream<64>) -> !attn.stream<4x80>
  %concat = attn.concat %heads, %x : (!attn.stream<4x16>, !attn.stream<64>) -> !attn.stream<4x80>
  // CHECK: attn.round %[[H]] to <e4m3, block = 16, scale = e8m0> : !attn.stream<4x16>
  %round = attn.round %heads to <e4m3, block = 16, scale = e8m0> : !attn.stream<4x16>
  // CHECK: attn.extern @model.layers.0.mlp optional(%[[X]]) : (!attn.stream<64>) -> !attn.stream<64>
  %mlp = attn.extern @model.layers.0.mlp optional (%x) : (!attn.stream<64>) -> !attn.stream<64>
  // CHECK: attn.extern @mix(%[[X]], %[[H]]) : (!attn.stream<64>, !attn.stream<4x16>) -> !attn.stream<64>
  %mix = attn.extern @mix (%x, %heads) : (!attn.stream<64>, !attn.stream<4x16>) -> !attn.stream<64>
  attn.return %x : !attn.stream<64>
}

// CHECK-LABEL: attn.model @map(
// CHECK-SAME: %[[X:.+]]: !attn.stream<4x16>, %[[G:.+]]: !attn.stream<4>)
attn.model @map(%x: !attn.stream<4x16>, %gate: !attn.stream<4>) -> !attn.stream<4x16> {
  // CHECK: attn.map(%[[X]], %[[G]] : !attn.stream<4x16>, !attn.stream<4>) consts [@norm] {attn.trace = "gated"} -> !attn.stream<4x16> {
  // CHECK-NEXT: ^bb0(%[[A:.+]]: f32, %[[B:.+]]: f32, %[[C:.+]]: f32):
  // CHECK-NEXT: %[[AB:.+]] = arith.mulf %[[A]], %[[B]] : f32
  // CHECK-NEXT: %[[ABC:.+]] = arith.mulf %[[AB]], %[[C]] : f32
  // CHECK-NEXT: attn.yield %[[ABC]] : f32
  // CHECK-NEXT: }
  %y = attn.map(%x, %gate : !attn.stream<4x16>, !attn.stream<4>) consts [@norm] {attn.trace = "gated"} -> !attn.stream<4x16> {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %ab = arith.mulf %a, %b : f32
    %abc = arith.mulf %ab, %c : f32
    attn.yield %abc : f32
  }
  attn.return %y : !attn.stream<4x16>
}

// CHECK-LABEL: attn.model @attend(
// CHECK-SAME: %[[Q:.+]]: !attn.stream<4x16>, %[[QR:.+]]: !attn.stream<4x8>, %[[C:.+]]: !attn.stream<16>, %[[R:.+]]: !attn.stream<8>, %[[S:.+]]: !attn.stream<2x16, every 4>)
attn.model @attend(%q: !attn.stream<4x16>, %q_rope: !attn.stream<4x8>, %latent: !attn.stream<16>,
                   %k_rope: !attn.stream<8>, %slow: !attn.stream<2x16, every 4>) -> !attn.stream<4x16> {
  // CHECK: attn.attend scale 0.125
  // CHECK-NEXT: causal (%[[Q]], %[[C]] : !attn.stream<4x16>, !attn.stream<16>), (%[[QR]], %[[R]] : !attn.stream<4x8>, !attn.stream<8>)
  // CHECK-NEXT: values %[[C]] : !attn.stream<16>
  // CHECK-NEXT: -> !attn.stream<4x16>{{$}}
  %mla = attn.attend scale 0.125
      causal (%q, %latent : !attn.stream<4x16>, !attn.stream<16>),
             (%q_rope, %k_rope : !attn.stream<4x8>, !attn.stream<8>)
      values %latent : !attn.stream<16>
      -> !attn.stream<4x16>
  // CHECK: attn.attend scale 0.1352337796043903 sink @per_head
  // CHECK-NEXT: window 128 (%[[Q]], %[[C]] : !attn.stream<4x16>, !attn.stream<16>)
  // CHECK-NEXT: values %[[C]] : !attn.stream<16>
  // CHECK-NEXT: causal (%[[Q]], %[[S]] : !attn.stream<4x16>, !attn.stream<2x16, every 4>)
  // CHECK-NEXT: values %[[S]] : !attn.stream<2x16, every 4>
  // CHECK-NEXT: {layer = 1 : i64} -> !attn.stream<4x16>
  %two = attn.attend scale 0.1352337796043903 sink @per_head
      window 128 (%q, %latent : !attn.stream<4x16>, !attn.stream<16>) values %latent : !attn.stream<16>
      causal (%q, %slow : !attn.stream<4x16>, !attn.stream<2x16, every 4>) values %slow : !attn.stream<2x16, every 4>
      {layer = 1 : i64} -> !attn.stream<4x16>
  // CHECK: attn.attend scale 1.0 consts [@per_head]
  // CHECK: -> !attn.stream<4x16> {
  // CHECK-NEXT: ^bb0(%[[SCORE:.+]]: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %[[BIAS:.+]]: f32):
  // CHECK-NEXT: %[[SUM:.+]] = arith.addf %[[SCORE]], %[[BIAS]] : f32
  // CHECK-NEXT: attn.yield %[[SUM]] : f32
  %mapped = attn.attend scale 1.0 consts [@per_head]
      causal (%q, %latent : !attn.stream<4x16>, !attn.stream<16>) values %latent : !attn.stream<16>
      -> !attn.stream<4x16> {
  ^bb0(%score: f32, %query: f32, %key: f32, %head: f32, %bias: f32):
    %sum = arith.addf %score, %bias : f32
    attn.yield %sum : f32
  }
  attn.return %mla : !attn.stream<4x16>
}

// CHECK-LABEL: func.func @select(
// CHECK-SAME: %[[Q:.+]]: !attn.stream<4x16>, %[[K:.+]]: !attn.stream<16, every 4>, %[[S:.+]]: !attn.selection<8, every 4, groups 2>)
func.func @select(%q: !attn.stream<4x16>, %k: !attn.stream<16, every 4>, %picks: !attn.selection<8, every 4, groups 2>) {
  // CHECK: attn.attend scale 1.0
  // CHECK-NEXT: select %[[S]] : !attn.selection<8, every 4, groups 2> (%[[Q]], %[[K]] : !attn.stream<4x16>, !attn.stream<16, every 4>)
  %o = attn.attend scale 1.0
      select %picks : !attn.selection<8, every 4, groups 2>
      (%q, %k : !attn.stream<4x16>, !attn.stream<16, every 4>) values %k : !attn.stream<16, every 4>
      -> !attn.stream<4x16>
  return
}
