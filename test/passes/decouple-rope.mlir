// RUN: attn-opt %s --split-input-file --attn-decouple-rope=remarks=none | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-decouple-rope=remarks=all --verify-diagnostics -o /dev/null

// MLA as models write it: 16 heads of 128 position-free and 64 rotated channels,
// the rotated key shared by all heads.

attn.weight @q : 3072x512
attn.weight @kv_b : 4096x512
// CHECK-LABEL: attn.model @mla
// CHECK-SAME: (%[[X:.+]]: !attn.stream<512>, %[[C:.+]]: !attn.stream<512>, %[[KR:.+]]: !attn.stream<64>)
attn.model @mla(%x: !attn.stream<512>, %c: !attn.stream<512>, %kr: !attn.stream<64>) -> !attn.stream<16x128> {
  // CHECK: %[[Q:.+]] = attn.linear %[[X]], @q {layer = 3 : i64}
  %q = attn.linear %x, @q {layer = 3 : i64} : (!attn.stream<512>) -> !attn.stream<16x192>
  // CHECK-DAG: %[[QN:.+]] = attn.slice %[[Q]][0, 128] {layer = 3 : i64}
  // CHECK-DAG: %[[QP:.+]] = attn.slice %[[Q]][128, 64] {layer = 3 : i64}
  // CHECK-DAG: %[[QR:.+]] = attn.rope %[[QP]] last interleaved {{.*}} {layer = 3 : i64} : 
  // expected-remark@+1 {{applied: slices of the rotated stream are taken before the rotation}}
  %qr = attn.rope %q last interleaved <theta = 10000.0, dims = 64> {layer = 3 : i64} : !attn.stream<16x192>
  // CHECK-DAG: %[[KN:.+]] = attn.linear %[[C]], @kv_b groups 16 rows [0, 128] {layer = 3 : i64}
  // CHECK-DAG: %[[V:.+]] = attn.linear %[[C]], @kv_b groups 16 rows [128, 128] {layer = 3 : i64}
  // expected-remark@+1 {{applied: attn.linear by @kv_b is read only in slices; it becomes 2 projections of 16 groups each}}
  %kv = attn.linear %c, @kv_b {layer = 3 : i64} : (!attn.stream<512>) -> !attn.stream<16x256>
  %kn = attn.slice %kv [0, 128] {layer = 3 : i64} : !attn.stream<16x256> -> !attn.stream<16x128>
  %v = attn.slice %kv [128, 128] {layer = 3 : i64} : !attn.stream<16x256> -> !attn.stream<16x128>
  %k = attn.concat %kn, %kr {layer = 3 : i64} : (!attn.stream<16x128>, !attn.stream<64>) -> !attn.stream<16x192>
  // CHECK-NOT: attn.concat
  // CHECK: attn.attend scale 0.5
  // CHECK-NEXT: causal (%[[QN]], %[[KN]] : !attn.stream<16x128>, !attn.stream<16x128>), (%[[QR]], %[[KR]] : !attn.stream<16x64>, !attn.stream<64>)
  // CHECK-NEXT: values %[[V]] : !attn.stream<16x128>
  // CHECK-NEXT: {layer = 3 : i64} -> !attn.stream<16x128>
  // expected-remark@+1 {{applied: the key is a concatenation of 2 parts; each is scored by its own slice of the query}}
  %o = attn.attend scale 0.5 causal (%qr, %k : !attn.stream<16x192>, !attn.stream<16x192>)
    values %v : !attn.stream<16x128> {layer = 3 : i64} -> !attn.stream<16x128>
  attn.return %o : !attn.stream<16x128>
}

// -----

// Everything else of an attend survives: sink, constants, score map, the other
// sources.

attn.weight @sinks : 2
attn.weight @slopes : 2
// CHECK-LABEL: attn.model @rest_of_the_attend
attn.model @rest_of_the_attend(%q: !attn.stream<2x6>, %a: !attn.stream<4>, %b: !attn.stream<2x2>, %v: !attn.stream<8>, %k2: !attn.stream<6>) -> !attn.stream<2x8> {
  %k = attn.concat %a, %b : (!attn.stream<4>, !attn.stream<2x2>) -> !attn.stream<2x6>
  // CHECK: attn.attend scale 0.5 sink @sinks consts [@slopes]
  // CHECK-NEXT: window 4 ({{.*}} : !attn.stream<2x4>, !attn.stream<4>), ({{.*}} : !attn.stream<2x2>, !attn.stream<2x2>)
  // CHECK-NEXT: values
  // CHECK-NEXT: causal ({{.*}} : !attn.stream<2x6>, !attn.stream<6>)
  // CHECK-NEXT: values
  // CHECK-NEXT: {attn.trace = "layer0.attention"} -> !attn.stream<2x8> {
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.addf
  // expected-remark@+1 {{the key is a concatenation of 2 parts}}
  %o = attn.attend scale 0.5 sink @sinks consts [@slopes]
    window 4 (%q, %k : !attn.stream<2x6>, !attn.stream<2x6>) values %v : !attn.stream<8>
    causal (%q, %k2 : !attn.stream<2x6>, !attn.stream<6>) values %v : !attn.stream<8>
    {attn.trace = "layer0.attention"} -> !attn.stream<2x8> {
  ^bb0(%s: f32, %i: f32, %j: f32, %h: f32, %slope: f32):
    %t = arith.addf %s, %slope : f32
    attn.yield %t : f32
  }
  attn.return %o : !attn.stream<2x8>
}

