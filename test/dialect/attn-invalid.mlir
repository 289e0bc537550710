// RUN: attn-opt %s --split-input-file --verify-diagnostics

// Models, per-token ops and scalar bodies. Attention is in attn-invalid-attend.mlir,
// the generic form in attn-invalid-generic.mlir.

// expected-error @+1 {{takes streams; found an argument of type 'f32'}}
attn.model @m(%x: f32) {
  attn.return
}

// -----

// expected-error @+1 {{returns streams; found a result of type 'f32'}}
attn.model @m(%x: !attn.stream<4>) -> f32 {
  attn.return
}

// -----

// expected-error @+1 {{expected at least one stream as argument, found none}}
attn.model @m() {
  attn.return
}

// -----

// expected-error @+1 {{region #0 ('body') failed to verify constraint: region with 1 blocks}}
attn.model @m(!attn.stream<4>)

// -----

// expected-error @+1 {{expected its body to end with attn.return}}
attn.model @m(%x: !attn.stream<4>) {
  %y = attn.round %x to <bf16> : !attn.stream<4>
}

// -----

attn.model @m(%x: !attn.stream<4>) -> !attn.stream<4> {
  // expected-error @+1 {{returns 0 values; expected 1, as the model declares}}
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) -> !attn.stream<8> {
  // expected-error @+1 {{returns '!attn.stream<4>' as value 0; expected '!attn.stream<8>', as the model declares}}
  attn.return %x : !attn.stream<4>
}

// -----

// expected-error @+1 {{expects parent op 'attn.model'}}
attn.return

// -----

// expected-error @+1 {{expected a name, found an empty one}}
attn.weight @"" : 4

// -----

// expected-error @+1 {{expected a name, found an empty one}}
attn.model @""(%x: !attn.stream<4>) {
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{expected a name, found an empty one}}
  %y = attn.extern @"" (%x) : (!attn.stream<4>) -> !attn.stream<4>
  attn.return
}

// -----

// expected-error @+1 {{expected a shape such as 64 or 512x5120, found none}}
attn.weight @w :

// -----

// expected-error @+1 {{expected positive extents, found 0}}
attn.weight @w : 4x0

// -----

// expected-error @+1 {{expected at most 2^40 entries}}
attn.weight @w : 4611686018427387904x4

// -----

// expected-error @+1 {{expected static shape}}
attn.weight @w : ?x4

// -----

attn.weight @w : 4 // expected-note {{see existing symbol definition here}}
// expected-error @+1 {{redefinition of symbol named 'w'}}
attn.weight @w : 8

// -----

// A module's body has no order: %y would depend on itself.
// expected-error @+1 {{expected inside an attn.model, found in a module}}
%y = attn.slice %y [0, 4] : !attn.stream<4> -> !attn.stream<4>

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{expected 'layer' to be an i64 of 0 or more, found -1 : i64}}
  %y = attn.round %x to <bf16> {layer = -1 : i64} : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{expected 'layer' to be an i64 of 0 or more, found "one"}}
  %y = attn.round %x to <bf16> {layer = "one"} : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{unknown attribute 'attn.tracee'; expected 'attn.trace', 'attn.id', 'attn.storage', 'attn.keep' or 'attn.state'}}
  %y = attn.round %x to <bf16> {attn.tracee = "y"} : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{'attn.trace' is a string; found 3 : i64}}
  %y = attn.round %x to <bf16> {attn.trace = 3} : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{'attn.trace' describes the one result of an op; found an op with 0}}
  attn.return {attn.trace = "y"}
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{'attn.id' is an integer; found "y"}}
  %y = attn.round %x to <bf16> {attn.id = "y"} : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{'attn.storage' is a format; found "bf16"}}
  %y = attn.round %x to <bf16> {attn.storage = "bf16"} : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{'attn.keep' is a dictionary; found unit}}
  %y = attn.round %x to <bf16> {attn.keep} : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{weight @w is not declared; expected attn.weight @w in the module}}
  %y = attn.linear %x, @w : (!attn.stream<4>) -> !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{expected @m to be an attn.weight, found attn.model}}
  %y = attn.linear %x, @m : (!attn.stream<4>) -> !attn.stream<4>
  attn.return
}

