//===- Passes.td - passes on attn graphs ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Sorted by their place in the pipeline (passes/Pipelines.h). Every description
// shows what the pass does on an example that is also a test of it.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_PASSES_TD
#define ATTNC_PASSES_TD

include "mlir/Pass/PassBase.td"

/// A pass that records its decisions (passes/Support/Report.h).
class AttnPass<string flag> : Pass<flag, "ModuleOp"> {
  let dependentDialects = ["::mlir::attn::AttnDialect"];
}

def RemarksOption : Option<"remarks", "remarks", "Remarks", /*default=*/"Remarks::Refused",
    "Which decisions to emit as remarks when no report collects them",
    [{::llvm::cl::values(
        clEnumValN(Remarks::None, "none", "No remarks"),
        clEnumValN(Remarks::Refused, "refused", "What was not done, and why"),
        clEnumValN(Remarks::All, "all", "Every decision"))}]>;

def DecoupleRope : AttnPass<"attn-decouple-rope"> {
  let summary = "Split concatenated queries and keys into position-free and rotated parts";
  let description = [{
    An attend over keys that are a concatenation becomes one over parts, with the
    query sliced to match: the score is a sum over channels, so the results are
    the same. The position-free part is then a plain linear image of what it was
    projected from, which `attn-absorb-weights` needs. On the way,

    - a slice off the rotated channels of a rope is a slice of its input, and a
      slice of exactly the rotated channels is a rope of a slice;
    - a projection that is read only through slices that attends use as keys or
      values becomes one projection per slice, each with its row ranges.

    A rotation of whole up-projected keys cannot be decoupled; a remark says so.

    Before:

    ```mlir
    %kv = attn.linear %c, @kv_b : (!attn.stream<512>) -> !attn.stream<16x256>
    %kn = attn.slice %kv [0, 128] : !attn.stream<16x256> -> !attn.stream<16x128>
    %k = attn.concat %kn, %kr : (!attn.stream<16x128>, !attn.stream<64>) -> !attn.stream<16x192>
    %o = attn.attend scale 0.07 causal (%q, %k : !attn.stream<16x192>, !attn.stream<16x192>)
      values %v : !attn.stream<16x128> -> !attn.stream<16x128>
    ```

    After:

    ```mlir
    %kn = attn.linear %c, @kv_b groups 16 rows [0, 128] : (!attn.stream<512>) -> !attn.stream<16x128>
    %o = attn.attend scale 0.07
      causal (%qn, %kn : !attn.stream<16x128>, !attn.stream<16x128>),
             (%qr, %kr : !attn.stream<16x64>, !attn.stream<64>)
      values %v : !attn.stream<16x128> -> !attn.stream<16x128>
    ```
  }];
  let options = [RemarksOption];
}

#endif
