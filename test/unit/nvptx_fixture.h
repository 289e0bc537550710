//===- nvptx_fixture.h - specs that several NVPTX tests use -------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TEST_UNIT_NVPTX_FIXTURE_H
#define ATTNC_TEST_UNIT_NVPTX_FIXTURE_H

#include "codegen/NVPTX/Compile.h"
#include "codegen/NVPTX/Ptxas.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attnc::test {

inline Format plain(Elem elem) {
  Format format;
  format.elem = elem;
  return format;
}

/// A segment of a cache: `heads` x `dim` channels at byte `data` of rows of `stride` bytes.
inline RowSpec cached(Elem elem, int64_t heads, int64_t dim, int64_t data, int64_t stride) {
  RowSpec rows;
  rows.heads = heads;
  rows.dim = dim;
  rows.format = plain(elem);
  rows.place = {data, stride, 0, 0};
  return rows;
}

inline RowSpec dense(int64_t heads, int64_t dim) {
  RowSpec rows;
  rows.heads = heads;
  rows.dim = dim;
  rows.dense = true;
  return rows;
}

/// Absorbed latent attention: `heads` queries on one latent, which is the value,
/// and one rotated key.
inline AttendSpec latent(int64_t heads, Elem elem, int64_t dim = 512, int64_t rope = 64) {
  int64_t size = elem == Elem::F32 ? 4 : 2, stride = (dim + rope) * size;
  AttendSpec spec;
  spec.heads = heads;
  spec.keys = {cached(elem, 1, dim, 0, stride), cached(elem, 1, rope, dim * size, stride)};
  spec.valueKey = 0;
  spec.scale = 0.1352337788608801;
  return spec;
}

/// `heads` queries in runs on `kvHeads` keys and values of width `dim`.
inline AttendSpec grouped(int64_t heads, int64_t kvHeads, int64_t dim, Elem elem) {
  int64_t size = elem == Elem::F32 ? 4 : 2, half = kvHeads * dim * size;
  AttendSpec spec;
  spec.heads = heads;
  spec.kvHeads = kvHeads;
  spec.keys = {cached(elem, kvHeads, dim, 0, 2 * half)};
  spec.value = cached(elem, kvHeads, dim, half, 2 * half);
  spec.scale = 0.08838834764831845;
  return spec;
}

/// A scalar function of f32 arguments, as the regions of map and attend are.
/// `write` gets a builder and the arguments and returns the result.
class Scalar {
public:
  template <typename Write>
  Scalar(mlir::MLIRContext &context, unsigned arguments, Write write) {
    context.loadDialect<mlir::arith::ArithDialect, mlir::math::MathDialect,
                        mlir::LLVM::LLVMDialect>();
    mlir::OpBuilder builder(&context);
    mlir::Location loc = builder.getUnknownLoc();
    auto *block = new mlir::Block();
    region.push_back(block);
    for (unsigned i = 0; i < arguments; ++i)
      block->addArgument(builder.getF32Type(), loc);
    builder.setInsertionPointToStart(block);
    mlir::Value result = write(builder, loc, block->getArguments());
    // Any terminator with one operand stands for attn.yield here.
    builder.create<mlir::LLVM::ReturnOp>(loc, mlir::ValueRange(result));
  }
  ScalarBody body() { return {&region, "test"}; }

private:
  mlir::Region region;
};

inline KernelSpec named(std::string name, decltype(KernelSpec::op) op) {
  return {std::move(name), std::move(op)};
}

struct Compiled {
  std::string error;
  std::vector<NvptxKernel> kernels;
};

inline Compiled compile(mlir::MLIRContext &context, const std::vector<KernelSpec> &specs,
                        const std::string &chip, bool assemble = true) {
  NvptxTargetOptions options;
  options.chip = chip;
  options.assemble = assemble;
  options.keepMlir = options.keepIr = true;
  Compiled made;
  made.error = compileNvptx(specs, options, context, made.kernels);
  return made;
}

inline bool havePtxas() { return !nvptx::findPtxas("").empty(); }

inline size_t count(const std::string &text, const std::string &what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_NVPTX_FIXTURE_H
