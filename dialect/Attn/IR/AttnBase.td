//===- AttnBase.td - the attn dialect ------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_ATTN_BASE_TD
#define ATTNC_DIALECT_ATTN_BASE_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::mlir::attn";
  let summary = "What an attention graph computes: pure, causal streams of reals";
  let description = [{
    Every value is a *stream*: a sequence that grows by one element per token,
    or by one per m tokens. Ops may look only backwards. The graph says what is
    computed and never mentions a cache, a batch or a number format; what has to
    outlive a step, for how long and in what bytes is derived by passes.

    Sharing keys, values or a selection across layers is using one SSA value
    twice.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttrs();
    void registerOps();
  }];
}

#endif
