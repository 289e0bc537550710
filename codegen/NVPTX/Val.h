//===- Val.h - values with operators ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lets a kernel's text read like the arithmetic that it emits. An operator picks
// its arith op by the type: i32, i64 (both signed; division and remainder are of
// non-negative numbers), i1, f32 or vectors of it. Integers on the right may be plain numbers.
// Constants fold while they are written.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_CODEGEN_NVPTX_VAL_H
#define ATTNC_CODEGEN_NVPTX_VAL_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <cstdint>

namespace attnc::nvptx {

class Kernel;

class Val {
public:
  Val() = default;
  Val(Kernel &kernel, mlir::Value value) : owner(&kernel), value(value) {}
  operator mlir::Value() const { return value; }
  explicit operator bool() const { return bool(value); }
  mlir::Type type() const { return value.getType(); }
  Kernel &kernel() const { return *owner; }

private:
  Kernel *owner = nullptr;
  mlir::Value value;
};

using Vals = llvm::SmallVector<Val>;

Val operator+(Val a, Val b);
Val operator-(Val a, Val b);
Val operator*(Val a, Val b);
Val operator/(Val a, Val b);
Val operator%(Val a, Val b);
Val operator&(Val a, Val b);
Val operator|(Val a, Val b);
Val operator+(Val a, int64_t b);
Val operator-(Val a, int64_t b);
Val operator*(Val a, int64_t b);
Val operator/(Val a, int64_t b);
Val operator%(Val a, int64_t b);
Val operator&(Val a, int64_t b);
Val operator<<(Val a, int64_t b);
Val operator>>(Val a, int64_t b); ///< zeros come in

Val operator<(Val a, Val b); ///< signed; false for NaN
Val operator<(Val a, int64_t b);
Val operator>=(Val a, Val b);
Val operator==(Val a, Val b);
Val operator==(Val a, int64_t b);

} // namespace attnc::nvptx

#endif // ATTNC_CODEGEN_NVPTX_VAL_H