// -----

attn.weight @w : 4
attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{weight @w is 4, expected a matrix}}
  %y = attn.linear %x, @w : (!attn.stream<4>) -> !attn.stream<4>
  attn.return
}

// -----

attn.weight @w : 64x32
attn.model @m(%x: !attn.stream<64>) {
  // expected-error @+1 {{weight @w is 64x32, expected columns 64 to match the input's 64 channels}}
  %y = attn.linear %x, @w : (!attn.stream<64>) -> !attn.stream<64>
  attn.return
}

// -----

attn.weight @w : 64x32
attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{weight @w is 64x32, expected rows 32 to match the input's 32 channels}}
  %y = attn.linear %x, @w transpose : (!attn.stream<32>) -> !attn.stream<32>
  attn.return
}

// -----

attn.weight @w : 64x32
attn.model @m(%x: !attn.stream<48>) {
  // expected-error @+1 {{weight @w is 64x32, expected columns that match the input's 48 channels: 4 groups read 32 channels each, or all of them the same 32}}
  %y = attn.linear %x, @w groups 4 : (!attn.stream<48>) -> !attn.stream<4x16>
  attn.return
}

// -----

attn.weight @w : 64x32
attn.model @m(%x: !attn.stream<8>) {
  // expected-error @+1 {{weight @w is 64x32, expected rows that match the input's 8 channels: 4 groups read 8 channels each}}
  %y = attn.linear %x, @w groups 4 rows [0, 8] transpose : (!attn.stream<8>) -> !attn.stream<4x32>
  attn.return
}

// -----

attn.weight @w : 64x32
attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{weight @w (64x32) gives 64 channels, the result has 60}}
  %y = attn.linear %x, @w : (!attn.stream<32>) -> !attn.stream<60>
  attn.return
}

// -----

attn.weight @w : 64x32
attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{weight @w is 64x32; its 64 rows do not divide into 3 groups}}
  %y = attn.linear %x, @w groups 3 : (!attn.stream<32>) -> !attn.stream<64>
  attn.return
}

// -----

attn.weight @w : 64x32
attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{takes rows [12, 12 + 8) of each group; weight @w has 16 rows per group}}
  %y = attn.linear %x, @w groups 4 rows [12, 8] : (!attn.stream<32>) -> !attn.stream<4x8>
  attn.return
}

// -----

attn.weight @w : 64x32
attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{takes rows [1, 1 + 9223372036854775807) of each group; weight @w has 64 rows per group}}
  %y = attn.linear %x, @w rows [1, 9223372036854775807] : (!attn.stream<32>) -> !attn.stream<4x8>
  attn.return
}

// -----

attn.weight @w : 64x32
attn.weight @b : 32
attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{weight @b has 32 entries, expected 64, one per row of the weight}}
  %y = attn.linear %x, @w bias @b : (!attn.stream<32>) -> !attn.stream<64>
  attn.return
}

// -----

attn.weight @w : 64x32
attn.weight @b : 64x1
attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{weight @b is 64x1, expected a vector}}
  %y = attn.linear %x, @w bias @b : (!attn.stream<32>) -> !attn.stream<64>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{expected positive 'groups', found 0}}
  %y = attn.linear %x, @w groups 0 : (!attn.stream<32>) -> !attn.stream<64>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{expected 'rows' as [first, count], found 3 numbers}}
  %y = attn.linear %x, @w rows [0, 1, 2] : (!attn.stream<32>) -> !attn.stream<64>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{expected 'rows' to begin at 0 or later and to have a positive count, found [-1, 4]}}
  %y = attn.linear %x, @w rows [-1, 4] : (!attn.stream<32>) -> !attn.stream<64>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<32>) {
  // expected-error @+1 {{'bias' is indexed like the weight's rows, which 'transpose' sums over; expected one or the other}}
  %y = attn.linear %x, @w bias @b transpose : (!attn.stream<32>) -> !attn.stream<64>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<32, every 4>) {
  // expected-error @+1 {{input has one element every 4 tokens, result one every 1; expected the same rate}}
  %y = attn.linear %x, @w : (!attn.stream<32, every 4>) -> !attn.stream<64>
  attn.return
}

