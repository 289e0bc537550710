// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// Compression and selection print as they are written.

attn.weight @norm : 128
attn.weight @shift : 128
attn.weight @ape : 4x1024
attn.weight @shared_ape : 2x513

// CHECK-LABEL: attn.model @per_token(
// CHECK-SAME: %[[K:.+]]: !attn.stream<128>, %[[Q:.+]]: !attn.stream<64x128>, %[[S:.+]]: !attn.stream<128, every 4>)
attn.model @per_token(%k: !attn.stream<128>, %q: !attn.stream<64x128>, %slow: !attn.stream<128, every 4>) {
  // CHECK: attn.layer_norm %[[K]], @norm bias @shift eps 1.0e-06 : !attn.stream<128>
  %norm = attn.layer_norm %k, @norm bias @shift eps 1.0e-6 : !attn.stream<128>
  // CHECK: attn.layer_norm %[[Q]], @norm eps 1.0e-06 per_head : !attn.stream<64x128>
  %heads = attn.layer_norm %q, @norm eps 1.0e-6 per_head : !attn.stream<64x128>
  // CHECK: attn.layer_norm %[[S]] eps 0.0 : !attn.stream<128, every 4>
  %plain = attn.layer_norm %slow eps 0.0 : !attn.stream<128, every 4>
  // CHECK: attn.hadamard %[[Q]] {layer = 2 : i64} : !attn.stream<64x128>
  %turned = attn.hadamard %q {layer = 2} : !attn.stream<64x128>
  attn.return
}

// CHECK-LABEL: attn.model @compress(
// CHECK-SAME: %[[VA:.+]]: !attn.stream<512>, %[[GA:.+]]: !attn.stream<512>, %[[VB:.+]]: !attn.stream<512>, %[[GB:.+]]: !attn.stream<512>, %[[G:.+]]: !attn.stream<1>, %[[K:.+]]: !attn.stream<8x64, every 2>)
attn.model @compress(%va: !attn.stream<512>, %ga: !attn.stream<512>, %vb: !attn.stream<512>,
                     %gb: !attn.stream<512>, %g: !attn.stream<1>, %k: !attn.stream<8x64, every 2>) {
  // CHECK: attn.compress every 4 bias @ape (%[[VB]], %[[GB]] at -1 : !attn.stream<512>, !attn.stream<512>), (%[[VA]], %[[GA]] at 0 : !attn.stream<512>, !attn.stream<512>) -> !attn.stream<512, every 4>
  %overlap = attn.compress every 4 bias @ape
      (%vb, %gb at -1 : !attn.stream<512>, !attn.stream<512>),
      (%va, %ga at 0 : !attn.stream<512>, !attn.stream<512>)
      -> !attn.stream<512, every 4>
  // CHECK: attn.compress every 2 (%[[VA]], %[[G]] at 0 : !attn.stream<512>, !attn.stream<1>) {attn.trace = "shared"} -> !attn.stream<512, every 2>
  %shared = attn.compress every 2 (%va, %g at 0 : !attn.stream<512>, !attn.stream<1>)
      {attn.trace = "shared"} -> !attn.stream<512, every 2>
  // CHECK: attn.compress every 2 bias @shared_ape (%[[VA]], %[[GA]] at 0 : !attn.stream<512>, !attn.stream<512>), (%[[VB]] at -3 : !attn.stream<512>), (%[[VB]], %[[G]] at -1 : !attn.stream<512>, !attn.stream<1>) -> !attn.stream<512, every 2>
  %mixed = attn.compress every 2 bias @shared_ape
      (%va, %ga at 0 : !attn.stream<512>, !attn.stream<512>), (%vb at -3 : !attn.stream<512>),
      (%vb, %g at -1 : !attn.stream<512>, !attn.stream<1>)
      -> !attn.stream<512, every 2>
  // CHECK: attn.compress every 3 (%[[K]] at 0 : !attn.stream<8x64, every 2>) -> !attn.stream<8x64, every 6>
  %mean = attn.compress every 3 (%k at 0 : !attn.stream<8x64, every 2>) -> !attn.stream<8x64, every 6>
  attn.return
}