// -----

// A whole-key rotation stays, and the remark names the op and its projection.

attn.weight @k_up : 256x64
attn.weight @v_up : 256x64
// CHECK-LABEL: attn.model @rope_over_whole_keys
attn.model @rope_over_whole_keys(%q: !attn.stream<2x128>, %c: !attn.stream<64>) -> !attn.stream<2x128> {
  // CHECK: %[[K0:.+]] = attn.linear %{{.*}}, @k_up :
  // CHECK: %[[K:.+]] = attn.rope %[[K0]]
  // CHECK: causal (%{{.*}}, %[[K]] : !attn.stream<2x128>, !attn.stream<2x128>)
  %k0 = attn.linear %c, @k_up : (!attn.stream<64>) -> !attn.stream<2x128>
  // expected-remark@+1 {{refused: attn.rope turns all 128 channels of the keys that attn.linear by @k_up projects up from 64 to 256 channels: no part of them is free of the position, so the projection cannot move to the query side}}
  %k = attn.rope %k0 first half_split <theta = 10000.0, dims = 128> : !attn.stream<2x128>
  %v = attn.linear %c, @v_up : (!attn.stream<64>) -> !attn.stream<2x128>
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<2x128>, !attn.stream<2x128>)
    values %v : !attn.stream<2x128> -> !attn.stream<2x128>
  attn.return %o : !attn.stream<2x128>
}

// -----

// Keys projected down are a plain GQA projection: nothing to say, nothing to do.

attn.weight @k : 64x128
// CHECK-LABEL: attn.model @gqa
attn.model @gqa(%q: !attn.stream<8x32>, %x: !attn.stream<128>, %v: !attn.stream<2x32>) -> !attn.stream<8x32> {
  // CHECK-NEXT: attn.linear
  // CHECK-NEXT: attn.rope
  // CHECK-NEXT: attn.attend
  %k0 = attn.linear %x, @k : (!attn.stream<128>) -> !attn.stream<2x32>
  %k = attn.rope %k0 first half_split <theta = 10000.0, dims = 32> : !attn.stream<2x32>
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<8x32>, !attn.stream<2x32>)
    values %v : !attn.stream<2x32> -> !attn.stream<8x32>
  attn.return %o : !attn.stream<8x32>
}

// -----

// A slice that cuts the rotated channels in two stays behind the rotation.

// CHECK-LABEL: attn.model @slice_across_the_edge
attn.model @slice_across_the_edge(%x: !attn.stream<2x8>) -> (!attn.stream<2x3>, !attn.stream<2x6>) {
  // CHECK: %[[R:.+]] = attn.rope
  // CHECK: attn.slice %[[R]][3, 3]
  // CHECK: attn.slice %[[R]][2, 6]
  %r = attn.rope %x last interleaved <theta = 10000.0, dims = 4> : !attn.stream<2x8>
  %a = attn.slice %r [3, 3] : !attn.stream<2x8> -> !attn.stream<2x3>
  %b = attn.slice %r [2, 6] : !attn.stream<2x8> -> !attn.stream<2x6>
  attn.return %a, %b : !attn.stream<2x3>, !attn.stream<2x6>
}

// -----

// A slice that holds all rotated channels, and more, is rotated at the same end.

// CHECK-LABEL: attn.model @slice_with_more
attn.model @slice_with_more(%x: !attn.stream<2x8>) -> !attn.stream<2x6> {
  // CHECK: %[[S:.+]] = attn.slice %{{.*}}[2, 6]
  // CHECK: attn.rope %[[S]] last interleaved
  // expected-remark@+1 {{slices of the rotated stream}}
  %r = attn.rope %x last interleaved <theta = 10000.0, dims = 4> : !attn.stream<2x8>
  %b = attn.slice %r [2, 6] : !attn.stream<2x8> -> !attn.stream<2x6>
  attn.return %b : !attn.stream<2x6>
}

// -----

// Slices that are not read as rows stay slices: MLA's own down-projection.

attn.weight @kv_a : 576x128
attn.weight @norm : 512
// CHECK-LABEL: attn.model @down_projection
attn.model @down_projection(%x: !attn.stream<128>) -> (!attn.stream<512>, !attn.stream<64>) {
  // CHECK: attn.linear %{{.*}}, @kv_a : (!attn.stream<128>) -> !attn.stream<576>
  // CHECK-NEXT: attn.slice
  // CHECK-NEXT: attn.rms_norm
  // CHECK-NEXT: attn.slice
  // CHECK-NEXT: attn.rope
  %kv = attn.linear %x, @kv_a : (!attn.stream<128>) -> !attn.stream<576>
  %c0 = attn.slice %kv [0, 512] : !attn.stream<576> -> !attn.stream<512>
  %c = attn.rms_norm %c0, @norm eps 1.0e-6 : !attn.stream<512>
  %kr0 = attn.slice %kv [512, 64] : !attn.stream<576> -> !attn.stream<64>
  %kr = attn.rope %kr0 first interleaved <theta = 10000.0, dims = 64> : !attn.stream<64>
  attn.return %c, %kr : !attn.stream<512>, !attn.stream<64>
}