// -----

attn.weight @n : 32
attn.model @m(%x: !attn.stream<4x16>) {
  // expected-error @+1 {{weight @n has 32 entries, expected 64, one per channel of a normalised vector}}
  %y = attn.rms_norm %x, @n eps 1.0e-6 : !attn.stream<4x16>
  attn.return
}

// -----

attn.weight @n : 64
attn.model @m(%x: !attn.stream<4x16>) {
  // expected-error @+1 {{weight @n has 64 entries, expected 16, one per channel of a normalised vector}}
  %y = attn.rms_norm %x, @n eps 1.0e-6 per_head : !attn.stream<4x16>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{expected a finite 'eps' of 0 or more, found -1}}
  %y = attn.rms_norm %x eps -1.0 : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{expected a finite 'eps' of 0 or more, found}}
  %y = attn.rms_norm %x eps 1.0e+999 : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{expected a finite 'offset', found}}
  %y = attn.rms_norm %x eps 1.0 offset 1.0e+999 : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{rotates 8 channels; the last axis of its input has 4}}
  %y = attn.rope %x last interleaved <theta = 10000.0, dims = 8> : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{'inverse' turns a plain rotation back; expected amplitude 1, found 1.5}}
  %y = attn.rope %x last interleaved inverse <theta = 10000.0, dims = 4, amplitude = 1.5> : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<4>) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'end' [first, last]}}
  %y = attn.rope %x middle interleaved <theta = 10000.0, dims = 4> : !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<16>) {
  // expected-error @+1 {{takes channels [8, 8 + 9) of an axis of 16}}
  %y = attn.slice %x [8, 9] : !attn.stream<16> -> !attn.stream<9>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<16>) {
  // expected-error @+1 {{takes channels [-1, -1 + 4) of an axis of 16}}
  %y = attn.slice %x [-1, 4] : !attn.stream<16> -> !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<16>) {
  // expected-error @+1 {{takes channels [4, 4 + 0) of an axis of 16}}
  %y = attn.slice %x [4, 0] : !attn.stream<16> -> !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<16>) {
  // expected-error @+1 {{takes channels [8, 8 + 9223372036854775807) of an axis of 16}}
  %y = attn.slice %x [8, 9223372036854775807] : !attn.stream<16> -> !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<2x16, every 4>) {
  // expected-error @+1 {{expected a result of type '!attn.stream<2x4, every 4>', found '!attn.stream<4>'}}
  %y = attn.slice %x [8, 4] : !attn.stream<2x16, every 4> -> !attn.stream<4>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<16>) {
  // expected-error @+1 {{expected at least one input}}
  %y = attn.concat : () -> !attn.stream<16>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<2x16>) {
  // expected-error @+1 {{input 0 has 2 heads; expected none, or the heads of the result '!attn.stream<4x16>'}}
  %y = attn.concat %x : (!attn.stream<2x16>) -> !attn.stream<4x16>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<2x16>) {
  // expected-error @+1 {{input 0 has 2 heads; expected none, or the heads of the result '!attn.stream<32>'}}
  %y = attn.concat %x : (!attn.stream<2x16>) -> !attn.stream<32>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<16>) {
  // expected-error @+1 {{inputs have 32 channels together, the result's last axis 24}}
  %y = attn.concat %x, %x : (!attn.stream<16>, !attn.stream<16>) -> !attn.stream<24>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<16, every 4>) {
  // expected-error @+1 {{input has one element every 4 tokens, result one every 1; expected the same rate}}
  %y = attn.concat %x : (!attn.stream<16, every 4>) -> !attn.stream<16>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<16>) {
  // expected-error @+1 {{expected at least one input}}
  %y = attn.extern @f () : () -> !attn.stream<16>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<16, every 2>) {
  // expected-error @+1 {{input has one element every 2 tokens, result one every 1; expected the same rate}}
  %y = attn.extern @f (%x) : (!attn.stream<16, every 2>) -> !attn.stream<16>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<16>) {
  // expected-error @+1 {{expected at least one input}}
  %y = "attn.map"() ({
    %c = arith.constant 1.0 : f32
    attn.yield %c : f32
  }) : () -> !attn.stream<16>
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<8>) {
  // expected-error @+1 {{input 0 has 8 channels; expected 64 like the result, 4 (one per head) or 1}}
  %y = attn.map(%x : !attn.stream<8>) -> !attn.stream<4x16> {
  ^bb0(%a: f32):
    attn.yield %a : f32
  }
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<8, every 2>) {
  // expected-error @+1 {{input has one element every 2 tokens, result one every 1; expected the same rate}}
  %y = attn.map(%x : !attn.stream<8, every 2>) -> !attn.stream<8> {
  ^bb0(%a: f32):
    attn.yield %a : f32
  }
  attn.return
}

