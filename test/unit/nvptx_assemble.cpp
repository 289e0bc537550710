//===- nvptx_assemble.cpp - every kind of kernel assembles without spills -------===//
// SPDX-License-Identifier: Apache-2.0

#include "nvptx_fixture.h"

using namespace attnc;
using namespace attnc::test;

namespace {

/// One kernel of each kind, at the widths of DeepSeek-V3 and of Llama.
std::vector<KernelSpec> allKinds(ScalarBody add) {
  ProjectSpec query;
  query.in = 7168;
  query.out = 1536;
  ProjectSpec absorb;
  absorb.groups = 128;
  absorb.in = 128;
  absorb.out = 512;
  ProjectSpec biased;
  biased.in = 100;
  biased.out = 70;
  biased.bias = biased.sharedInput = true;
  biased.groups = 3;
  NormSpec norm;
  norm.shape = {1, 7168};
  norm.weight = true;
  norm.eps = 1e-6;
  NormSpec perHead;
  perHead.shape = {16, 128};
  perHead.perHead = true;
  perHead.eps = 1e-6;
  RopeSpec rope;
  rope.shape = {128, 192};
  rope.first = 128;
  rope.dims = 64;
  rope.interleaved = true;
  MapSpec map;
  map.shape = {1, 7168};
  map.operands = {MapSpec::Operand::Full, MapSpec::Operand::Full};
  map.body = add;
  RoundSpec round;
  round.shape = {1, 576};
  round.format = plain(Elem::BF16);
  AppendSpec append;
  append.parts = {{{1, 512}, plain(Elem::BF16), {0, 1152, 0, 0}},
                  {{1, 64}, plain(Elem::BF16), {1024, 1152, 0, 0}}};
  UnpackSpec unpack;
  unpack.rows = cached(Elem::BF16, 1, 512, 0, 1152);
  CombineSpec combine;
  combine.heads = 128;
  combine.dv = 512;
  CombineSpec sunk = combine;
  sunk.sink = true;
  AttendSpec prefill;
  prefill.heads = prefill.kvHeads = 128;
  prefill.keys = {dense(128, 128), dense(1, 64)};
  prefill.value = dense(128, 128);
  prefill.scale = 0.1;
  return {named("project_query", query),
          named("project_absorb", absorb),
          named("project_biased", biased),
          named("norm_hidden", norm),
          named("norm_heads", perHead),
          named("rope_query", rope),
          named("map_add", map),
          named("round_row", round),
          named("append_latent", append),
          named("unpack_latent", unpack),
          named("combine_plain", combine),
          named("combine_sink", sunk),
          named("attend_prefill", prefill),
          named("attend_h128_bf16", latent(128, Elem::BF16)),
          named("attend_h16_bf16", latent(16, Elem::BF16)),
          named("attend_h128_f32", latent(128, Elem::F32)),
          named("attend_h32k8_bf16", grouped(32, 8, 128, Elem::BF16)),
          named("attend_h32k8_f16", grouped(32, 8, 128, Elem::F16)),
          named("attend_h4_odd", grouped(4, 2, 63, Elem::BF16)),
          named("attend_h4_72", grouped(4, 4, 72, Elem::F32)),
          named("attend_h8_576", latent(8, Elem::BF16, 576, 16))};
}

class Assemble : public testing::TestWithParam<const char *> {};

TEST_P(Assemble, EveryKindHasPtxAndDoesNotSpill) {
  mlir::MLIRContext context;
  Scalar add(context, 2, [](mlir::OpBuilder &b, mlir::Location loc, auto arguments) {
    return b.create<mlir::arith::AddFOp>(loc, arguments[0], arguments[1]).getResult();
  });
  std::vector<KernelSpec> specs = allKinds(add.body());
  Compiled made = compile(context, specs, GetParam());
  ASSERT_EQ(made.error, "");
  ASSERT_EQ(made.kernels.size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const NvptxKernel &kernel = made.kernels[i];
    EXPECT_EQ(kernel.name, specs[i].name);
    EXPECT_EQ(count(kernel.ptx, ".visible .entry " + specs[i].name), 1u);
    if (!havePtxas())
      continue;
    // A spill is an error of compileNvptx.
    EXPECT_GT(kernel.registers, 0) << kernel.name;
    EXPECT_FALSE(kernel.cubin.empty()) << kernel.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Assemble,
                         testing::Values("sm_80", "sm_86", "sm_90a"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
