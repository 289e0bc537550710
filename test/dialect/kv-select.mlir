// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

kv.cache @main paged row [#kv.segment<"key", 4, #attn.format<f32>>]
kv.cache @index paged row [#kv.segment<"key", 4, #attn.format<f32>>]

// CHECK-LABEL: kv.step @select
kv.step @select (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %k = attn.slice %q [0, 1] : !attn.stream<4x4> -> !attn.stream<4x1>
  %w = attn.slice %q [1, 1] : !attn.stream<4x4> -> !attn.stream<4x1>
  kv.append %k to @main : !attn.stream<4x1>
  kv.append %k to @index : !attn.stream<4x1>
  %i = kv.read @index[0] : !kv.rows<4>
  // CHECK: %[[I:.*]] = kv.read @index[0] : !kv.rows<4>
  // CHECK: %[[POOL:.*]] = kv.top_k relu scale 5.000000e-01 (%{{.*}}, %[[I]] : !attn.stream<4x4>, !kv.rows<4>) weights %{{.*}} : !attn.stream<4x1> block 2 sum pin_first 1 pin_newest 1 -> !attn.selection<4, groups 2, block 2>
  %pool = kv.top_k relu scale 0.5 (%q, %i : !attn.stream<4x4>, !kv.rows<4>) weights %w : !attn.stream<4x1>
      block 2 sum pin_first 1 pin_newest 1 -> !attn.selection<4, groups 2, block 2>
  // CHECK: %[[SEL:.*]] = kv.top_k none scale 5.000000e-01 (%{{.*}}, %[[I]] : !attn.stream<4x4>, !kv.rows<4>) within %[[POOL]] : !attn.selection<4, groups 2, block 2> -> !attn.selection<3, groups 2>
  %sel = kv.top_k none scale 0.5 (%q, %i : !attn.stream<4x4>, !kv.rows<4>)
      within %pool : !attn.selection<4, groups 2, block 2> -> !attn.selection<3, groups 2>
  %r = kv.read @main[0] : !kv.rows<4>
  %s0 = kv.attend_init : !kv.state<4x4>
  // CHECK: kv.attend_partial %{{.*}} window 0 (%{{.*}} : !attn.stream<4x4>) keys (%[[R:.*]] : !kv.rows<4>) value %[[R]] : !kv.rows<4> select %[[SEL]] : !attn.selection<3, groups 2> -> !kv.state<4x4>
  %s1 = kv.attend_partial %s0 scale 0.5 window 0 (%q : !attn.stream<4x4>) keys (%r : !kv.rows<4>)
      value %r : !kv.rows<4> select %sel : !attn.selection<3, groups 2> -> !kv.state<4x4>
  %o = kv.attend_finish %s1 : !kv.state<4x4> -> !attn.stream<4x4>
  kv.return %o : !attn.stream<4x4>
} prefill {
}