// -----

attn.weight @c : 5
attn.model @m(%x: !attn.stream<4x16>) {
  // expected-error @+1 {{weight @c has 5 entries, expected 64 (one per channel), 4 (one per head), 16 (one per channel of the last axis) or 1}}
  %y = attn.map(%x : !attn.stream<4x16>) consts [@c] -> !attn.stream<4x16> {
  ^bb0(%a: f32, %c: f32):
    attn.yield %a : f32
  }
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<8>) {
  // expected-error @+1 {{'consts' is a list of weights such as [@a]; found 3 : i64}}
  %y = attn.map(%x : !attn.stream<8>) consts [3] -> !attn.stream<8> {
  ^bb0(%a: f32, %c: f32):
    attn.yield %a : f32
  }
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<8>) {
  // expected-error @+1 {{body has 2 arguments; expected 1}}
  %y = attn.map(%x : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%a: f32, %b: f32):
    attn.yield %a : f32
  }
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<8>) {
  // expected-error @+1 {{body takes scalars written f32; found an argument of type 'f64'}}
  %y = attn.map(%x : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%a: f64):
    attn.yield %a : f64
  }
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<8>) {
  %y = attn.map(%x : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%a: f32):
    // expected-error @+1 {{expected one value of type f32}}
    attn.yield
  }
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<8>) {
  %y = attn.map(%x : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%a: f32):
    %c = arith.cmpf olt, %a, %a : f32
    // expected-error @+1 {{expected one value of type f32}}
    attn.yield %c : i1
  }
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<8>) {
  %y = attn.map(%x : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%a: f32):
    // expected-error @+1 {{computes on other types; a scalar body holds f32 and i1}}
    %c = arith.constant 3 : i64
    attn.yield %a : f32
  }
  attn.return
}

// -----

attn.model @m(%x: !attn.stream<8>) {
  %y = attn.map(%x : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%a: f32):
    // expected-error @+1 {{is not allowed here; a scalar body holds ops of arith and math}}
    %c = func.call @f(%a) : (f32) -> f32
    attn.yield %a : f32
  }
  attn.return
}

// -----

func.func @f(%x: !attn.stream<8>, %outside: f32) {
  // expected-note @+1 {{required by region isolation constraints}}
  %y = attn.map(%x : !attn.stream<8>) -> !attn.stream<8> {
  ^bb0(%a: f32):
    // expected-error @+1 {{using value defined outside the region}}
    %c = arith.addf %a, %outside : f32
    attn.yield %c : f32
  }
  return
}
