//===- ExpandMath.cpp - scalar functions become arithmetic ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/ExpandMath.h"

#include "codegen/NVPTX/DeviceIntrinsics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace attnc;
using namespace mlir;

namespace {

/// math.exp2 of an f32 becomes a call of attn_dev_ex2.
struct Exp2ToDevice : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    auto module = op->getParentOfType<ModuleOp>();
    auto func = nvptx::declareDeviceIntrinsic(module, *nvptx::findDeviceIntrinsic("attn_dev_ex2"));
    rewriter.replaceOpWithNewOp<LLVM::CallOp>(op, func, op.getOperand());
    return success();
  }
};

/// sin and cos by reduction to [-pi/4, pi/4] with pi/2 in three parts, then the
/// Taylor polynomials, whose next terms are below 2^-24 there. (MLIR's own
/// expansion is off by 10 % near 0, because its reduction has one part.)
template <typename Op, int quadrantShift> struct ExpandSinCos : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto f32 = [&](double x) -> Value {
      return b.create<arith::ConstantOp>(b.getF32FloatAttr(static_cast<float>(x)));
    };
    auto i32 = [&](int64_t x) -> Value {
      return b.create<arith::ConstantOp>(b.getI32IntegerAttr(x));
    };
    auto polynomial = [&](Value x, std::initializer_list<double> coefficients) {
      Value sum;
      for (double c : coefficients)
        sum = sum ? b.create<math::FmaOp>(sum, x, f32(c)).getResult() : f32(c);
      return sum;
    };

    Value turns = b.create<math::RoundEvenOp>(
        b.create<arith::MulFOp>(op.getOperand(), f32(0.636619772367581343)));
    Value rest = op.getOperand();
    for (double part : {1.5703125, 4.837512969970703125e-4, 7.54978995489188e-8})
      rest = b.create<math::FmaOp>(turns, f32(-part), rest);
    Value square = b.create<arith::MulFOp>(rest, rest);
    Value sine = b.create<arith::MulFOp>(
        rest, polynomial(square, {2.75573192e-6, -1.98412698e-4, 8.33333333e-3, -1.66666667e-1, 1}));
    Value cosine = polynomial(
        square, {-2.75573192e-7, 2.48015873e-5, -1.38888889e-3, 4.16666667e-2, -0.5, 1});

    Value quadrant = b.create<arith::AddIOp>(b.create<arith::FPToSIOp>(b.getI32Type(), turns),
                                             i32(quadrantShift));
    auto bit = [&](int64_t mask) -> Value {
      Value masked = b.create<arith::AndIOp>(quadrant, i32(mask));
      return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, masked, i32(0));
    };
    Value value = b.create<arith::SelectOp>(bit(1), cosine, sine);
    Value negated = b.create<arith::NegFOp>(value);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, bit(2), negated, value);
    return success();
  }
};

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)
  StringRef getArgument() const override { return "attnc-nvptx-expand-math"; }

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    populateExpandPowFPattern(patterns);
    populateExpandRoundFPattern(patterns);
    populateMathPolynomialApproximationPatterns(patterns);
    patterns.add<Exp2ToDevice, ExpandSinCos<math::SinOp, 0>, ExpandSinCos<math::CosOp, 1>>(
        context, /*benefit=*/2);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> nvptx::createExpandMathPass() { return std::make_unique<ExpandMathPass>(); }