// CHECK-LABEL: attn.model @select(
// CHECK-SAME: %[[Q:.+]]: !attn.stream<64x128>, %[[K:.+]]: !attn.stream<128, every 4>, %[[W:.+]]: !attn.stream<64>, %[[T:.+]]: !attn.stream<8x128>)
attn.model @select(%q: !attn.stream<64x128>, %k: !attn.stream<128, every 4>, %w: !attn.stream<64>, %t: !attn.stream<8x128>) {
  // CHECK: %[[SCORES:.+]] = attn.score relu scale 0.011048543456039806 (%[[Q]], %[[K]] : !attn.stream<64x128>, !attn.stream<128, every 4>) weights %[[W]] : !attn.stream<64> -> !attn.scores<every 4>
  %scores = attn.score relu scale 1.1048543456039806e-2
      (%q, %k : !attn.stream<64x128>, !attn.stream<128, every 4>)
      weights %w : !attn.stream<64> -> !attn.scores<every 4>
  // CHECK: %[[PICKS:.+]] = attn.top_k %[[SCORES]] {attn.trace = "layer2.selection"} : !attn.scores<every 4> -> !attn.selection<512, every 4>
  %picks = attn.top_k %scores {attn.trace = "layer2.selection"} : !attn.scores<every 4> -> !attn.selection<512, every 4>
  // CHECK: %[[POOL:.+]] = attn.block_top_k %[[SCORES]] block 8 max pin_newest 1 : !attn.scores<every 4> -> !attn.selection<2048, every 4, block 8>
  %pool = attn.block_top_k %scores block 8 max pin_first 0 pin_newest 1 : !attn.scores<every 4> -> !attn.selection<2048, every 4, block 8>
  // CHECK: %[[AGAIN:.+]] = attn.score none scale 1.0 (%[[Q]], %[[K]] : !attn.stream<64x128>, !attn.stream<128, every 4>) weights %[[W]] : !attn.stream<64> within %[[POOL]] : !attn.selection<2048, every 4, block 8> {layer = 4 : i64} -> !attn.scores<every 4, groups 4>
  %again = attn.score none scale 1.0
      (%q, %k : !attn.stream<64x128>, !attn.stream<128, every 4>)
      weights %w : !attn.stream<64> within %pool : !attn.selection<2048, every 4, block 8>
      {layer = 4} -> !attn.scores<every 4, groups 4>
  // CHECK: %[[GROUPED:.+]] = attn.block_top_k %[[AGAIN]] block 2 sum pin_first 1 pin_newest 2 : !attn.scores<every 4, groups 4> -> !attn.selection<16, every 4, groups 4, block 2>
  %grouped = attn.block_top_k %again block 2 sum pin_first 1 pin_newest 2 : !attn.scores<every 4, groups 4> -> !attn.selection<16, every 4, groups 4, block 2>
  // CHECK: attn.expand %[[GROUPED]] : !attn.selection<16, every 4, groups 4, block 2> -> !attn.selection<16, groups 4, block 8>
  %tokens = attn.expand %grouped : !attn.selection<16, every 4, groups 4, block 2> -> !attn.selection<16, groups 4, block 8>
  // CHECK: attn.expand %[[PICKS]] : !attn.selection<512, every 4> -> !attn.selection<512, every 2, block 2>
  %halves = attn.expand %picks : !attn.selection<512, every 4> -> !attn.selection<512, every 2, block 2>
  // CHECK: attn.attend scale 1.0
  // CHECK-NEXT: select %{{.*}} : !attn.selection<16, groups 4, block 8> (%[[T]], %[[T]] : !attn.stream<8x128>, !attn.stream<8x128>)
  %o = attn.attend scale 1.0
      select %tokens : !attn.selection<16, groups 4, block 8> (%t, %t : !attn.stream<8x128>, !attn.stream<8x128>)
      values %t : !attn.stream<8x128>
      -> !attn.stream<8x128>
  attn.return
}
