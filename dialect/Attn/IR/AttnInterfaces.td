//===- AttnInterfaces.td - what passes ask of an op -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_ATTN_INTERFACES_TD
#define ATTNC_DIALECT_ATTN_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Attn_HistoryOpInterface : OpInterface<"HistoryOpInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    How far back an op reads each operand. An op without this interface reads
    only the element of its own token.
  }];
  let methods = [
    InterfaceMethod<"How `operand` of this op is read",
      "::mlir::attn::HistoryUse", "getHistoryUse", (ins "::mlir::OpOperand &":$operand)>,
  ];
}

def Attn_WorkOpInterface : OpInterface<"WorkOpInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    Floating-point operations of one element of the result. `context` is the
    number of tokens visible to the token (itself included); ops that read no
    history ignore it. A pair of H heads x d scored against an entry counts
    2 * H * d.
  }];
  let methods = [
    InterfaceMethod<"Work per element", "::mlir::attn::Work", "getWork", (ins "double":$context)>,
  ];
}

def Attn_EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    The meaning of an op in f64, from its definition: computes the results of the
    elements that the evaluation holds. Ops that read no history see each
    element by itself, so that they also run inside a step.
  }];
  let methods = [
    InterfaceMethod<"Compute the results", "::llvm::LogicalResult", "evaluate",
                    (ins "::mlir::attn::Evaluation &":$evaluation)>,
  ];
}

#endif
