// RUN: attn-opt %s --split-input-file --attn-infer-caches="remarks=none" | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-infer-caches="remarks=none cut=bytes" | FileCheck %s --check-prefix=BYTES

// A compressor with overlap, every 3: two open blocks of the part at -1 and one
// of the part at 0, three rows each. What it makes is kept at its rate; an index
// key that comes from the same latent is kept beside it, or made again.

attn.weight @iw : 4x8
attn.weight @ape : 3x16
// CHECK-LABEL: attn.model @one_latent
// BYTES-LABEL: attn.model @one_latent
attn.model @one_latent(%q: !attn.stream<2x8>, %iq: !attn.stream<2x4>, %v: !attn.stream<8>, %g: !attn.stream<8>) -> !attn.stream<2x8> {
  // CHECK: attn.compress {{.*}} {attn.keep = {cache = "layers.5.main", every = 3 : i64, {{.*}}kind = "paged", {{.*}}name = "latent"
  // CHECK-SAME: attn.state = {cache = "layers.5.main_fold", every = 3 : i64, format = #attn.format<f32>, kind = "state", layer = 5 : i64, name = "fold", readers = array<i64: 5>, rows = 9 : i64, segment = 0 : i64}
  // BYTES: attn.compress {{.*}}attn.keep = {{.*}}name = "latent"
  %c = attn.compress every 3 bias @ape (%v, %g at -1 : !attn.stream<8>, !attn.stream<8>), (%v, %g at 0 : !attn.stream<8>, !attn.stream<8>) {layer = 5 : i64} -> !attn.stream<8, every 3>
  // CHECK: attn.linear {{.*}}attn.keep = {cache = "layers.5.index", every = 3 : i64, {{.*}}name = "index_key"
  // BYTES-NOT: attn.keep
  %ik = attn.linear %c, @iw {layer = 5 : i64} : (!attn.stream<8, every 3>) -> !attn.stream<4, every 3>
  %ik2 = attn.linear %ik, @iw2 {layer = 5 : i64} : (!attn.stream<4, every 3>) -> !attn.stream<512, every 3>
  %ik3 = attn.linear %ik2, @iw3 {layer = 5 : i64} : (!attn.stream<512, every 3>) -> !attn.stream<4, every 3>
  %s = attn.score relu scale 1.0 (%iq, %ik3 : !attn.stream<2x4>, !attn.stream<4, every 3>) {layer = 5 : i64} -> !attn.scores<every 3>
  %t = attn.top_k %s {layer = 5 : i64} : !attn.scores<every 3> -> !attn.selection<16, every 3>
  %o = attn.attend scale 1.0 select %t : !attn.selection<16, every 3> (%q, %c : !attn.stream<2x8>, !attn.stream<8, every 3>) values %c : !attn.stream<8, every 3> {layer = 5 : i64} -> !attn.stream<2x8>
  // BYTES: attn.return
  attn.return %o : !attn.stream<2x8>
}
attn.weight @iw2 : 512x4
attn.weight @iw3 : 4x512

// -----

// Two compressors of one layer; the second feeds nothing but a choice. Rows and
// index keys that a later layer reads too are stored once.

// CHECK-LABEL: attn.model @shared
attn.model @shared(%q: !attn.stream<8>, %iq: !attn.stream<4>, %v: !attn.stream<8>, %iv: !attn.stream<4>, %ig: !attn.stream<1>) -> (!attn.stream<8>, !attn.stream<8>, !attn.stream<8>) {
  // CHECK: attn.compress {{.*}}attn.keep = {cache = "layers.1.main", every = 2 : i64, {{.*}}readers = array<i64: 1, 2, 3>
  // CHECK-SAME: attn.state = {cache = "layers.1.main_fold", {{.*}}rows = 3 : i64
  %c = attn.compress every 2 (%v at 0 : !attn.stream<8>) {layer = 1 : i64} -> !attn.stream<8, every 2>
  // CHECK: attn.compress {{.*}}attn.keep = {cache = "layers.1.index", every = 2 : i64, {{.*}}readers = array<i64: 1, 2>
  // CHECK-SAME: attn.state = {cache = "layers.1.index_fold", {{.*}}rows = 9 : i64
  %ik = attn.compress every 2 (%iv, %ig at -2 : !attn.stream<4>, !attn.stream<1>) {layer = 1 : i64} -> !attn.stream<4, every 2>
  // CHECK-NOT: attn.keep
  // CHECK-NOT: attn.state
  %s1 = attn.score none scale 1.0 (%iq, %ik : !attn.stream<4>, !attn.stream<4, every 2>) {layer = 1 : i64} -> !attn.scores<every 2>
  %t1 = attn.top_k %s1 {layer = 1 : i64} : !attn.scores<every 2> -> !attn.selection<4, every 2>
  %s2 = attn.score relu scale 1.0 (%iq, %ik : !attn.stream<4>, !attn.stream<4, every 2>) {layer = 2 : i64} -> !attn.scores<every 2>
  %t2 = attn.block_top_k %s2 block 2 max {layer = 2 : i64} : !attn.scores<every 2> -> !attn.selection<4, every 2, block 2>
  %o1 = attn.attend scale 1.0 select %t1 : !attn.selection<4, every 2> (%q, %c : !attn.stream<8>, !attn.stream<8, every 2>) values %c : !attn.stream<8, every 2> {layer = 1 : i64} -> !attn.stream<8>
  %o2 = attn.attend scale 1.0 select %t2 : !attn.selection<4, every 2, block 2> (%q, %c : !attn.stream<8>, !attn.stream<8, every 2>) values %c : !attn.stream<8, every 2> {layer = 2 : i64} -> !attn.stream<8>
  %o3 = attn.attend scale 1.0 select %t1 : !attn.selection<4, every 2> (%q, %c : !attn.stream<8>, !attn.stream<8, every 2>) values %c : !attn.stream<8, every 2> {layer = 3 : i64} -> !attn.stream<8>
  attn.return %o1, %o2, %o3 : !attn.stream<8>, !attn.stream<8>, !attn.stream<8>
}

// -----

// Both forms of a model carry the same state.

// CHECK-LABEL: attn.model @m(
// CHECK: attn.compress {{.*}} {attn.id = 0 : i64, [[REST:attn.keep = .*attn.state = .*]]}
// CHECK-LABEL: attn.model @m.prefill(
// CHECK: attn.compress {{.*}} {attn.id = 0 : i64, [[REST]]}
attn.model @m(%q: !attn.stream<4>, %x: !attn.stream<4>) -> !attn.stream<4> {
  %k = attn.compress every 2 (%x at 0 : !attn.stream<4>) {attn.id = 0 : i64} -> !attn.stream<4, every 2>
  %o = attn.attend scale 1.0 causal (%q, %k : !attn.stream<4>, !attn.stream<4, every 2>) values %k : !attn.stream<4, every 2> {attn.id = 1 : i64} -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}
attn.model @m.prefill(%q: !attn.stream<4>, %x: !attn.stream<4>) -> !attn.stream<4> attributes {form = "prefill"} {
  %k = attn.compress every 2 (%x at 0 : !attn.stream<4>) {attn.id = 0 : i64} -> !attn.stream<4, every 2>
  %o = attn.attend scale 1.0 causal (%q, %k : !attn.stream<4>, !attn.stream<4, every 2>) values %k : !attn.stream<4, every 2> {attn.id = 1 : i64} -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}
