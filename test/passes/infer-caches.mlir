// RUN: attn-opt %s --split-input-file --attn-infer-caches="balance=20 remarks=none" | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-infer-caches="cut=bytes remarks=none" | FileCheck %s --check-prefix=BYTES
// RUN: attn-opt %s --split-input-file --attn-infer-caches="cut=flops remarks=none" | FileCheck %s --check-prefix=FLOPS

// Grouped-query attention keeps its rotated keys and its values as one row. The
// storage of a stream prices it and is used up.

attn.weight @k : 32x256
attn.weight @v : 32x256
// CHECK-LABEL: attn.model @gqa
// CHECK-NOT: attn.storage
attn.model @gqa(%q: !attn.stream<4x16>, %x: !attn.stream<256>) -> !attn.stream<4x16> {
  // CHECK: attn.linear %{{.*}}, @k {layer = 7 : i64}
  %k0 = attn.linear %x, @k {layer = 7 : i64} : (!attn.stream<256>) -> !attn.stream<2x16>
  // CHECK: attn.rope {{.*}} {attn.keep = {cache = "layers.7.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 7 : i64, name = "key", readers = array<i64: 7>, rows = 0 : i64, segment = 0 : i64}, layer = 7 : i64}
  %k = attn.rope %k0 first half_split <theta = 10000.0, dims = 16> {layer = 7 : i64} : !attn.stream<2x16>
  // CHECK: attn.linear %{{.*}}, @v {attn.keep = {cache = "layers.7.main", {{.*}}format = #attn.format<f16>, {{.*}}name = "value", readers = array<i64: 7>, rows = 0 : i64, segment = 1 : i64}
  %v = attn.linear %x, @v {layer = 7 : i64, attn.storage = #attn.format<f16>} : (!attn.stream<256>) -> !attn.stream<2x16>
  // CHECK: attn.attend
  %o = attn.attend scale 0.25 causal (%q, %k : !attn.stream<4x16>, !attn.stream<2x16>)
    values %v : !attn.stream<2x16> {layer = 7 : i64} -> !attn.stream<4x16>
  attn.return %o : !attn.stream<4x16>
}

// -----

// Absorbed MLA: the latent is key and value, the rotated key a part of its own.

attn.weight @kv_a : 40x256
// CHECK-LABEL: attn.model @mla
attn.model @mla(%qn: !attn.stream<4x32>, %qr: !attn.stream<4x8>, %x: !attn.stream<256>) -> !attn.stream<4x32> {
  // CHECK: attn.linear
  // CHECK-NOT: attn.keep
  // CHECK: attn.slice
  %kv = attn.linear %x, @kv_a : (!attn.stream<256>) -> !attn.stream<40>
  %c0 = attn.slice %kv [0, 32] : !attn.stream<40> -> !attn.stream<32>
  // CHECK: attn.rms_norm {{.*}}name = "latent", {{.*}}segment = 0
  %c = attn.rms_norm %c0 eps 1.0e-6 : !attn.stream<32>
  %kr0 = attn.slice %kv [32, 8] : !attn.stream<40> -> !attn.stream<8>
  // CHECK: attn.rope {{.*}}name = "rope_key", {{.*}}segment = 1
  %kr = attn.rope %kr0 first interleaved <theta = 10000.0, dims = 8> : !attn.stream<8>
  %o = attn.attend scale 0.25
    causal (%qn, %c : !attn.stream<4x32>, !attn.stream<32>), (%qr, %kr : !attn.stream<4x8>, !attn.stream<8>)
    values %c : !attn.stream<32> -> !attn.stream<4x32>
  attn.return %o : !attn.stream<4x32>
}

// -----

// Nobody's model: keys and values are wide images of a squashed narrow stream
// whose input comes from outside the graph. flops keeps what is read, 320 bytes.
// bytes keeps the 4 channels that all of it follows from: not the 4 before the
// squashing, which would be computed again for nothing, nor the 8 before those.
// cost keeps the keys, which take 8,704 FLOP to compute again, but not the values,
// which take 768: 128 + 8 + 768 / 20 = 174.4 against 320 and 481.6.

attn.weight @squeeze : 4x8
attn.weight @k : 64x4
attn.weight @v : 96x4
// CHECK-LABEL: attn.model @nobodys
// BYTES-LABEL: attn.model @nobodys
// FLOPS-LABEL: attn.model @nobodys
attn.model @nobodys(%q: !attn.stream<2x32>, %x: !attn.stream<64>) -> !attn.stream<2x48> {
  // BYTES-NOT: attn.keep
  %f = attn.extern @outside (%x) : (!attn.stream<64>) -> !attn.stream<8>
  %n = attn.linear %f, @squeeze : (!attn.stream<8>) -> !attn.stream<4>
  // CHECK: attn.map{{.*}} {attn.keep = {cache = "layers.0.main", {{.*}}name = "value_input", {{.*}}segment = 1 : i64}}
  // CHECK-NOT: attn.keep
  // BYTES: attn.map{{.*}} {attn.keep = {cache = "layers.0.main", {{.*}}name = "latent", {{.*}}segment = 0 : i64}}
  // BYTES-NOT: attn.keep
  %t = attn.map(%n : !attn.stream<4>) -> !attn.stream<4> {
  ^bb0(%s: f32):
    %u = math.tanh %s : f32
    attn.yield %u : f32
  }
  %k = attn.linear %t, @k : (!attn.stream<4>) -> !attn.stream<2x32>
  // FLOPS: attn.linear %{{.*}}, @v {attn.keep = {{.*}}name = "value"
  %v = attn.linear %t, @v {attn.storage = #attn.format<f32>} : (!attn.stream<4>) -> !attn.stream<2x48>
  // CHECK: attn.linear %{{.*}}, @k2 {attn.keep = {cache = "layers.0.main", {{.*}}name = "key", {{.*}}segment = 0 : i64}}
  // FLOPS: attn.linear %{{.*}}, @k2 {attn.keep = {{.*}}name = "key"
  %k2 = attn.linear %k, @k2 : (!attn.stream<2x32>) -> !attn.stream<2x32>
  %o = attn.attend scale 0.25 causal (%q, %k2 : !attn.stream<2x32>, !attn.stream<2x32>)
    values %v : !attn.stream<2x48> -> !attn.stream<2x48>
  attn.return %o : !attn.stream<2x48>
}
attn.weight @k2 : 64x64

// -----

// MHA over a hidden stream of half the width of keys and values.

attn.weight @k : 64x64
attn.weight @v : 64x64
// CHECK-LABEL: attn.model @mha
// CHECK: @k {attn.keep
// CHECK: @v {attn.keep
// BYTES-LABEL: attn.model @mha
// BYTES-SAME: %{{.*}}: !attn.stream<64> {attn.keep = {cache = "layers.0.main", {{.*}}name = "hidden"
attn.model @mha(%x: !attn.stream<64>, %q: !attn.stream<4x16>) -> !attn.stream<4x16> {
  // BYTES-NOT: attn.keep
  %k = attn.linear %x, @k : (!attn.stream<64>) -> !attn.stream<4x16>
  %v = attn.linear %x, @v : (!attn.stream<64>) -> !attn.stream<4x16>
  // BYTES: attn.attend
  %o = attn.attend scale 0.25 causal (%q, %k : !attn.stream<4x16>, !attn.stream<4x16>)
    values %v : !attn.stream<4x16> -> !attn.stream<4x16>
  attn.return %o : !attn.stream<4x16>
}

// -----

// Two layers read one source, a third its own: rows by their readers.

// CHECK-LABEL: attn.model @shared
// CHECK-SAME: %{{.*}}: !attn.stream<8> {attn.keep = {cache = "layers.2.main", {{.*}}layer = 2 : i64, name = "key", readers = array<i64: 2, 5>, rows = 0 : i64, segment = 0 : i64}}
// CHECK-SAME: %{{.*}}: !attn.stream<8> {attn.keep = {cache = "layers.2.main", {{.*}}name = "value", readers = array<i64: 2, 5>, rows = 0 : i64, segment = 1 : i64}}
// CHECK-SAME: %{{.*}}: !attn.stream<8> {attn.keep = {cache = "layers.5.main", {{.*}}layer = 5 : i64, name = "latent", readers = array<i64: 5>, rows = 0 : i64, segment = 0 : i64}}
attn.model @shared(%q: !attn.stream<8>, %k: !attn.stream<8>, %v: !attn.stream<8>, %c: !attn.stream<8>) -> (!attn.stream<8>, !attn.stream<8>) {
  %o2 = attn.attend scale 1.0 causal (%q, %k : !attn.stream<8>, !attn.stream<8>)
    values %v : !attn.stream<8> {layer = 2 : i64} -> !attn.stream<8>
  %o5 = attn.attend scale 1.0
    causal (%q, %k : !attn.stream<8>, !attn.stream<8>) values %v : !attn.stream<8>
    causal (%q, %c : !attn.stream<8>, !attn.stream<8>) values %c : !attn.stream<8>
    {layer = 5 : i64} -> !attn.stream<8>
  attn.return %o2, %o5 : !attn.stream<8>, !attn.stream<8>
}

// -----

// Windows keep rings, the widest first; a window over rows that are kept for ever,
// or for a wider window, adds none.

// CHECK-LABEL: attn.model @windows
// CHECK-SAME: %{{.*}}: !attn.stream<8>,
// CHECK-SAME: {attn.keep = {cache = "layers.0.window", every = 1 : i64, format = #attn.format<bf16>, kind = "ring", layer = 0 : i64, name = "latent", readers = array<i64: 0, 1>, rows = 9 : i64, segment = 0 : i64}}
// CHECK-SAME: {attn.keep = {cache = "layers.2.main", {{.*}}kind = "paged", {{.*}}readers = array<i64: 2, 3>, rows = 0 : i64
// CHECK-SAME: {attn.keep = {cache = "layers.4.window", {{.*}}rows = 5 : i64
attn.model @windows(%q: !attn.stream<8>, %a: !attn.stream<8>, %b: !attn.stream<8>, %c: !attn.stream<8>)
    -> (!attn.stream<8>, !attn.stream<8>, !attn.stream<8>, !attn.stream<8>, !attn.stream<8>) {
  %o0 = attn.attend scale 1.0 window 5 (%q, %a : !attn.stream<8>, !attn.stream<8>) values %a : !attn.stream<8> {layer = 0 : i64} -> !attn.stream<8>
  %o1 = attn.attend scale 1.0 window 9 (%q, %a : !attn.stream<8>, !attn.stream<8>) values %a : !attn.stream<8> {layer = 1 : i64} -> !attn.stream<8>
  %o2 = attn.attend scale 1.0 causal (%q, %b : !attn.stream<8>, !attn.stream<8>) values %b : !attn.stream<8> {layer = 2 : i64} -> !attn.stream<8>
  %o3 = attn.attend scale 1.0 window 5 (%q, %b : !attn.stream<8>, !attn.stream<8>) values %b : !attn.stream<8> {layer = 3 : i64} -> !attn.stream<8>
  %o4 = attn.attend scale 1.0 window 5 (%q, %c : !attn.stream<8>, !attn.stream<8>) values %c : !attn.stream<8> {layer = 4 : i64} -> !attn.stream<8>
  attn.return %o0, %o1, %o2, %o3, %o4 : !attn.stream<8>, !attn.stream<8>, !attn.stream<8>, !attn.stream<8>, !attn.stream<8>
}

// -----

// Both sides of one attend, far and near: two caches of one layer. Streams of
// another rate are rows of their own, and rows of one lifetime that other ops
// read get a name of their own.

// CHECK-LABEL: attn.model @far_and_near
// CHECK-SAME: {attn.keep = {cache = "layers.0.main", every = 4 : i64,
// CHECK-SAME: {attn.keep = {cache = "layers.0.window", every = 1 : i64,
// CHECK-SAME: {attn.keep = {cache = "layers.0.main2", every = 1 : i64,
attn.model @far_and_near(%q: !attn.stream<8>, %far: !attn.stream<8, every 4>, %near: !attn.stream<8>, %k: !attn.stream<8>) -> !attn.stream<8> {
  %o = attn.attend scale 1.0
    causal (%q, %far : !attn.stream<8>, !attn.stream<8, every 4>) values %far : !attn.stream<8, every 4>
    window 4 (%q, %near : !attn.stream<8>, !attn.stream<8>) values %near : !attn.stream<8>
    causal (%q, %k : !attn.stream<8>, !attn.stream<8>) values %k : !attn.stream<8>
    -> !attn.stream<8>
  attn.return %o : !attn.stream<8>
}

// -----

// What only keys, or only values, are computed from.

attn.weight @k : 64x4
attn.weight @v : 64x4
// BYTES-LABEL: attn.model @inputs_of_each
// BYTES-SAME: name = "key_input"
// BYTES-SAME: name = "value_input"
attn.model @inputs_of_each(%q: !attn.stream<4x16>, %a: !attn.stream<4>, %b: !attn.stream<4>) -> !attn.stream<4x16> {
  %k = attn.linear %a, @k : (!attn.stream<4>) -> !attn.stream<4x16>
  %v = attn.linear %b, @v : (!attn.stream<4>) -> !attn.stream<4x16>
  %o = attn.attend scale 0.25 causal (%q, %k : !attn.stream<4x16>, !attn.stream<4x16>)
    values %v : !attn.stream<4x16> -> !attn.stream<4x16>
  attn.return %o : !attn.stream<4x16>
}

// -----

// Both forms of a model keep the same streams.

attn.weight @k : 8x8
// CHECK-LABEL: attn.model @m(
// CHECK: @k {attn.id = 0 : i64, attn.keep = [[KEEP:.*]]}
// CHECK-LABEL: attn.model @m.prefill(
// CHECK: @k {attn.id = 0 : i64, attn.keep = [[KEEP]]}
attn.model @m(%q: !attn.stream<8>, %x: !attn.stream<8>) -> !attn.stream<8> {
  %k = attn.linear %x, @k {attn.id = 0 : i64} : (!attn.stream<8>) -> !attn.stream<8>
  %o = attn.attend scale 1.0 causal (%q, %k : !attn.stream<8>, !attn.stream<8>) values %k : !attn.stream<8> {attn.id = 1 : i64} -> !attn.stream<8>
  attn.return %o : !attn.stream<8>
}
attn.model @m.prefill(%q: !attn.stream<8>, %x: !attn.stream<8>) -> !attn.stream<8> attributes {form = "prefill"} {
  %k = attn.linear %x, @k {attn.id = 0 : i64} : (!attn.stream<8>) -> !attn.stream<8>
  %o = attn.attend scale 1.0 causal (%q, %k : !attn.stream<8>, !attn.stream<8>) values %k : !attn.stream<8> {attn.id = 1 : i64} -> !attn.stream<8>
  attn.return %o : !attn.stream<8>
}

// -----

// What is read to choose what an attend reads is a row of its own.

// CHECK-LABEL: attn.model @indexed
// CHECK-SAME: %{{.*}}: !attn.stream<8> {attn.keep = {cache = "layers.0.main",
// CHECK-SAME: %{{.*}}: !attn.stream<4> {attn.keep = {cache = "layers.0.index", {{.*}}name = "index_key"
attn.model @indexed(%q: !attn.stream<8>, %c: !attn.stream<8>, %iq: !attn.stream<2x4>, %ik: !attn.stream<4>) -> !attn.stream<8> {
  %s = attn.score relu scale 1.0 (%iq, %ik : !attn.stream<2x4>, !attn.stream<4>) -> !attn.scores
  %t = attn.top_k %s : !attn.scores -> !attn.selection<16>
  %o = attn.attend scale 1.0 select %t : !attn.selection<16> (%q, %c : !attn.stream<8>, !attn.stream<8>) values %c : !attn.stream<8> -> !attn.stream<8>
  attn.return %o : !attn.stream<8>
}
