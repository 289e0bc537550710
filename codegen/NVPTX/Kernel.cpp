//===- Kernel.cpp - writing one kernel as IR --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/NVPTX/Kernel.h"

#include "codegen/NVPTX/DeviceIntrinsics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace attnc;
using namespace attnc::nvptx;
using namespace mlir;

namespace {
constexpr const char *kSharedName = "attn_dynamic_shared";
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
} // namespace

Val ViewArg::at(Val t, Val h, Val i) const {
  Kernel &k = base.kernel();
  Val element = t * tokenStride + k.extend(h) * headStride + k.extend(i);
  return k.offset(base, element * 4);
}

Kernel::Kernel(MLIRContext *context, const std::string &name, int64_t threads)
    : module(ModuleOp::create(UnknownLoc::get(context))), blockThreads(threads), b(context),
      loc(UnknownLoc::get(context)) {
  b.setInsertionPointToEnd(module->getBody());
  auto empty = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {});
  func = b.create<LLVM::LLVMFuncOp>(loc, name, empty);
  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                b.getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  b.setInsertionPointToStart(func.addEntryBlock(b));
}

OwningOpRef<ModuleOp> Kernel::finish() {
  b.create<LLVM::ReturnOp>(loc, ValueRange());
  func.setFunctionType(LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()),
      llvm::to_vector(func.getBody().front().getArgumentTypes())));
  return std::move(module);
}

Val Kernel::argument(Type type) {
  return wrap(func.getBody().front().addArgument(type, loc));
}

Val Kernel::pointer() {
  return argument(LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace));
}

Val Kernel::integer() { return argument(i64Type()); }

ViewArg Kernel::view() {
  Val base = pointer(), tokenStride = integer();
  return {base, tokenStride, integer()};
}

Val Kernel::f32(double value) {
  return wrap(b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(static_cast<float>(value))));
}

Val Kernel::constant(Type type, int64_t value) {
  return wrap(b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, value)));
}

Val Kernel::extend(Val a) { return wrap(b.createOrFold<arith::ExtUIOp>(loc, i64Type(), a)); }

Val Kernel::truncate(Val a) { return wrap(b.createOrFold<arith::TruncIOp>(loc, i32Type(), a)); }

Val Kernel::toF32(Val a) {
  if (isa<FloatType>(a.type()))
    return wrap(b.create<arith::ExtFOp>(loc, f32Type(), Value(a)));
  return wrap(b.create<arith::SIToFPOp>(loc, f32Type(), Value(a)));
}

Val Kernel::bitcast(Val a, Type type) { return wrap(b.create<LLVM::BitcastOp>(loc, type, a)); }

Val Kernel::lane(Val vector, int64_t i) {
  return wrap(b.create<vector::ExtractOp>(loc, vector, i));
}

Val Kernel::lanes(ArrayRef<Val> scalars) {
  SmallVector<Value> values(scalars.begin(), scalars.end());
  auto type = VectorType::get({static_cast<int64_t>(values.size())}, values.front().getType());
  return wrap(b.create<vector::FromElementsOp>(loc, type, values));
}

Val Kernel::lanes(Val vector, ArrayRef<int64_t> which) {
  return wrap(b.create<vector::ShuffleOp>(loc, vector, vector, which));
}

Val Kernel::select(Val condition, Val x, Val y) {
  return wrap(b.createOrFold<arith::SelectOp>(loc, condition, x, y));
}

Val Kernel::min(Val x, Val y) { return wrap(b.createOrFold<arith::MinSIOp>(loc, x, y)); }
Val Kernel::max(Val x, Val y) { return wrap(b.createOrFold<arith::MaxSIOp>(loc, x, y)); }
Val Kernel::maxNaN(Val x, Val y) { return wrap(b.create<arith::MaximumFOp>(loc, x, y)); }
Val Kernel::fma(Val x, Val y, Val z) { return wrap(b.create<math::FmaOp>(loc, x, y, z)); }
Val Kernel::sqrt(Val a) { return wrap(b.create<math::SqrtOp>(loc, a)); }

Val Kernel::offset(Val pointer, Val bytes) {
  return wrap(b.create<LLVM::GEPOp>(loc, pointer.type(), i8Type(), pointer,
                                    ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(Value(bytes))}));
}

Val Kernel::load(Val pointer, Type type, int64_t alignment) {
  return wrap(b.create<LLVM::LoadOp>(loc, type, pointer, static_cast<unsigned>(alignment)));
}

void Kernel::store(Val value, Val pointer, int64_t alignment) {
  b.create<LLVM::StoreOp>(loc, value, pointer, static_cast<unsigned>(alignment));
}

