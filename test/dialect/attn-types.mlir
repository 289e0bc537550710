// RUN: attn-opt %s | attn-opt | FileCheck %s

// Types and attributes print as they are written; defaults are not printed.

// CHECK-LABEL: attn.model @streams(
// CHECK-SAME: !attn.stream<64>, %{{.*}}: !attn.stream<128x192>, %{{.*}}: !attn.stream<512, every 4>
attn.model @streams(%vector: !attn.stream<64>, %heads: !attn.stream<128x192>,
                    %compressed: !attn.stream<512, every 4>) -> !attn.stream<64> {
  attn.return %vector : !attn.stream<64>
}

// CHECK-LABEL: func.func private @default_rate(!attn.stream<64>)
func.func private @default_rate(!attn.stream<64, every 1>)

// CHECK-LABEL: func.func private @scores(
// CHECK-SAME: !attn.scores, !attn.scores<every 4>, !attn.scores<groups 8>, !attn.scores<every 4, groups 8>
func.func private @scores(!attn.scores, !attn.scores<every 4>, !attn.scores<groups 8>,
                          !attn.scores<groups 8, every 4>)

// CHECK-LABEL: func.func private @selections(
// CHECK-SAME: !attn.selection<512>, !attn.selection<512, every 4>, !attn.selection<2048, block 8>
// CHECK-SAME: !attn.selection<16, every 4, groups 2, block 8>
func.func private @selections(!attn.selection<512, every 1, groups 1, block 1>,
                              !attn.selection<512, every 4>, !attn.selection<2048, block 8>,
                              !attn.selection<16, every 4, groups 2, block 8>)

// CHECK-LABEL: func.func private @formats
// CHECK-SAME: a = #attn.format<f32>
// CHECK-SAME: b = #attn.format<bf16>
// CHECK-SAME: c = #attn.format<e4m3, block = 64, scale = e8m0>
// CHECK-SAME: d = #attn.format<e2m1, block = 16, scale = e4m3>
// CHECK-SAME: e = #attn.format<e5m2, block = row, scale = f32>
// CHECK-SAME: f = #attn.format<f16>
func.func private @formats() attributes {
  a = #attn.format<f32>, b = #attn.format<bf16>,
  c = #attn.format<e4m3, block = 64, scale = e8m0>,
  d = #attn.format<e2m1, block = 16, scale = e4m3>,
  e = #attn.format<e5m2, block = row, scale = f32>, f = #attn.format<f16>}

// CHECK-LABEL: func.func private @rotaries
// CHECK-SAME: a = #attn.rotary<theta = 10000.0, dims = 64>
// CHECK-SAME: b = #attn.rotary<theta = 500000.0, dims = 128, llama3 {factor = 8.0, high_freq_factor = 4.0, low_freq_factor = 1.0, original = 8192.0}>
// CHECK-SAME: c = #attn.rotary<theta = 10000.0, dims = 64, linear {factor = 2.5}>
// CHECK-SAME: d = #attn.rotary<theta = 150000.0, dims = 64, yarn {beta_fast = 32.0, beta_slow = 1.0, factor = 32.0, original = 4096.0, truncate = false}, amplitude = 1.3465735902799727>
// CHECK-SAME: e = #attn.rotary<theta = 1.0e-06, dims = 2>
func.func private @rotaries() attributes {
  a = #attn.rotary<theta = 10000.0, dims = 64>,
  b = #attn.rotary<theta = 500000.0, dims = 128, llama3 {factor = 8.0, low_freq_factor = 1.0, high_freq_factor = 4.0, original = 8192.0}>,
  c = #attn.rotary<theta = 10000.0, dims = 64, linear {factor = 2.5}>,
  d = #attn.rotary<theta = 150000.0, dims = 64, yarn {factor = 32.0, original = 4096.0, beta_fast = 32.0, beta_slow = 1.0, truncate = false}, amplitude = 1.3465735902799727>,
  e = #attn.rotary<theta = 0.000001, dims = 2>}
