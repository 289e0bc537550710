//===- nvptx_attend.cpp - shapes, sizes and instructions of attend kernels --------===//
// SPDX-License-Identifier: Apache-2.0

#include "nvptx_fixture.h"

#include "codegen/NVPTX/AttendTile.h"

using namespace attnc;
using namespace attnc::nvptx;
using namespace attnc::test;

namespace {

Result<AttendTile> tileFor(const AttendSpec &spec, const char *chip) {
  return chooseAttendTile(spec, *findChip(chip));
}

TEST(AttendTile, TakesWhatFitsTheChip) {
  AttendSpec spec = latent(128, Elem::BF16);
  AttendTile large = *tileFor(spec, "sm_90a");
  EXPECT_EQ(large.rows(), 32);
  EXPECT_EQ(large.entries, 64);
  EXPECT_EQ(large.stages, 2);
  // (32 queries + 2 x 64 entries) x 1168 bytes, 32 x 144 of weights, 512 to reduce.
  EXPECT_EQ(large.sharedBytes(), 160 * 1168 + 32 * 144 + 512);

  AttendTile medium = *tileFor(spec, "sm_80");
  EXPECT_EQ(medium.rows(), 32);
  EXPECT_EQ(medium.entries, 32);
  EXPECT_EQ(medium.stages, 2);

  AttendTile small = *tileFor(spec, "sm_86");
  EXPECT_EQ(small.rows(), 16);
  EXPECT_EQ(small.entries, 32);
  EXPECT_EQ(small.stages, 2);
  for (const AttendTile &tile : {large, medium, small})
    EXPECT_EQ(tile.channelBlocks() * 8, 64); // accumulators of a thread
}

TEST(AttendTile, EveryTileFitsAndIsWhole) {
  for (const Chip &chip : chips())
    for (int64_t dim : {1, 8, 63, 72, 80, 96, 128, 192, 512, 576})
      for (int64_t heads : {1, 3, 16, 128}) {
        AttendTile tile = *tileFor(latent(heads, Elem::BF16, dim, 16), chip.name);
        EXPECT_LE(tile.sharedBytes(), chip.maxShared);
        EXPECT_LE(tile.channelBlocks() * 8, 64);
        EXPECT_EQ(tile.entries % (8 * tile.columnWarps), 0);
        EXPECT_EQ(tile.entries % tile.warps(), 0);
        EXPECT_LE(tile.threads(), 1024);
      }
}

TEST(AttendTile, RefusesWhatDoesNotFitWithNumbers) {
  EXPECT_EQ(tileFor(latent(16, Elem::BF16, 1040), "sm_90a").error(),
            "a value of 1040 channels needs 72 accumulators per thread; at most 64 fit (1024 "
            "channels)");
  EXPECT_EQ(tileFor(latent(16, Elem::BF16, 512, 2000), "sm_90a").error(),
            "keys of 2512 channels; at most 2048 are supported");
  EXPECT_EQ(tileFor(latent(16, Elem::BF16, 512, 1024), "sm_86").error(),
            "keys of 1536 and a value of 512 channels need 149760 bytes of shared memory; sm_86 "
            "has 101376");
}

TEST(AttendKernel, RefusalsNameTheKernelAndTheFormat) {
  mlir::MLIRContext context;
  AttendSpec spec = latent(16, Elem::BF16);
  spec.keys[0].format.elem = Elem::E4M3;
  spec.keys[0].format.block = 64;
  spec.keys[0].format.scale = Scale::E8M0;
  EXPECT_EQ(compile(context, {named("attend_fp8", spec)}, "sm_90a").error,
            "kernel attend_fp8: format 'e4m3 block 64 scale e8m0' has no GPU code; supported are "
            "f32, bf16 and f16");
}

/// A thread's matrix instructions: 36 or 8 steps of scores per 8 of its entries,
/// then entries / 16 steps for each 8 of its channels.
TEST(AttendKernel, UsesTheMatrixUnits) {
  mlir::MLIRContext context;
  Compiled made = compile(context,
                          {named("attend_mla", latent(128, Elem::BF16)),
                           named("attend_gqa", grouped(32, 8, 128, Elem::BF16))},
                          "sm_90a", false);
  ASSERT_EQ(made.error, "");
  const std::string mma = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
  EXPECT_EQ(count(made.kernels[0].ptx, mma), 36u * 2 + 4 * 16);
  EXPECT_EQ(count(made.kernels[1].ptx, mma), 8u * 2 + 4 * 4);
  EXPECT_EQ(count(made.kernels[0].mlir, "llvm.call @attn_dev_mma_m16n8k16_bf16"),
            count(made.kernels[0].ptx, mma));
  EXPECT_NE(made.kernels[0].ptx.find("ldmatrix.sync.aligned.m8n8.x4.trans"), std::string::npos);
}

TEST(AttendKernel, CopiesAlignedRowsAndConvertsOthers) {
  mlir::MLIRContext context;
  AttendSpec odd = latent(16, Elem::BF16);
  for (RowSpec &key : odd.keys)
    key.place.dataStride += 2; // rows of 1154 bytes
  Compiled made = compile(context,
                          {named("attend_aligned", latent(16, Elem::BF16)),
                           named("attend_odd", odd), named("attend_f32", latent(16, Elem::F32))},
                          "sm_80", false);
  ASSERT_EQ(made.error, "");
  EXPECT_NE(made.kernels[0].ptx.find("cp.async.cg.shared.global"), std::string::npos);
  EXPECT_EQ(made.kernels[1].ptx.find("cp.async.cg.shared.global"), std::string::npos);
  EXPECT_EQ(made.kernels[2].ptx.find("cp.async.cg.shared.global"), std::string::npos);
  // Rows of 1154 bytes are aligned to 2: nothing wider may be loaded from them.
  EXPECT_NE(made.kernels[1].ptx.find("ld.global.u16"), std::string::npos);
}

TEST(AttendKernel, ScoreMapsBecomePlainArithmetic) {
  mlir::MLIRContext context;
  Scalar cap(context, 4, [](mlir::OpBuilder &b, mlir::Location loc, auto arguments) {
    auto limit = b.create<mlir::arith::ConstantOp>(loc, b.getF32FloatAttr(50));
    mlir::Value scaled = b.create<mlir::arith::DivFOp>(loc, arguments[0], limit);
    mlir::Value bent = b.create<mlir::math::TanhOp>(loc, scaled);
    return b.create<mlir::arith::MulFOp>(loc, bent, limit).getResult();
  });
  AttendSpec spec = grouped(8, 4, 256, Elem::BF16);
  spec.scoreMap = cap.body();
  Compiled made = compile(context, {named("attend_cap", spec)}, "sm_80");
  ASSERT_EQ(made.error, "");
  EXPECT_EQ(made.kernels[0].ptx.find("tanh.approx"), std::string::npos);
}

TEST(MapKernel, EveryScalarFunctionHasCode) {
  using namespace mlir::math;
  mlir::MLIRContext context;
  Scalar all(context, 1, [](mlir::OpBuilder &b, mlir::Location loc, auto arguments) {
    mlir::Value x = arguments[0];
    x = b.create<ExpOp>(loc, x);
    x = b.create<Exp2Op>(loc, x);
    x = b.create<LogOp>(loc, x);
    x = b.create<Log2Op>(loc, x);
    x = b.create<TanhOp>(loc, x);
    x = b.create<SqrtOp>(loc, x);
    x = b.create<RsqrtOp>(loc, x);
    x = b.create<AbsFOp>(loc, x);
    x = b.create<SinOp>(loc, x);
    x = b.create<CosOp>(loc, x);
    x = b.create<ErfOp>(loc, x);
    x = b.create<PowFOp>(loc, x, arguments[0]);
    x = b.create<mlir::arith::MaximumFOp>(loc, x, arguments[0]);
    x = b.create<mlir::arith::MinNumFOp>(loc, x, arguments[0]);
    return b.create<mlir::arith::NegFOp>(loc, x).getResult();
  });
  MapSpec map;
  map.shape = {4, 16};
  map.operands = {MapSpec::Operand::Full};
  map.body = all.body();
  EXPECT_EQ(compile(context, {named("map_all", map)}, "sm_80").error, "");
}

TEST(MapKernel, RefusesAFunctionWithoutCode) {
  mlir::MLIRContext context;
  Scalar tan(context, 1, [](mlir::OpBuilder &b, mlir::Location loc, auto arguments) {
    return b.create<mlir::math::AtanhOp>(loc, arguments[0]).getResult();
  });
  MapSpec map;
  map.shape = {1, 16};
  map.operands = {MapSpec::Operand::Full};
  map.body = tan.body();
  EXPECT_EQ(compile(context, {named("map_atanh", map)}, "sm_80").error,
            "kernel map_atanh: 'math.atanh' has no lowering for a GPU");
}

} // namespace