Val Kernel::loadF32(Val pointer, Val index) {
  return load(offset(pointer, index * 4), f32Type(), 4);
}

Val Kernel::loadI32(Val pointer, Val index) {
  return load(offset(pointer, index * 4), i32Type(), 4);
}

void Kernel::storeF32(Val value, Val pointer, Val index) {
  store(value, offset(pointer, index * 4), 4);
}

int64_t Kernel::reserveShared(int64_t bytes) {
  int64_t begin = reserved;
  reserved += llvm::alignTo(bytes, 16);
  return begin;
}

Val Kernel::shared(Val byteOffset) {
  auto type = LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace);
  if (!module->lookupSymbol(kSharedName)) {
    OpBuilder atTop = OpBuilder::atBlockBegin(module->getBody());
    auto bytes = LLVM::LLVMArrayType::get(i8Type(), 0);
    atTop.create<LLVM::GlobalOp>(loc, bytes, /*isConstant=*/false, LLVM::Linkage::External,
                                 kSharedName, Attribute(), /*alignment=*/16, kSharedSpace);
  }
  Val base = wrap(b.create<LLVM::AddressOfOp>(loc, type, kSharedName));
  return offset(base, byteOffset);
}

void Kernel::when(Val condition, llvm::function_ref<void()> then) {
  auto ifOp = b.create<scf::IfOp>(loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(ifOp.thenYield());
  then();
}

void Kernel::loop(Val lo, Val hi, int64_t step, llvm::function_ref<void(Val)> body) {
  loop(lo, hi, step, {}, [&](Val i, ArrayRef<Val>) {
    body(i);
    return Vals();
  });
}

Vals Kernel::loop(Val lo, Val hi, int64_t step, ArrayRef<Val> inits,
                  llvm::function_ref<Vals(Val, ArrayRef<Val>)> body) {
  SmallVector<Value> start(inits.begin(), inits.end());
  auto forOp = b.create<scf::ForOp>(loc, lo, hi, constant(lo.type(), step), start);
  {
    OpBuilder::InsertionGuard guard(b);
    // Without values to carry the loop comes with its terminator.
    if (inits.empty())
      b.setInsertionPoint(forOp.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(forOp.getBody());
    Vals carried;
    for (Value value : forOp.getRegionIterArgs())
      carried.push_back(wrap(value));
    Vals next = body(wrap(forOp.getInductionVar()), carried);
    if (!inits.empty())
      b.create<scf::YieldOp>(loc, SmallVector<Value>(next.begin(), next.end()));
  }
  Vals results;
  for (Value value : forOp.getResults())
    results.push_back(wrap(value));
  return results;
}

Vals Kernel::choose(Val condition, llvm::function_ref<Vals()> then,
                    llvm::function_ref<Vals()> otherwise) {
  auto build = [&](llvm::function_ref<Vals()> make) {
    return [&, make](OpBuilder &inner, Location at) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
      Vals values = make();
      b.create<scf::YieldOp>(at, SmallVector<Value>(values.begin(), values.end()));
    };
  };
  auto ifOp = b.create<scf::IfOp>(loc, condition, build(then), build(otherwise));
  Vals results;
  for (Value value : ifOp.getResults())
    results.push_back(wrap(value));
  return results;
}

Val Kernel::scalarBody(Region &body, ArrayRef<Val> arguments) {
  IRMapping mapping;
  Block &block = body.front();
  for (auto [from, to] : llvm::zip_equal(block.getArguments(), arguments))
    mapping.map(from, Value(to));
  for (Operation &op : block.without_terminator())
    b.clone(op, mapping);
  return wrap(mapping.lookupOrDefault(block.getTerminator()->getOperand(0)));
}

Val Kernel::device(StringRef name, ArrayRef<Val> operands) {
  const DeviceIntrinsic *intrinsic = findDeviceIntrinsic(name);
  auto callee = declareDeviceIntrinsic(*module, *intrinsic);
  SmallVector<Value> values(operands.begin(), operands.end());
  auto call = b.create<LLVM::CallOp>(loc, callee, values);
  return intrinsic->result == DevType::Void ? Val() : wrap(call.getResult());
}

Val Kernel::sumOverLanes(Val a, int64_t mask) {
  for (int64_t bit = 1; bit <= mask; bit *= 2)
    if (mask & bit)
      a = a + device("attn_dev_shfl_bfly_f32", {a, i32(bit)});
  return a;
}

Val Kernel::maxOverLanes(Val a, int64_t mask) {
  for (int64_t bit = 1; bit <= mask; bit *= 2)
    if (mask & bit)
      a = maxNaN(a, device("attn_dev_shfl_bfly_f32", {a, i32(bit)}));
  return a;
}
