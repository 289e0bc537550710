// RUN: attn-opt %s --attn-absorb-weights=remarks=none | FileCheck %s
// RUN: attn-opt %s --attn-absorb-weights=remarks=all --verify-diagnostics -o /dev/null
// RUN: attn-opt %s --attn-absorb-weights="absorb=never remarks=none" | FileCheck %s --check-prefix=NEVER
// RUN: attn-opt %s --attn-absorb-weights="absorb=always remarks=none" | FileCheck %s --check-prefix=ALWAYS

// NEVER-NOT: transpose

// MLA after decoupling: the latent takes the place of keys and values. The scale
// is that of the unabsorbed 128 + 64 channels and stays; the rotated part, too.

attn.weight @kv_b : 4096x512
// CHECK-LABEL: attn.model @mla(
// CHECK-SAME: %[[QN:.+]]: !attn.stream<16x128>, %[[QR:.+]]: !attn.stream<16x64>, %[[C:.+]]: !attn.stream<512>, %[[KR:.+]]: !attn.stream<64>)
// ALWAYS-LABEL: attn.model @mla(
// ALWAYS: transpose
attn.model @mla(%qn: !attn.stream<16x128>, %qr: !attn.stream<16x64>, %c: !attn.stream<512>, %kr: !attn.stream<64>) -> !attn.stream<16x128> {
  // CHECK: %[[Q1:.+]] = attn.linear %[[QN]], @kv_b groups 16 rows [0, 128] transpose {layer = 5 : i64} : (!attn.stream<16x128>) -> !attn.stream<16x512>
  // CHECK-NEXT: %[[O1:.+]] = attn.attend scale 0.07216878364870323
  // CHECK-NEXT: causal (%[[Q1]], %[[C]] : !attn.stream<16x512>, !attn.stream<512>), (%[[QR]], %[[KR]] : !attn.stream<16x64>, !attn.stream<64>)
  // CHECK-NEXT: values %[[C]] : !attn.stream<512>
  // CHECK-NEXT: {layer = 5 : i64} -> !attn.stream<16x512>
  // CHECK-NEXT: %[[O:.+]] = attn.linear %[[O1]], @kv_b groups 16 rows [128, 128] {attn.trace = "o", layer = 5 : i64} : (!attn.stream<16x512>) -> !attn.stream<16x128>
  // CHECK-NEXT: attn.return %[[O]]
  %k = attn.linear %c, @kv_b groups 16 rows [0, 128] {layer = 5 : i64} : (!attn.stream<512>) -> !attn.stream<16x128>
  %v = attn.linear %c, @kv_b groups 16 rows [128, 128] {layer = 5 : i64} : (!attn.stream<512>) -> !attn.stream<16x128>
  // expected-remark@+1 {{applied: absorbed by 1 step: per entry 1152 bytes + 34816 FLOP against 8320 bytes + 10240 FLOP, 1326.1 against 8371.2 at balance 200}}
  %o = attn.attend scale 0.07216878364870323
      causal (%qn, %k : !attn.stream<16x128>, !attn.stream<16x128>),
             (%qr, %kr : !attn.stream<16x64>, !attn.stream<64>)
      values %v : !attn.stream<16x128> {attn.trace = "o", layer = 5 : i64} -> !attn.stream<16x128>
  attn.return %o : !attn.stream<16x128>
}

// One matrix for all heads is cut into a run of rows for each.

