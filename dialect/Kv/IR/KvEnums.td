//===- KvEnums.td - enumerations of the kv dialect -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_KV_ENUMS_TD
#define ATTNC_DIALECT_KV_ENUMS_TD

include "mlir/IR/EnumAttr.td"

def Kv_CacheKind : I32EnumAttr<"CacheKind", "how long rows live", [
    I32EnumAttrCase<"Paged", 0, "paged">,
    I32EnumAttrCase<"Ring", 1, "ring">,
    I32EnumAttrCase<"State", 2, "state">]> {
  let cppNamespace = "::mlir::kv";
}

#endif
