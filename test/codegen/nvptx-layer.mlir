// One layer on the way to PTX: kernels hold plain IR and calls of device
// functions, which stay opaque through LLVM's optimiser.
//
// RUN: attnc compile %s --storage bf16 --target sm_90a --stop-after=kernels | FileCheck %s --check-prefix=KERNELS
// RUN: attnc compile %s --storage bf16 --target sm_90a --stop-after=llvm | FileCheck %s --check-prefix=IR
// RUN: attnc compile %s --storage bf16 --target sm_90a --stop-after=llvm | FileCheck %s --check-prefix=PURE

attn.weight @norm : 64
attn.weight @q : 64x64
attn.weight @k : 32x64
attn.weight @v : 32x64
attn.weight @o : 64x64
attn.model @layer(%h: !attn.stream<64>) -> !attn.stream<64> {
  %x = attn.rms_norm %h, @norm eps 1.0e-06 : !attn.stream<64>
  %qs = attn.linear %x, @q : (!attn.stream<64>) -> !attn.stream<4x16>
  %ks = attn.linear %x, @k : (!attn.stream<64>) -> !attn.stream<2x16>
  %vs = attn.linear %x, @v : (!attn.stream<64>) -> !attn.stream<2x16>
  %qr = attn.rope %qs last half_split <theta = 10000.0, dims = 16> : !attn.stream<4x16>
  %kr = attn.rope %ks last half_split <theta = 10000.0, dims = 16> : !attn.stream<2x16>
  %a = attn.attend scale 0.25
      causal (%qr, %kr : !attn.stream<4x16>, !attn.stream<2x16>) values %vs : !attn.stream<2x16>
      -> !attn.stream<4x16>
  %y = attn.linear %a, @o {attn.trace = "layer0.attention"} : (!attn.stream<4x16>) -> !attn.stream<64>
  attn.return %y : !attn.stream<64>
}

// KERNELS-DAG: llvm.func @attn_dev_barrier() attributes {passthrough = ["nounwind", "convergent"]}
// KERNELS-DAG: llvm.func @attn_dev_mma_m16n8k16_bf16({{.*}}) -> vector<4xf32> attributes {memory = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none>, passthrough = ["nounwind", "convergent", "willreturn"]}
// KERNELS-DAG: llvm.func @attend_h4_kv2_k2x16_bf16_v2x16_bf16({{.*}}) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>}

// A barrier for the tile, one for the maxima, one for the weights.
// IR: define void @attend_h4_kv2_k2x16_bf16_v2x16_bf16(
// IR: call void @attn_dev_cp_async_wait(i32 0)
// IR-NEXT: call void @attn_dev_barrier()
// IR: call <4 x float> @attn_dev_mma_m16n8k16_bf16(
// IR: call float @llvm.maximum.f32(
// IR: call void @attn_dev_barrier()
// IR: call float @attn_dev_ex2(
// IR: call void @attn_dev_barrier()
// IR: call <4 x i32> @attn_dev_ldmatrix_x4_trans(
// IR: call <4 x float> @attn_dev_mma_m16n8k16_bf16(

// PURE-NOT: {{ asm }}
// PURE-NOT: @llvm.nvvm.
