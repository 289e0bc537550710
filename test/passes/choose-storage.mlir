// RUN: attn-opt %s --attn-choose-storage | FileCheck %s --check-prefixes=CHECK,PUBLISHED
// RUN: attn-opt %s --attn-choose-storage="default-format=f16" | FileCheck %s --check-prefixes=CHECK,F16
// RUN: attn-opt %s --attn-choose-storage="storage=bf16" | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: attn-opt %s --attn-choose-storage="storage=exact" | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: attn-opt %s --attn-choose-storage="storage=exact remarks=all" --verify-diagnostics -o /dev/null
// RUN: not attn-opt %s --attn-choose-storage="default-format=bf17" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: unknown storage format 'bf17'; expected for example 'bf16' or 'e4m3 block 64 scale e8m0'

// CHECK-LABEL: attn.model @roundings
// PUBLISHED-SAME: %[[C:.+]]: !attn.stream<512> {attn.storage = #attn.format<bf16>})
// F16-SAME: {attn.storage = #attn.format<f16>})
// BF16-SAME: %[[C:.+]]: !attn.stream<512> {attn.storage = #attn.format<bf16>})
// EXACT-SAME: %[[C:.+]]: !attn.stream<512> {attn.storage = #attn.format<f32>})
attn.model @roundings(%c: !attn.stream<512>) -> (!attn.stream<512>, !attn.stream<512>) {
  // PUBLISHED-NEXT: attn.round %[[C]] to <e4m3, block = 64, scale = e8m0> {attn.storage = #attn.format<e4m3, block = 64, scale = e8m0>}
  // BF16-NOT: attn.round %[[C]] to <e4m3
  // EXACT-NOT: attn.round %[[C]] to <e4m3
  // expected-remark@+1 {{applied: rounding to e4m3 block 64 scale e8m0 gives way to the chosen storage}}
  %c8 = attn.round %c to <e4m3, block = 64, scale = e8m0> : !attn.stream<512>
  // PUBLISHED-NEXT: attn.rms_norm {{.*}} {attn.storage = #attn.format<bf16>}
  // F16: attn.rms_norm {{.*}} {attn.storage = #attn.format<f16>}
  // BF16-NEXT: attn.rms_norm %[[C]] eps {{.*}} {attn.storage = #attn.format<bf16>}
  // EXACT-NEXT: attn.rms_norm %[[C]] eps {{.*}} {attn.storage = #attn.format<f32>}
  %n = attn.rms_norm %c8 eps 1.0e-6 : !attn.stream<512>
  // A published result keeps its op, which then rounds nothing.
  // PUBLISHED-NEXT: attn.round {{.*}} to <bf16> {attn.storage = #attn.format<bf16>, attn.trace = "t"}
  // EXACT-NEXT: attn.round {{.*}} to <f32> {attn.storage = #attn.format<f32>, attn.trace = "t"}
  // expected-remark@+1 {{rounding to bf16 gives way}}
  %t = attn.round %c to <bf16> {attn.trace = "t"} : !attn.stream<512>
  attn.return %n, %t : !attn.stream<512>, !attn.stream<512>
}
