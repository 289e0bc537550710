// RUN: attn-opt %s --canonicalize | FileCheck %s

func.func private @use(!attn.selection<16, block 8>)

// CHECK-LABEL: func.func @expand_of_the_same_rate(
// CHECK-SAME: %[[S:.+]]: !attn.selection<16, block 8>)
func.func @expand_of_the_same_rate(%s: !attn.selection<16, block 8>) {
  // CHECK-NEXT: call @use(%[[S]])
  %t = attn.expand %s : !attn.selection<16, block 8> -> !attn.selection<16, block 8>
  call @use(%t) : (!attn.selection<16, block 8>) -> ()
  return
}

// CHECK-LABEL: func.func @published(
func.func @published(%s: !attn.selection<16, block 8>) {
  // CHECK: attn.expand
  %t = attn.expand %s {attn.trace = "kept"} : !attn.selection<16, block 8> -> !attn.selection<16, block 8>
  call @use(%t) : (!attn.selection<16, block 8>) -> ()
  return
}
