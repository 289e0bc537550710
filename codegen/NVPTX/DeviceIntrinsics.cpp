//===- DeviceIntrinsics.cpp - the table of device functions ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/DeviceIntrinsics.h"

#include "mlir/IR/Builders.h"

using namespace attnc;
using namespace attnc::nvptx;
using namespace mlir;

using T = DevType;
using E = DevEffects;

const std::vector<DeviceIntrinsic> &nvptx::deviceIntrinsics() {
  static const std::vector<DeviceIntrinsic> table = {
      {"attn_dev_tid_x", T::I32, {}, E::None, false,
       "number of this thread in its block", "mov.u32 $0, %tid.x;", 80},
      {"attn_dev_ctaid_x", T::I32, {}, E::None, false,
       "number of this block in the grid, first axis", "mov.u32 $0, %ctaid.x;", 80},
      {"attn_dev_ctaid_y", T::I32, {}, E::None, false,
       "number of this block in the grid, second axis", "mov.u32 $0, %ctaid.y;", 80},
      {"attn_dev_barrier", T::Void, {}, E::Unknown, true,
       "waits for all threads of the block; what they wrote to shared and global memory before is seen after",
       "bar.sync 0;", 80},
      {"attn_dev_shfl_bfly_f32", T::F32, {T::F32, T::I32}, E::None, true,
       "the value of lane (this lane xor operand 1); all 32 lanes take part",
       "shfl.sync.bfly.b32 $0, $1, $2, 0x1f, 0xffffffff;", 80},
      {"attn_dev_shfl_idx_i32", T::I32, {T::I32, T::I32}, E::None, true,
       "the value of lane (operand 1); all 32 lanes take part",
       "shfl.sync.idx.b32 $0, $1, $2, 0x1f, 0xffffffff;", 80},
      {"attn_dev_ex2", T::F32, {T::F32}, E::None, false,
       "2^x, relative error below 2^-22; results below 2^-126 are 0",
       "ex2.approx.ftz.f32 $0, $1;", 80},
      {"attn_dev_cvt_bf16x2", T::I32, {T::F32, T::F32}, E::None, false,
       "operand 0 and operand 1 rounded to bf16, nearest even, in the low and the high half",
       "cvt.rn.bf16x2.f32 $0, $2, $1;", 80},
      {"attn_dev_ldmatrix_x2", T::I32x2, {T::Shared}, E::Read, true,
       "two 8x8 matrices of 16-bit values; lanes 0-7 and 8-15 give the addresses of their rows, 16 bytes each; "
       "lane 4r+c gets columns 2c and 2c+1 of row r",
       "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {$0, $1}, [$2];", 80},
      {"attn_dev_ldmatrix_x4", T::I32x4, {T::Shared}, E::Read, true,
       "as ldmatrix_x2, four matrices: lanes 0-7, 8-15, 16-23, 24-31 give the rows",
       "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];", 80},
      {"attn_dev_ldmatrix_x4_trans", T::I32x4, {T::Shared}, E::Read, true,
       "as ldmatrix_x4, each matrix transposed: lane 4r+c gets rows 2c and 2c+1 of column r",
       "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4];", 80},
      {"attn_dev_mma_m16n8k16_bf16", T::F32x4, {T::I32x4, T::I32x2, T::F32x4}, E::None, true,
       "D = A B + C with A 16x16, B 16x8 in bf16 and C, D 16x8 in f32. Lane 4g+t holds of A: (g, 2t), (g+8, 2t), "
       "(g, 2t+8), (g+8, 2t+8), each with the column after it; of B: (2t, g), (2t+8, g), each with the row after "
       "it; of C and D: (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1)",
       "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, "
       "{$10, $11, $12, $13};", 80},
      {"attn_dev_cp_async_16", T::Void, {T::Shared, T::Global, T::I32}, E::Unknown, false,
       "starts copying the first (operand 2) bytes of 16 from global to shared memory, the rest becomes 0; both "
       "addresses are multiples of 16; with 0 bytes nothing is read. Visible to this thread after "
       "cp_async_wait, to others after a barrier that follows it",
       "cp.async.cg.shared.global [$0], [$1], 16, $2;", 80},
      {"attn_dev_cp_async_commit", T::Void, {}, E::Unknown, false,
       "ends this thread's current group of copies", "cp.async.commit_group;", 80},
      {"attn_dev_cp_async_wait", T::Void, {T::Imm}, E::Unknown, false,
       "waits until at most (operand 0) of this thread's newest groups are still under way",
       "cp.async.wait_group $0;", 80},
  };
  return table;
}

const DeviceIntrinsic *nvptx::findDeviceIntrinsic(llvm::StringRef name) {
  for (const DeviceIntrinsic &intrinsic : deviceIntrinsics())
    if (name == intrinsic.name)
      return &intrinsic;
  return nullptr;
}

unsigned nvptx::registersOf(DevType type) {
  switch (type) {
  case T::Void:
    return 0;
  case T::I32x2:
    return 2;
  case T::I32x4:
  case T::F32x4:
    return 4;
  default:
    return 1;
  }
}

Type nvptx::mlirTypeOf(DevType type, MLIRContext *context) {
  Type i32 = IntegerType::get(context, 32), f32 = Float32Type::get(context);
  switch (type) {
  case T::Void:
    return LLVM::LLVMVoidType::get(context);
  case T::I32:
  case T::Imm:
    return i32;
  case T::F32:
    return f32;
  case T::I32x2:
    return VectorType::get({2}, i32);
  case T::I32x4:
    return VectorType::get({4}, i32);
  case T::F32x4:
    return VectorType::get({4}, f32);
  case T::Shared:
    return LLVM::LLVMPointerType::get(context, 3);
  case T::Global:
    return LLVM::LLVMPointerType::get(context, 1);
  }
  llvm_unreachable("covered switch");
}

LLVM::LLVMFuncOp
nvptx::declareDeviceIntrinsic(ModuleOp module, const DeviceIntrinsic &intrinsic) {
  if (auto found = module.lookupSymbol<LLVM::LLVMFuncOp>(intrinsic.name))
    return found;
  MLIRContext *context = module.getContext();
  SmallVector<Type> operands;
  for (DevType type : intrinsic.operands)
    operands.push_back(mlirTypeOf(type, context));
  auto type = LLVM::LLVMFunctionType::get(mlirTypeOf(intrinsic.result, context),
                                          operands);
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto func = builder.create<LLVM::LLVMFuncOp>(module.getLoc(), intrinsic.name, type);

  // Without willreturn, an unused call could not be dropped. Nothing else may
  // be promised: nosync with nocallback lets stores move over a barrier.
  SmallVector<Attribute> attributes = {builder.getStringAttr("nounwind")};
  if (intrinsic.convergent)
    attributes.push_back(builder.getStringAttr("convergent"));
  if (intrinsic.effects != E::Unknown) {
    attributes.push_back(builder.getStringAttr("willreturn"));
    auto other = intrinsic.effects == E::Read ? LLVM::ModRefInfo::Ref
                                              : LLVM::ModRefInfo::NoModRef;
    func.setMemoryAttr(LLVM::MemoryEffectsAttr::get(
        context, {other, other, LLVM::ModRefInfo::NoModRef}));
  }
  func.setPassthroughAttr(builder.getArrayAttr(attributes));
  return func;
}
