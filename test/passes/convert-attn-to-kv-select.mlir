// RUN: attn-opt %s --split-input-file --convert-attn-to-kv --kv-verify-form | FileCheck %s

// A score becomes part of each selection by it; keys are rows, whatever is not
// kept is rebuilt; an attend reads the rows that are picked.

#index = {cache = "layers.1.index", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 1 : i64, name = "key", readers = array<i64: 1>, rows = 0 : i64, segment = 0 : i64}
#main = {cache = "layers.1.main", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 1 : i64, name = "latent", readers = array<i64: 1>, rows = 0 : i64, segment = 0 : i64}
attn.weight @ik : 4x8
attn.weight @c : 2x8
attn.weight @k : 4x2
attn.weight @q : 16x8
// CHECK-LABEL: kv.step @selected
attn.model @selected(%x: !attn.stream<8>) -> !attn.stream<4x2> {
  // CHECK: %[[Q:.*]] = attn.linear %{{.*}}, @q
  %q = attn.linear %x, @q : (!attn.stream<8>) -> !attn.stream<4x4>
  %w = attn.slice %q [0, 1] : !attn.stream<4x4> -> !attn.stream<4x1>
  %ik = attn.linear %x, @ik {attn.keep = #index} : (!attn.stream<8>) -> !attn.stream<4>
  // CHECK: kv.append %{{.*}} to @layers.1.index
  %c = attn.linear %x, @c {attn.keep = #main} : (!attn.stream<8>) -> !attn.stream<2>
  %k = attn.linear %c, @k : (!attn.stream<2>) -> !attn.stream<4>
  // CHECK-NOT: attn.score
  // CHECK: kv.append %{{.*}} to @layers.1.main
  %s = attn.score relu scale 0.5 (%q, %ik : !attn.stream<4x4>, !attn.stream<4>)
      weights %w : !attn.stream<4x1> -> !attn.scores<groups 2>
  // CHECK: %[[K0:.*]] = kv.read @layers.1.index[0] : !kv.rows<4>
  // CHECK-NEXT: %[[POOL:.*]] = kv.top_k relu scale 5.000000e-01 (%[[Q]], %[[K0]] : !attn.stream<4x4>, !kv.rows<4>) weights %{{.*}} : !attn.stream<4x1> block 2 sum pin_newest 1 {layer = 1 : i64} -> !attn.selection<3, groups 2, block 2>
  %pool = attn.block_top_k %s block 2 sum pin_newest 1 {layer = 1 : i64} : !attn.scores<groups 2> -> !attn.selection<3, groups 2, block 2>
  %t = attn.score none scale 0.5 (%q, %k : !attn.stream<4x4>, !attn.stream<4>)
      within %pool : !attn.selection<3, groups 2, block 2> -> !attn.scores<groups 2>
  // CHECK: %[[C0:.*]] = kv.read @layers.1.main[0] : !kv.rows<2>
  // CHECK-NEXT: %[[K1:.*]] = kv.rebuild (%[[C0]] : !kv.rows<2>) -> (!kv.rows<4>)
  // CHECK: %[[SEL:.*]] = kv.top_k none scale 5.000000e-01 (%[[Q]], %[[K1]] : !attn.stream<4x4>, !kv.rows<4>) within %[[POOL]] : !attn.selection<3, groups 2, block 2> {attn.trace = "picks"} -> !attn.selection<2, groups 2>
  %sel = attn.top_k %t {attn.trace = "picks"} : !attn.scores<groups 2> -> !attn.selection<2, groups 2>
  // CHECK: kv.attend_partial %{{.*}} window 0 (%[[Q]] : !attn.stream<4x4>) keys (%{{.*}} : !kv.rows<4>) value %{{.*}} : !kv.rows<2> select %[[SEL]] : !attn.selection<2, groups 2> -> !kv.state<4x2>
  %a = attn.attend scale 0.5 select %sel : !attn.selection<2, groups 2> (%q, %k : !attn.stream<4x4>, !attn.stream<4>)
      values %c : !attn.stream<2> -> !attn.stream<4x2>
  attn.return %a : !attn.stream<4x2>
}
