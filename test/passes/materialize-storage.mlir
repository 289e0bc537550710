// RUN: attn-opt %s --split-input-file --attn-materialize-storage=remarks=none | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-materialize-storage=remarks=all --verify-diagnostics -o /dev/null

attn.weight @w : 4x4
// CHECK-LABEL: attn.model @every_reader_sees_it
attn.model @every_reader_sees_it(%x: !attn.stream<4>, %q: !attn.stream<4>) -> (!attn.stream<4>, !attn.stream<4>) {
  // CHECK-NEXT: %[[C:.+]] = attn.linear %{{.*}}, @w {layer = 2 : i64}
  // CHECK-NEXT: %[[R:.+]] = attn.round %[[C]] to <bf16> {attn.keep = {{.*}}, layer = 2 : i64}
  // CHECK-NEXT: attn.attend
  // CHECK-NEXT: causal (%{{.*}}, %[[R]] :
  // CHECK-NEXT: values %[[R]]
  // CHECK: attn.return %{{.*}}, %[[R]]
  // expected-remark@+1 {{applied: the kept stream is rounded to bf16 for every reader}}
  %c = attn.linear %x, @w {layer = 2 : i64, attn.keep = {cache = "layers.2.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 2 : i64, name = "latent", readers = array<i64: 2>, rows = 0 : i64, segment = 0 : i64}} : (!attn.stream<4>) -> !attn.stream<4>
  %o = attn.attend scale 0.5 causal (%q, %c : !attn.stream<4>, !attn.stream<4>) values %c : !attn.stream<4> -> !attn.stream<4>
  attn.return %o, %c : !attn.stream<4>, !attn.stream<4>
}

// -----

// f32 is exact, and a stream that is rounded so already stays as it is.

// CHECK-LABEL: attn.model @nothing_to_round
// CHECK-COUNT-1: attn.round
// CHECK-NOT: attn.round
attn.model @nothing_to_round(%x: !attn.stream<4>, %q: !attn.stream<4>, %k: !attn.stream<4> {attn.keep = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "key", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  %v = attn.round %x to <bf16> {attn.keep = {cache = "layers.0.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 0 : i64, name = "value", readers = array<i64: 0>, rows = 0 : i64, segment = 1 : i64}} : !attn.stream<4>
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4>, !attn.stream<4>) values %v : !attn.stream<4> -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}

// -----

// Both forms of a model get the same new op; a kept argument is rounded first.

// CHECK: attn.model @m(%[[X:.+]]: !attn.stream<4>, %{{.*}}) ->
// CHECK-NEXT: %[[R:.+]] = attn.round %[[X]] to <bf16> {attn.id = 8 : i64, attn.keep = {{.*}}, layer = 3 : i64}
// CHECK: values %[[R]]
attn.model @m(%x: !attn.stream<4> {attn.keep = {cache = "layers.3.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 3 : i64, name = "hidden", readers = array<i64: 3>, rows = 0 : i64, segment = 0 : i64}}, %q: !attn.stream<4>) -> !attn.stream<4> {
  // expected-remark@-1 {{the kept stream is rounded}}
  %o = attn.attend scale 0.5 causal (%q, %x : !attn.stream<4>, !attn.stream<4>) values %x : !attn.stream<4> {attn.id = 7 : i64} -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}
// CHECK: attn.model @m.prefill(%[[P:.+]]: !attn.stream<4>, %{{.*}}) ->
// CHECK-NEXT: attn.round %[[P]] to <bf16> {attn.id = 8 : i64, attn.keep = {{.*}}, layer = 3 : i64}
attn.model @m.prefill(%x: !attn.stream<4> {attn.keep = {cache = "layers.3.main", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 3 : i64, name = "hidden", readers = array<i64: 3>, rows = 0 : i64, segment = 0 : i64}}, %q: !attn.stream<4>) -> !attn.stream<4> attributes {form = "prefill"} {
  // expected-remark@-1 {{the kept stream is rounded}}
  %o = attn.attend scale 0.5 causal (%q, %x : !attn.stream<4>, !attn.stream<4>) values %x : !attn.stream<4> {attn.id = 7 : i64} -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}