attn.weight @k_up : 32x24
attn.weight @v_up : 32x24
// CHECK-LABEL: attn.model @whole_matrices(
attn.model @whole_matrices(%q: !attn.stream<4x8>, %c: !attn.stream<24>) -> !attn.stream<4x8> {
  // CHECK: attn.linear %{{.*}}, @k_up groups 4 transpose : (!attn.stream<4x8>) -> !attn.stream<4x24>
  // CHECK: attn.linear %{{.*}}, @v_up groups 4 : (!attn.stream<4x24>) -> !attn.stream<4x8>
  %k = attn.linear %c, @k_up : (!attn.stream<24>) -> !attn.stream<4x8>
  %v = attn.linear %c, @v_up : (!attn.stream<24>) -> !attn.stream<4x8>
  // expected-remark@+1 {{absorbed by 1 step}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

// A rotation of whole up-projected keys stands in the way.

attn.weight @k_rot : 256x64
attn.weight @v_rot : 256x64
// CHECK-LABEL: attn.model @rope_over_whole_keys(
// CHECK-NOT: transpose
attn.model @rope_over_whole_keys(%q: !attn.stream<2x128>, %c: !attn.stream<64>) -> !attn.stream<2x128> {
  %k0 = attn.linear %c, @k_rot : (!attn.stream<64>) -> !attn.stream<2x128>
  %k = attn.rope %k0 first half_split <theta = 10000.0, dims = 128> : !attn.stream<2x128>
  %v = attn.linear %c, @v_rot : (!attn.stream<64>) -> !attn.stream<2x128>
  // expected-remark@+1 {{refused: not absorbed: attn.rope stands between attn.linear by @k_rot and the keys of the attend: it turns them by their position, which the query side does not know}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<2x128>, !attn.stream<2x128>)
    values %v : !attn.stream<2x128> -> !attn.stream<2x128>
  attn.return %o : !attn.stream<2x128>
}

// So does anything else that is no projection: here a norm of each key head.

attn.weight @k_normed : 256x64
attn.weight @v_normed : 256x64
// CHECK-LABEL: attn.model @norm_over_keys(
// CHECK-NOT: transpose
attn.model @norm_over_keys(%q: !attn.stream<2x128>, %c: !attn.stream<64>) -> !attn.stream<2x128> {
  %k0 = attn.linear %c, @k_normed : (!attn.stream<64>) -> !attn.stream<2x128>
  %k = attn.rms_norm %k0 eps 1.0e-6 per_head : !attn.stream<2x128>
  %v = attn.linear %c, @v_normed : (!attn.stream<64>) -> !attn.stream<2x128>
  // expected-remark@+1 {{attn.rms_norm stands between attn.linear by @k_normed and the keys of the attend: only a projection may}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<2x128>, !attn.stream<2x128>)
    values %v : !attn.stream<2x128> -> !attn.stream<2x128>
  attn.return %o : !attn.stream<2x128>
}

// Values that are rounded after their projection, too; the keys stay with them.

attn.weight @k_half : 256x64
attn.weight @v_half : 256x64
// CHECK-LABEL: attn.model @rounded_values(
// CHECK-NOT: transpose
attn.model @rounded_values(%q: !attn.stream<2x128>, %c: !attn.stream<64>) -> !attn.stream<2x128> {
  %k = attn.linear %c, @k_half : (!attn.stream<64>) -> !attn.stream<2x128>
  %v0 = attn.linear %c, @v_half : (!attn.stream<64>) -> !attn.stream<2x128>
  %v = attn.round %v0 to <bf16> : !attn.stream<2x128>
  // expected-remark@+1 {{attn.round stands between attn.linear by @v_half and the values of the attend: only a projection may}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<2x128>, !attn.stream<2x128>)
    values %v : !attn.stream<2x128> -> !attn.stream<2x128>
  attn.return %o : !attn.stream<2x128>
}

// Query heads that share key heads in runs.

attn.weight @k_runs : 16x6
attn.weight @v_runs : 16x6
// CHECK-LABEL: attn.model @heads_in_runs(
// CHECK-NOT: transpose
attn.model @heads_in_runs(%q: !attn.stream<4x8>, %c: !attn.stream<6>) -> !attn.stream<4x8> {
  %k = attn.linear %c, @k_runs : (!attn.stream<6>) -> !attn.stream<2x8>
  %v = attn.linear %c, @v_runs : (!attn.stream<6>) -> !attn.stream<2x8>
  // expected-remark@+1 {{attn.linear by @k_runs makes 2 heads for 4 query heads; heads that share one in runs have no projection of their own to move}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<2x8>)
    values %v : !attn.stream<2x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

// A key bias adds the same to every score and drops out; a value bias is added
// once behind the sum.

attn.weight @k_biased : 32x6
attn.weight @v_biased : 32x6
attn.weight @k_bias : 32
attn.weight @v_bias : 32
attn.weight @a_sink : 4
// CHECK-LABEL: attn.model @biases(
attn.model @biases(%q: !attn.stream<4x8>, %c: !attn.stream<6>) -> !attn.stream<4x8> {
  // CHECK: attn.linear %{{.*}}, @k_biased groups 4 transpose :
  // CHECK: attn.linear %{{.*}}, @v_biased bias @v_bias groups 4 :
  %k = attn.linear %c, @k_biased bias @k_bias : (!attn.stream<6>) -> !attn.stream<4x8>
  %v = attn.linear %c, @v_biased bias @v_bias : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{absorbed by 1 step}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

// CHECK-LABEL: attn.model @key_bias_and_sink(
// CHECK-NOT: transpose
attn.model @key_bias_and_sink(%q: !attn.stream<4x8>, %c: !attn.stream<6>) -> !attn.stream<4x8> {
  %k = attn.linear %c, @k_biased bias @k_bias : (!attn.stream<6>) -> !attn.stream<4x8>
  %v = attn.linear %c, @v_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{the key bias of attn.linear by @k_biased adds to every score of its source, which softmax ignores only with one source, no sink and no score map}}
  %o = attn.attend scale 0.5 sink @a_sink causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

// CHECK-LABEL: attn.model @key_bias_and_score_map(
// CHECK-NOT: transpose
attn.model @key_bias_and_score_map(%q: !attn.stream<4x8>, %c: !attn.stream<6>) -> !attn.stream<4x8> {
  %k = attn.linear %c, @k_biased bias @k_bias : (!attn.stream<6>) -> !attn.stream<4x8>
  %v = attn.linear %c, @v_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{the key bias of attn.linear by @k_biased}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8> {
  ^bb0(%s: f32, %i: f32, %j: f32, %h: f32):
    %t = math.tanh %s : f32
    attn.yield %t : f32
  }
  attn.return %o : !attn.stream<4x8>
}

// CHECK-LABEL: attn.model @value_bias_and_sink(
// CHECK-NOT: transpose
attn.model @value_bias_and_sink(%q: !attn.stream<4x8>, %c: !attn.stream<6>) -> !attn.stream<4x8> {
  %k = attn.linear %c, @k_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  %v = attn.linear %c, @v_biased bias @v_bias : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{the value bias of attn.linear by @v_biased is added once only where the weights of the values sum to 1: with no sink, no score map, and a source that shows the token itself}}
  %o = attn.attend scale 0.5 sink @a_sink causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

// A score map without biases is no obstacle: scores are the same numbers.

// CHECK-LABEL: attn.model @score_map(
// CHECK: transpose
// CHECK: attn.attend
// CHECK: math.tanh
attn.model @score_map(%q: !attn.stream<4x8>, %c: !attn.stream<6>) -> !attn.stream<4x8> {
  %k = attn.linear %c, @k_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  %v = attn.linear %c, @v_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{absorbed by 1 step}}
  %o = attn.attend scale 0.5 sink @a_sink causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8> {
  ^bb0(%s: f32, %i: f32, %j: f32, %h: f32):
    %t = math.tanh %s : f32
    attn.yield %t : f32
  }
  attn.return %o : !attn.stream<4x8>
}

// Two sources under one softmax: one value projection is shared, or none moves.

attn.weight @k_far : 32x6
// CHECK-LABEL: attn.model @two_sources(
attn.model @two_sources(%q: !attn.stream<4x8>, %near: !attn.stream<6>, %far: !attn.stream<6>) -> !attn.stream<4x8> {
  // CHECK: attn.linear %{{.*}}, @k_biased groups 4 transpose
  // CHECK: attn.linear %{{.*}}, @k_far groups 4 transpose
  // CHECK: attn.attend scale 0.5
  // CHECK: window 4
  // CHECK: causal
  // CHECK: attn.linear %{{.*}}, @v_biased groups 4 :
  %k1 = attn.linear %near, @k_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  %v1 = attn.linear %near, @v_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  %k2 = attn.linear %far, @k_far : (!attn.stream<6>) -> !attn.stream<4x8>
  %v2 = attn.linear %far, @v_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{absorbed by 1 step}}
  %o = attn.attend scale 0.5
    window 4 (%q, %k1 : !attn.stream<4x8>, !attn.stream<4x8>) values %v1 : !attn.stream<4x8>
    causal (%q, %k2 : !attn.stream<4x8>, !attn.stream<4x8>) values %v2 : !attn.stream<4x8>
    -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

attn.weight @v_far : 32x6
// CHECK-LABEL: attn.model @two_value_projections(
// CHECK-NOT: transpose
attn.model @two_value_projections(%q: !attn.stream<4x8>, %near: !attn.stream<6>, %far: !attn.stream<6>) -> !attn.stream<4x8> {
  %k1 = attn.linear %near, @k_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  %v1 = attn.linear %near, @v_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  %k2 = attn.linear %far, @k_far : (!attn.stream<6>) -> !attn.stream<4x8>
  %v2 = attn.linear %far, @v_far : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{the sources' values are projected by different weights, attn.linear by @v_biased and attn.linear by @v_far; behind the sum there is room for one}}
  %o = attn.attend scale 0.5
    window 4 (%q, %k1 : !attn.stream<4x8>, !attn.stream<4x8>) values %v1 : !attn.stream<4x8>
    causal (%q, %k2 : !attn.stream<4x8>, !attn.stream<4x8>) values %v2 : !attn.stream<4x8>
    -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

// A source moves as a whole, or one side reads the latent already.

// CHECK-LABEL: attn.model @values_from_elsewhere(
// CHECK-NOT: transpose
attn.model @values_from_elsewhere(%q: !attn.stream<4x8>, %c: !attn.stream<6>, %v: !attn.stream<4x8>) -> !attn.stream<4x8> {
  %k = attn.linear %c, @k_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{the values are no projection, and not what the keys are projected from}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

// CHECK-LABEL: attn.model @keys_from_elsewhere(
// CHECK-NOT: transpose
attn.model @keys_from_elsewhere(%q: !attn.stream<4x8>, %k: !attn.stream<4x8>, %c: !attn.stream<6>) -> !attn.stream<4x8> {
  %v = attn.linear %c, @v_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{no key part is a projection, or what the values are projected from}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

// CHECK-LABEL: attn.model @values_read_the_latent(
// CHECK-SAME: %[[QL:.+]]: !attn.stream<4x8>, %[[L:.+]]: !attn.stream<6>)
attn.model @values_read_the_latent(%q: !attn.stream<4x8>, %c: !attn.stream<6>) -> !attn.stream<4x6> {
  // CHECK: %[[QT:.+]] = attn.linear %[[QL]], @k_biased groups 4 transpose
  // CHECK: attn.attend
  // CHECK-NEXT: causal (%[[QT]], %[[L]] : !attn.stream<4x6>, !attn.stream<6>)
  // CHECK-NEXT: values %[[L]] : !attn.stream<6>
  // CHECK-NOT: attn.linear
  %k = attn.linear %c, @k_biased : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{absorbed by 1 step}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %c : !attn.stream<6> -> !attn.stream<4x6>
  attn.return %o : !attn.stream<4x6>
}

// Nothing to absorb, nothing to say.

// CHECK-LABEL: attn.model @latent_already(
// CHECK-NOT: attn.linear
attn.model @latent_already(%q: !attn.stream<4x6>, %c: !attn.stream<6>) -> !attn.stream<4x6> {
  %o = attn.attend scale 0.5 causal (%q, %c : !attn.stream<4x6>, !attn.stream<6>)
    values %c : !attn.stream<6> -> !attn.stream<4x6>
  attn.return %o : !attn.stream<4x6>
}

// Legal, and too dear: few small heads over a wide input. Absorbed on demand.

attn.weight @k_wide : 32x1024
attn.weight @v_wide : 32x1024
// CHECK-LABEL: attn.model @not_worth_it(
// CHECK-NOT: transpose
// ALWAYS-LABEL: attn.model @not_worth_it(
// ALWAYS: transpose
attn.model @not_worth_it(%q: !attn.stream<4x8>, %x: !attn.stream<1024>) -> !attn.stream<4x8> {
  %k = attn.linear %x, @k_wide : (!attn.stream<1024>) -> !attn.stream<4x8>
  %v = attn.linear %x, @v_wide : (!attn.stream<1024>) -> !attn.stream<4x8>
  // expected-remark@+1 {{refused: not absorbed: per entry 128 bytes + 128 FLOP against 2048 bytes + 16384 FLOP, 128.6 against 2129.9 at balance 200}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

// A projection of a projection: as deep as it pays. 32 -> 8 -> 4 heads x 16.

attn.weight @down : 8x32
attn.weight @k_deep : 64x8
attn.weight @v_deep : 64x8
// CHECK-LABEL: attn.model @two_deep(
// CHECK: %[[DOWN:.+]] = attn.linear %{{.*}}, @down
// CHECK: values %[[DOWN]] : !attn.stream<8>
attn.model @two_deep(%q: !attn.stream<4x16>, %x: !attn.stream<32>) -> !attn.stream<4x16> {
  %c = attn.linear %x, @down : (!attn.stream<32>) -> !attn.stream<8>
  %k = attn.linear %c, @k_deep : (!attn.stream<8>) -> !attn.stream<4x16>
  %v = attn.linear %c, @v_deep : (!attn.stream<8>) -> !attn.stream<4x16>
  // expected-remark@+1 {{absorbed by 1 step}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x16>, !attn.stream<4x16>)
    values %v : !attn.stream<4x16> -> !attn.stream<4x16>
  attn.return %o : !attn.stream<4x16>
}

// Matrices of each head follow one another: 4 x 6 -> 4 x 8 -> 4 x 16.

attn.weight @narrow : 32x6
attn.weight @k_heads : 64x8
attn.weight @v_heads : 64x8
// CHECK-LABEL: attn.model @two_steps(
attn.model @two_steps(%q: !attn.stream<4x16>, %x: !attn.stream<6>) -> !attn.stream<4x16> {
  // CHECK: %[[S1:.+]] = attn.linear %{{.*}}, @k_heads groups 4 transpose : (!attn.stream<4x16>) -> !attn.stream<4x8>
  // CHECK: %[[S2:.+]] = attn.linear %[[S1]], @narrow groups 4 transpose : (!attn.stream<4x8>) -> !attn.stream<4x6>
  // CHECK: %[[A:.+]] = attn.attend
  // CHECK: %[[T1:.+]] = attn.linear %[[A]], @narrow groups 4 : (!attn.stream<4x6>) -> !attn.stream<4x8>
  // CHECK: attn.linear %[[T1]], @v_heads groups 4 : (!attn.stream<4x8>) -> !attn.stream<4x16>
  %c = attn.linear %x, @narrow groups 4 : (!attn.stream<6>) -> !attn.stream<4x8>
  %k = attn.linear %c, @k_heads groups 4 : (!attn.stream<4x8>) -> !attn.stream<4x16>
  %v = attn.linear %c, @v_heads groups 4 : (!attn.stream<4x8>) -> !attn.stream<4x16>
  // expected-remark@+1 {{absorbed by 2 steps: }}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x16>, !attn.stream<4x16>)
    values %v : !attn.stream<4x16> -> !attn.stream<4x16>
  attn.return %o : !attn.stream<4x16>
}

// Rows that are no run for each head, groups that are no heads, an input that is
// read across its axes.

attn.weight @k_more : 40x6
attn.weight @v_more : 40x6
// CHECK-LABEL: attn.model @some_rows(
// CHECK-NOT: transpose
attn.model @some_rows(%q: !attn.stream<4x8>, %c: !attn.stream<6>) -> !attn.stream<4x8> {
  %k = attn.linear %c, @k_more rows [4, 32] : (!attn.stream<6>) -> !attn.stream<4x8>
  %v = attn.linear %c, @v_more rows [4, 32] : (!attn.stream<6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{attn.linear by @k_more has no run of whole weight rows for each head}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

attn.weight @k_two : 32x6
attn.weight @v_two : 32x6
// CHECK-LABEL: attn.model @two_groups(
// CHECK-NOT: transpose
attn.model @two_groups(%q: !attn.stream<4x8>, %c: !attn.stream<2x6>) -> !attn.stream<4x8> {
  %k = attn.linear %c, @k_two groups 2 : (!attn.stream<2x6>) -> !attn.stream<4x8>
  %v = attn.linear %c, @v_two groups 2 : (!attn.stream<2x6>) -> !attn.stream<4x8>
  // expected-remark@+1 {{attn.linear by @k_two has 2 groups, not one for each of the 4 heads}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}

// CHECK-LABEL: attn.model @across_axes(
// CHECK-NOT: transpose
attn.model @across_axes(%q: !attn.stream<4x8>, %c: !attn.stream<2x3>) -> !attn.stream<4x8> {
  %k = attn.linear %c, @k_two : (!attn.stream<2x3>) -> !attn.stream<4x8>
  %v = attn.linear %c, @v_two : (!attn.stream<2x3>) -> !attn.stream<4x8>
  // expected-remark@+1 {{attn.linear by @k_two reads across the axes of its input, which keys and values cannot}}
  %o = attn.attend scale 0.5 causal (%q, %k : !attn.stream<4x8>, !attn.stream<4x8>)
    values %v : !attn.stream<4x8> -> !attn.stream<4x8>
  attn.return %o : !attn.stream<4x8>
}
