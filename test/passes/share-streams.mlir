// RUN: attn-opt %s --split-input-file --attn-share-streams=remarks=none | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-share-streams=remarks=all --verify-diagnostics -o /dev/null

// Two layers that read one source: one stream, the lowest layer.

// CHECK: attn.weight @k : 8x8
// CHECK-NOT: @unread
attn.weight @k : 8x8
attn.weight @unread : 8x8
// CHECK-LABEL: attn.model @across_layers
attn.model @across_layers(%x: !attn.stream<8>, %q: !attn.stream<8>) -> (!attn.stream<8>, !attn.stream<8>) {
  // CHECK-NEXT: %[[K:.+]] = attn.linear %{{.*}}, @k {attn.trace = "keys", layer = 2 : i64}
  // CHECK-NEXT: %[[N:.+]] = attn.rms_norm %[[K]]
  // CHECK-NEXT: attn.return %[[K]], %[[N]]
  %k3 = attn.linear %x, @k {layer = 3 : i64} : (!attn.stream<8>) -> !attn.stream<8>
  // expected-remark@+1 {{applied: attn.linear by @k computes the stream of layer 3 again; both read one}}
  %k2 = attn.linear %x, @k {layer = 2 : i64, attn.trace = "keys"} : (!attn.stream<8>) -> !attn.stream<8>
  %n = attn.rms_norm %k2 eps 1.0e-6 : !attn.stream<8>
  attn.return %k3, %n : !attn.stream<8>, !attn.stream<8>
}

// -----

// Chains merge from their start; bodies are compared.

// CHECK-LABEL: attn.model @chains
attn.model @chains(%x: !attn.stream<8>) -> (!attn.stream<8>, !attn.stream<8>, !attn.stream<8>) {
  // CHECK: attn.rms_norm
  // CHECK-NOT: attn.rms_norm
  // CHECK: %[[A:.+]] = attn.map
  // CHECK: %[[C:.+]] = attn.map
  // CHECK: attn.return %[[A]], %[[A]], %[[C]]
  %n1 = attn.rms_norm %x eps 1.0e-6 : !attn.stream<8>
  %n2 = attn.rms_norm %x eps 1.0e-6 : !attn.stream<8>
  %a = attn.map(%n1 : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%s: f32):
    %t = arith.addf %s, %s : f32
    attn.yield %t : f32
  }
  %b = attn.map(%n2 : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%s: f32):
    %t = arith.addf %s, %s : f32
    attn.yield %t : f32
  }
  %c = attn.map(%n2 : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%s: f32):
    %t = arith.mulf %s, %s : f32
    attn.yield %t : f32
  }
  attn.return %a, %b, %c : !attn.stream<8>, !attn.stream<8>, !attn.stream<8>
}

// -----

// What differs stays apart: an attribute, a weight, the name under which a stream
// is published.

attn.weight @a : 8x8
attn.weight @b : 8x8
// CHECK-LABEL: attn.model @different
attn.model @different(%x: !attn.stream<8>) -> (!attn.stream<8>, !attn.stream<8>, !attn.stream<8>, !attn.stream<8>) {
  // CHECK-COUNT-4: attn.linear
  // CHECK-COUNT-2: attn.rms_norm
  %a = attn.linear %x, @a : (!attn.stream<8>) -> !attn.stream<8>
  %b = attn.linear %x, @b : (!attn.stream<8>) -> !attn.stream<8>
  %c = attn.linear %x, @b {attn.trace = "c"} : (!attn.stream<8>) -> !attn.stream<8>
  %d = attn.linear %x, @a transpose : (!attn.stream<8>) -> !attn.stream<8>
  %e = attn.linear %x, @b {attn.trace = "e"} : (!attn.stream<8>) -> !attn.stream<8>
  %f = attn.rms_norm %a eps 1.0e-6 : !attn.stream<8>
  %g = attn.rms_norm %a eps 1.0e-5 : !attn.stream<8>
  attn.return %b, %d, %f, %g : !attn.stream<8>, !attn.stream<8>, !attn.stream<8>, !attn.stream<8>
}

// -----

// A traced op stays without readers, with its weight; others go.

// CHECK: attn.weight @w
// CHECK-NOT: attn.weight @v
attn.weight @w : 8x8
attn.weight @v : 8x8
// CHECK-LABEL: attn.model @unread
attn.model @unread(%x: !attn.stream<8>) -> !attn.stream<8> {
  // CHECK-NEXT: attn.linear %{{.*}}, @w {attn.trace = "seen"}
  // CHECK-NEXT: attn.return
  %t = attn.linear %x, @w {attn.trace = "seen"} : (!attn.stream<8>) -> !attn.stream<8>
  %u = attn.linear %x, @v : (!attn.stream<8>) -> !attn.stream<8>
  %n = attn.rms_norm %u eps 1.0e-6 : !attn.stream<8>
  attn.return %x : !attn.stream<8>
}
