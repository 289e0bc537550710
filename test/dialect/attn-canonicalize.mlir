// RUN: attn-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: attn.model @slice_of_everything(
// CHECK-SAME: %[[X:.+]]: !attn.stream<4x16>)
// CHECK-NEXT: attn.return %[[X]]
attn.model @slice_of_everything(%x: !attn.stream<4x16>) -> !attn.stream<4x16> {
  %all = attn.slice %x [0, 16] : !attn.stream<4x16> -> !attn.stream<4x16>
  attn.return %all : !attn.stream<4x16>
}

// CHECK-LABEL: attn.model @slice_of_slice(
// CHECK-SAME: %[[X:.+]]: !attn.stream<16>)
// CHECK-NEXT: %[[Y:.+]] = attn.slice %[[X]][6, 2] {layer = 2 : i64}
// CHECK-NEXT: attn.return %[[Y]]
attn.model @slice_of_slice(%x: !attn.stream<16>) -> !attn.stream<2> {
  %outer = attn.slice %x [4, 8] {layer = 1 : i64} : !attn.stream<16> -> !attn.stream<8>
  %inner = attn.slice %outer [2, 2] {layer = 2 : i64} : !attn.stream<8> -> !attn.stream<2>
  attn.return %inner : !attn.stream<2>
}

// CHECK-LABEL: attn.model @slice_is_one_part(
// CHECK-SAME: %[[A:.+]]: !attn.stream<8>, %[[B:.+]]: !attn.stream<4>)
// CHECK-NEXT: attn.return %[[B]]
attn.model @slice_is_one_part(%a: !attn.stream<8>, %b: !attn.stream<4>) -> !attn.stream<4> {
  %ab = attn.concat %a, %b : (!attn.stream<8>, !attn.stream<4>) -> !attn.stream<12>
  %y = attn.slice %ab [8, 4] : !attn.stream<12> -> !attn.stream<4>
  attn.return %y : !attn.stream<4>
}

// CHECK-LABEL: attn.model @slice_is_some_parts(
// CHECK-SAME: %[[A:.+]]: !attn.stream<2x8>, %[[B:.+]]: !attn.stream<2x4>, %[[C:.+]]: !attn.stream<3>)
// CHECK-NEXT: %[[Y:.+]] = attn.concat %[[B]], %[[C]] {layer = 2 : i64} : (!attn.stream<2x4>, !attn.stream<3>) -> !attn.stream<2x7>
// CHECK-NEXT: attn.return %[[Y]]
attn.model @slice_is_some_parts(%a: !attn.stream<2x8>, %b: !attn.stream<2x4>, %c: !attn.stream<3>) -> !attn.stream<2x7> {
  %abc = attn.concat %a, %b, %c : (!attn.stream<2x8>, !attn.stream<2x4>, !attn.stream<3>) -> !attn.stream<2x15>
  %y = attn.slice %abc [8, 7] {layer = 2 : i64} : !attn.stream<2x15> -> !attn.stream<2x7>
  attn.return %y : !attn.stream<2x7>
}

// A part without heads is repeated for each.
// CHECK-LABEL: attn.model @slice_is_a_repeated_part(
// CHECK-SAME: %{{.+}}: !attn.stream<2x8>, %[[B:.+]]: !attn.stream<4>)
// CHECK-NEXT: attn.concat %[[B]] : (!attn.stream<4>) -> !attn.stream<2x4>
attn.model @slice_is_a_repeated_part(%a: !attn.stream<2x8>, %b: !attn.stream<4>) -> !attn.stream<2x4> {
  %ab = attn.concat %a, %b : (!attn.stream<2x8>, !attn.stream<4>) -> !attn.stream<2x12>
  %y = attn.slice %ab [8, 4] : !attn.stream<2x12> -> !attn.stream<2x4>
  attn.return %y : !attn.stream<2x4>
}

