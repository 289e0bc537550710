//===- Kv.h - the kv dialect ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Where streams live and what one step does; see KvOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_DIALECT_KV_H
#define ATTNC_DIALECT_KV_H

#include "dialect/Attn/IR/Attn.h"
#include "formats/CachePlan.h"

#include "dialect/Kv/IR/KvDialect.h.inc"
#include "dialect/Kv/IR/KvEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Kv/IR/KvAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Kv/IR/KvTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/Kv/IR/KvOps.h.inc"

#endif // ATTNC_DIALECT_KV_H
