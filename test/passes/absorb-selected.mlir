// RUN: attn-opt %s --attn-decouple-rope="remarks=none" --attn-absorb-weights="remarks=none" | FileCheck %s
// RUN: attn-opt %s --attn-plan="storage=bf16" 2>/dev/null | FileCheck %s --check-prefix=PLAN

// A source that a choice thins out is decoupled and absorbed like any other; the
// choice and its keys stay as they are.

attn.weight @kv_b : 512x32
attn.weight @kv_a : 40x256
attn.weight @ik : 16x256
// CHECK-LABEL: attn.model @selected_mla
// PLAN-LABEL: attn.model @selected_mla(
attn.model @selected_mla(%q: !attn.stream<8x40>, %iq: !attn.stream<4x16>, %x: !attn.stream<256>) -> !attn.stream<8x32> {
  // CHECK: %[[KV:.*]] = attn.linear %{{.*}}, @kv_a
  %kv = attn.linear %x, @kv_a : (!attn.stream<256>) -> !attn.stream<40>
  // CHECK: %[[C:.*]] = attn.slice %[[KV]][0, 32]
  // PLAN: name = "latent", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64
  %c = attn.slice %kv [0, 32] : !attn.stream<40> -> !attn.stream<32>
  %kr0 = attn.slice %kv [32, 8] : !attn.stream<40> -> !attn.stream<8>
  // CHECK: %[[KR:.*]] = attn.rope
  // PLAN: name = "rope_key", readers = array<i64: 0>, rows = 0 : i64, segment = 1 : i64
  %kr = attn.rope %kr0 first interleaved <theta = 10000.0, dims = 8> : !attn.stream<8>
  // PLAN: cache = "layers.0.index", {{.*}}name = "index_key"
  %ik = attn.linear %x, @ik : (!attn.stream<256>) -> !attn.stream<16>
  %s = attn.score relu scale 0.125 (%iq, %ik : !attn.stream<4x16>, !attn.stream<16>) -> !attn.scores
  // CHECK: %[[T:.*]] = attn.top_k
  %t = attn.top_k %s : !attn.scores -> !attn.selection<64>
  %up = attn.linear %c, @kv_b : (!attn.stream<32>) -> !attn.stream<8x64>
  %kn = attn.slice %up [0, 32] : !attn.stream<8x64> -> !attn.stream<8x32>
  %v = attn.slice %up [32, 32] : !attn.stream<8x64> -> !attn.stream<8x32>
  %k = attn.concat %kn, %kr : (!attn.stream<8x32>, !attn.stream<8>) -> !attn.stream<8x40>
  // CHECK: attn.linear {{.*}} groups 8 rows [0, 32] transpose
  // CHECK: %[[O:.*]] = attn.attend scale 0.25
  // CHECK-NEXT: select %[[T]] : !attn.selection<64> (%{{.*}}, %[[C]] : !attn.stream<8x32>, !attn.stream<32>), (%{{.*}}, %[[KR]] : !attn.stream<8x8>, !attn.stream<8>)
  // CHECK-NEXT: values %[[C]]
  // CHECK: attn.linear %[[O]], @kv_b groups 8 rows [32, 32]
  // PLAN: attn.attend
  // PLAN-NEXT: select %{{.*}} : !attn.selection<64> (%{{.*}} : !attn.stream<8x32>, !attn.stream<32>),
  %o = attn.attend scale 0.25
    select %t : !attn.selection<64> (%q, %k : !attn.stream<8x40>, !attn.stream<8x40>)
    values %v : !attn.stream<8x32> -> !attn.stream<8x32>
  attn.return %o : !attn.stream<8x32>
}
