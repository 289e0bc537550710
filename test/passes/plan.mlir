// RUN: attn-opt %s --attn-plan=storage=bf16 2>/dev/null | FileCheck %s
// RUN: attn-opt %s --attn-plan="storage=bf16 absorb=never" 2>/dev/null | FileCheck %s --check-prefix=NEVER
// RUN: attn-opt %s --attn-plan="storage=bf16 absorb=never cut=bytes" 2>/dev/null | FileCheck %s --check-prefix=BYTES
// RUN: attn-opt %s --attn-plan="storage=exact" 2>/dev/null | FileCheck %s --check-prefix=EXACT

// One layer of MLA from the naive graph to the plan. The decode form attends over
// the latent; the prefill form rebuilds keys and values from the same rows.

attn.weight @q : 3072x1024
attn.weight @kv_a : 576x1024
attn.weight @norm : 512
attn.weight @kv_b : 4096x512
attn.weight @o : 1024x2048

// CHECK-LABEL: attn.model @m(
// CHECK: %[[C0:.+]] = attn.rms_norm
// CHECK: %[[C:.+]] = attn.round %[[C0]] to <bf16> {{.*}}attn.keep = {cache = "layers.4.main", {{.*}}name = "latent"
// CHECK: %[[K0:.+]] = attn.rope {{.*}} : !attn.stream<64>
// CHECK: %[[KR:.+]] = attn.round %[[K0]] to <bf16> {{.*}}attn.keep = {cache = "layers.4.main", {{.*}}name = "rope_key"
// CHECK: attn.attend
// CHECK-NEXT: causal (%{{.*}}, %[[C]] : !attn.stream<16x512>, !attn.stream<512>), (%{{.*}}, %[[KR]] : !attn.stream<16x64>, !attn.stream<64>)
// CHECK-NEXT: values %[[C]]
// CHECK-LABEL: attn.model @m.prefill(
// CHECK: %[[P0:.+]] = attn.rms_norm
// CHECK: %[[P:.+]] = attn.round %[[P0]] to <bf16> {{.*}}name = "latent"
// CHECK-DAG: %[[KN:.+]] = attn.linear %[[P]], @kv_b groups 16 rows [0, 128]
// CHECK-DAG: %[[V:.+]] = attn.linear %[[P]], @kv_b groups 16 rows [128, 128]
// CHECK: attn.attend
// CHECK-NEXT: causal (%{{.*}}, %[[KN]] :
// CHECK-NEXT: values %[[V]]

// NEVER-LABEL: attn.model @m(
// NEVER: attn.round {{.*}}name = "value"
// NEVER-NOT: transpose

// BYTES-LABEL: attn.model @m(
// BYTES: attn.round {{.*}}name = "latent"
// BYTES-NOT: transpose

// EXACT-NOT: attn.round
// EXACT: format = #attn.format<f32>
attn.model @m(%x: !attn.stream<1024>) -> !attn.stream<1024> {
  %q0 = attn.linear %x, @q {layer = 4 : i64} : (!attn.stream<1024>) -> !attn.stream<16x192>
  %q = attn.rope %q0 last interleaved <theta = 10000.0, dims = 64> {layer = 4 : i64} : !attn.stream<16x192>
  %kva = attn.linear %x, @kv_a {layer = 4 : i64} : (!attn.stream<1024>) -> !attn.stream<576>
  %c0 = attn.slice %kva [0, 512] {layer = 4 : i64} : !attn.stream<576> -> !attn.stream<512>
  %c = attn.rms_norm %c0, @norm eps 1.0e-6 {layer = 4 : i64} : !attn.stream<512>
  %kr0 = attn.slice %kva [512, 64] {layer = 4 : i64} : !attn.stream<576> -> !attn.stream<64>
  %kr = attn.rope %kr0 first interleaved <theta = 10000.0, dims = 64> {layer = 4 : i64} : !attn.stream<64>
  %kv = attn.linear %c, @kv_b {layer = 4 : i64} : (!attn.stream<512>) -> !attn.stream<16x256>
  %kn = attn.slice %kv [0, 128] {layer = 4 : i64} : !attn.stream<16x256> -> !attn.stream<16x128>
  %v = attn.slice %kv [128, 128] {layer = 4 : i64} : !attn.stream<16x256> -> !attn.stream<16x128>
  %k = attn.concat %kn, %kr {layer = 4 : i64} : (!attn.stream<16x128>, !attn.stream<64>) -> !attn.stream<16x192>
  %a = attn.attend scale 0.07216878364870323 causal (%q, %k : !attn.stream<16x192>, !attn.stream<16x192>)
    values %v : !attn.stream<16x128> {layer = 4 : i64} -> !attn.stream<16x128>
  %o = attn.linear %a, @o {layer = 4 : i64} : (!attn.stream<16x128>) -> !attn.stream<1024>
  attn.return %o : !attn.stream<1024>
}