// CHECK-LABEL: attn.model @slice_cuts_a_part(
// CHECK: attn.concat
// CHECK: attn.slice %{{.*}}[6, 4]
attn.model @slice_cuts_a_part(%a: !attn.stream<8>, %b: !attn.stream<4>) -> !attn.stream<4> {
  %ab = attn.concat %a, %b : (!attn.stream<8>, !attn.stream<4>) -> !attn.stream<12>
  %y = attn.slice %ab [6, 4] : !attn.stream<12> -> !attn.stream<4>
  attn.return %y : !attn.stream<4>
}

// CHECK-LABEL: attn.model @concat_of_one(
// CHECK-SAME: %[[X:.+]]: !attn.stream<8>)
// CHECK-NEXT: attn.return %[[X]]
attn.model @concat_of_one(%x: !attn.stream<8>) -> !attn.stream<8> {
  %y = attn.concat %x : (!attn.stream<8>) -> !attn.stream<8>
  attn.return %y : !attn.stream<8>
}

// CHECK-LABEL: attn.model @round_of_an_equal_round(
// CHECK-SAME: %[[X:.+]]: !attn.stream<8>)
// CHECK-NEXT: %[[Y:.+]] = attn.round %[[X]] to <bf16>
// CHECK-NEXT: attn.return %[[Y]]
attn.model @round_of_an_equal_round(%x: !attn.stream<8>) -> !attn.stream<8> {
  %y = attn.round %x to <bf16> : !attn.stream<8>
  %z = attn.round %y to <bf16> : !attn.stream<8>
  attn.return %z : !attn.stream<8>
}

// CHECK-LABEL: attn.model @round_of_another_round(
// CHECK: attn.round %{{.*}} to <e4m3, block = 4, scale = e8m0>
// CHECK: attn.round %{{.*}} to <bf16>
attn.model @round_of_another_round(%x: !attn.stream<8>) -> !attn.stream<8> {
  %y = attn.round %x to <e4m3, block = 4, scale = e8m0> : !attn.stream<8>
  %z = attn.round %y to <bf16> : !attn.stream<8>
  attn.return %z : !attn.stream<8>
}

// CHECK-LABEL: attn.model @round_to_f32_is_exact(
// CHECK-SAME: %[[X:.+]]: !attn.stream<8>)
// CHECK-NEXT: attn.return %[[X]]
attn.model @round_to_f32_is_exact(%x: !attn.stream<8>) -> !attn.stream<8> {
  %y = attn.round %x to <f32> : !attn.stream<8>
  attn.return %y : !attn.stream<8>
}

// A result that is published by name stays.
// CHECK-LABEL: attn.model @traced_ops_stay(
// CHECK: attn.slice %{{.*}} {attn.trace = "a"}
// CHECK: attn.round %{{.*}} {attn.trace = "b"}
// CHECK: attn.concat %{{.*}} {attn.trace = "c"}
attn.model @traced_ops_stay(%x: !attn.stream<8>) -> (!attn.stream<8>, !attn.stream<8>, !attn.stream<8>) {
  %a = attn.slice %x [0, 8] {attn.trace = "a"} : !attn.stream<8> -> !attn.stream<8>
  %b = attn.round %x to <f32> {attn.trace = "b"} : !attn.stream<8>
  %c = attn.concat %x {attn.trace = "c"} : (!attn.stream<8>) -> !attn.stream<8>
  attn.return %a, %b, %c : !attn.stream<8>, !attn.stream<8>, !attn.stream<8>
}

// Constants of a scalar body stay inside it.
// CHECK-LABEL: attn.model @map_keeps_its_constants(
// CHECK-NEXT: attn.map
// CHECK: arith.constant
attn.model @map_keeps_its_constants(%x: !attn.stream<8>) -> !attn.stream<8> {
  %y = attn.map(%x : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%a: f32):
    %two = arith.constant 2.0 : f32
    %b = arith.mulf %a, %two : f32
    attn.yield %b : f32
  }
  attn.return %y : !attn.stream<8>
}
