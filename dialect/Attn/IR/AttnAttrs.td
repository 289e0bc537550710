//===- AttnAttrs.td - attributes of the attn dialect ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_DIALECT_ATTN_ATTRS_TD
#define ATTNC_DIALECT_ATTN_ATTRS_TD

include "dialect/Attn/IR/AttnBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Attn_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Attn_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Attn_FormatAttr : Attn_Attr<"Format", "format"> {
  let summary = "A number format in which values are rounded and stored";
  let description = [{
    Element encoding (f32, bf16, f16, e4m3, e5m2, e2m1) and, for block formats,
    one scale (f32, e8m0, e4m3) per `block` consecutive channels; `block = row`
    means one scale per row. `f32` is exact: it stands for no rounding.

    Example:

    ```mlir
    #attn.format<bf16>
    #attn.format<e2m1, block = 16, scale = e4m3>
    ```
  }];
  let parameters = (ins "::attnc::Elem":$elem, "int64_t":$block, "::attnc::Scale":$scale);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::attnc::Format getFormat() const { return {getElem(), getBlock(), getScale()}; }
    static FormatAttr get(MLIRContext *context, const ::attnc::Format &format);
  }];
  let skipDefaultBuilders = 0;
}

def Attn_RotaryAttr : Attn_Attr<"Rotary", "rotary"> {
  let summary = "Frequencies of a rotary embedding";
  let description = [{
    `dims` rotated channels, base `theta`, an optional public scaling (`linear`,
    `llama3`, `yarn`, with the parameters of formats/Rotary.h) and an optional
    `amplitude` on cos and sin.

    Example:

    ```mlir
    #attn.rotary<theta = 10000.0, dims = 64>
    #attn.rotary<theta = 10000.0, dims = 64, yarn {factor = 40.0, original = 4096.0, beta_fast = 32.0, beta_slow = 1.0}>
    #attn.rotary<theta = 150000.0, dims = 64, yarn {factor = 32.0, original = 4096.0, beta_fast = 32.0, beta_slow = 1.0, truncate = false}, amplitude = 1.3465735902799727>
    ```
  }];
  // `scaling` is empty, or the keyword; `params` its parameters by name.
  let parameters = (ins "FloatAttr":$theta, "int64_t":$dims, "StringAttr":$scaling,
                        "DictionaryAttr":$params, "FloatAttr":$amplitude);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::attnc::Rotary getRotary() const;
    static RotaryAttr get(MLIRContext *context, const ::attnc::Rotary &rotary);
  }];
}

def Attn_Pairing : I32EnumAttr<"Pairing", "which channels a rotation pairs", [
    I32EnumAttrCase<"Interleaved", 0, "interleaved">,
    I32EnumAttrCase<"HalfSplit", 1, "half_split">]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_RotatedEnd : I32EnumAttr<"RotatedEnd", "which end of a vector is rotated", [
    I32EnumAttrCase<"First", 0, "first">,
    I32EnumAttrCase<"Last", 1, "last">]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_Activation : I32EnumAttr<"Activation", "what a head's score goes through", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Relu", 1, "relu">]> {
  let cppNamespace = "::mlir::attn";
}

def Attn_Reduction : I32EnumAttr<"Reduction", "how the scores of a block become one", [
    I32EnumAttrCase<"Max", 0, "max">,
    I32EnumAttrCase<"Sum", 1, "sum">]> {
  let cppNamespace = "::mlir::attn";
}

#endif
