// RUN: attn-opt %s --split-input-file --verify-diagnostics

// The generic form lets any attribute be of any kind, or absent, and any list
// be of any length: each must end in a message.

// expected-error @+1 {{requires attribute 'sym_name'}}
"attn.weight"() <{shape = array<i64: 4>}> : () -> ()

// -----

// expected-error @+1 {{requires attribute 'shape'}}
"attn.weight"() <{sym_name = "w"}> : () -> ()

// -----

// expected-error @+1 {{Invalid attribute `shape` in property conversion: "4x4"}}
"attn.weight"() <{sym_name = "w", shape = "4x4"}> : () -> ()

// -----

// expected-error @+1 {{expected a shape such as 64 or 512x5120, found none}}
"attn.weight"() <{sym_name = "w", shape = array<i64>}> : () -> ()

// -----

// expected-error @+1 {{Invalid attribute `sym_name` in property conversion: 4 : i64}}
"attn.weight"() <{sym_name = 4, shape = array<i64: 4>}> : () -> ()

// -----

// expected-error @+1 {{requires attribute 'function_type'}}
"attn.model"() <{sym_name = "m"}> ({
^bb0(%x: !attn.stream<4>):
  "attn.return"() : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{attribute 'function_type' failed to satisfy constraint: type attribute of function type}}
"attn.model"() <{sym_name = "m", function_type = f32}> ({
^bb0(%x: !attn.stream<4>):
  "attn.return"() : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{requires one region}}
"attn.model"() <{sym_name = "m", function_type = (!attn.stream<4>) -> ()}> : () -> ()

// -----

// expected-error @+1 {{'attn.model' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
"attn.model"() <{sym_name = "m", function_type = (!attn.stream<4>) -> ()}> ({}) : () -> ()

// -----

// expected-error @+1 {{type of entry block argument #0('!attn.stream<8>') must match the type of the corresponding argument in function signature('!attn.stream<4>')}}
"attn.model"() <{sym_name = "m", function_type = (!attn.stream<4>) -> ()}> ({
^bb0(%x: !attn.stream<8>):
  "attn.return"() : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{entry block must have 1 arguments to match function signature}}
"attn.model"() <{sym_name = "m", function_type = (!attn.stream<4>) -> ()}> ({
  "attn.return"() : () -> ()
}) : () -> ()

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{requires attribute 'weight'}}
  %y = "attn.linear"(%x) : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `weight` in property conversion: "w"}}
  %y = "attn.linear"(%x) <{weight = "w"}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `bias` in property conversion: 1 : i64}}
  %y = "attn.linear"(%x) <{weight = @w, bias = 1}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `groups` in property conversion: "two"}}
  %y = "attn.linear"(%x) <{weight = @w, groups = "two"}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{attribute 'groups' failed to satisfy constraint: 64-bit signless integer attribute}}
  %y = "attn.linear"(%x) <{weight = @w, groups = 2 : i128}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{expected positive 'groups', found -9223372036854775808}}
  %y = "attn.linear"(%x) <{weight = @w, groups = -9223372036854775808 : i64}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `rows` in property conversion: array<i32: 0, 1>}}
  %y = "attn.linear"(%x) <{weight = @w, rows = array<i32: 0, 1>}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `transpose` in property conversion: true}}
  %y = "attn.linear"(%x) <{weight = @w, transpose = true}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{operand #0 must be a stream: a causal sequence of feature vectors, but got 'f32'}}
  %y = "attn.linear"(%x) <{weight = @w}> : (f32) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{requires a single operand}}
  %y = "attn.linear"(%x, %x) <{weight = @w}> : (!attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{result #0 must be a stream: a causal sequence of feature vectors, but got 'f32'}}
  %y = "attn.linear"(%x) <{weight = @w}> : (!attn.stream<4>) -> f32
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{requires attribute 'eps'}}
  %y = "attn.rms_norm"(%x) : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{attribute 'eps' failed to satisfy constraint: 64-bit float attribute}}
  %y = "attn.rms_norm"(%x) <{eps = 1.0 : f32}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `weight_offset` in property conversion: 1 : i64}}
  %y = "attn.rms_norm"(%x) <{eps = 1.0, weight_offset = 1}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `weight` in property conversion: @a::@b}}
  %y = "attn.rms_norm"(%x) <{eps = 1.0, weight = @a::@b}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `per_head` in property conversion: 1 : i64}}
  %y = "attn.rms_norm"(%x) <{eps = 1.0, per_head = 1}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "attn.rms_norm"(%x) <{eps = 1.0}> : (!attn.stream<4>) -> !attn.stream<5>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{requires attribute 'end'}}
  %y = "attn.rope"(%x) <{pairing = 0 : i32, rotary = #attn.rotary<theta = 1.0, dims = 4>}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `pairing` in property conversion: 7 : i32}}
  %y = "attn.rope"(%x) <{end = 0 : i32, pairing = 7 : i32, rotary = #attn.rotary<theta = 1.0, dims = 4>}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `rotary` in property conversion: #attn.format<bf16>}}
  %y = "attn.rope"(%x) <{end = 0 : i32, pairing = 0 : i32, rotary = #attn.format<bf16>}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `inverse` in property conversion: "yes"}}
  %y = "attn.rope"(%x) <{end = 0 : i32, inverse = "yes", pairing = 0 : i32, rotary = #attn.rotary<theta = 1.0, dims = 4>}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `offset` in property conversion: 0.000000e+00 : f64}}
  %y = "attn.slice"(%x) <{offset = 0.0, size = 4}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{requires attribute 'size'}}
  %y = "attn.slice"(%x) <{offset = 0}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `consts` in property conversion: @a}}
  %y = "attn.map"(%x) <{consts = @a}> ({
  ^bb0(%a: f32):
    "attn.yield"(%a) : (f32) -> ()
  }) : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{requires one region}}
  %y = "attn.map"(%x) : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{region #0 ('body') failed to verify constraint: region with 1 blocks}}
  %y = "attn.map"(%x) ({}) : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{expects region #0 to have 0 or 1 blocks}}
  %y = "attn.map"(%x) ({
  ^bb0(%a: f32):
    "attn.yield"(%a) : (f32) -> ()
  ^bb1(%b: f32):
    "attn.yield"(%b) : (f32) -> ()
  }) : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{requires attribute 'format'}}
  %y = "attn.round"(%x) : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `format` in property conversion: bf16}}
  %y = "attn.round"(%x) <{format = bf16}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `callee` in property conversion: "f"}}
  %y = "attn.extern"(%x) <{callee = "f"}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `optional` in property conversion: false}}
  %y = "attn.extern"(%x) <{callee = @f, optional = false}> : (!attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{requires attribute 'scale'}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, part_counts = array<i64: 1>, windows = array<i64: 0>}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{attribute 'scale' failed to satisfy constraint: 64-bit float attribute}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, part_counts = array<i64: 1>, windows = array<i64: 0>, scale = 1.0 : bf16}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `part_counts` in property conversion: 1 : i64}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, part_counts = 1, windows = array<i64: 0>, scale = 1.0}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `windows` in property conversion: array<i32: 0>}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, part_counts = array<i64: 1>, windows = array<i32: 0>, scale = 1.0}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{Invalid attribute `sink` in property conversion: 0.000000e+00 : f64}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, part_counts = array<i64: 1>, windows = array<i64: 0>, scale = 1.0, sink = 0.0}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{operand count (3) does not match with the total size (4) specified in attribute 'operandSegmentSizes'}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 2, 0>, part_counts = array<i64: 1>, windows = array<i64: 0>, scale = 1.0}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{expected at least one source}}
  %y = "attn.attend"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>, part_counts = array<i64>, windows = array<i64>, scale = 1.0}> ({
  }) : () -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{has 1 part counts, 2 windows and 1 values; expected one of each per source}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, part_counts = array<i64: 1>, windows = array<i64: 0, 0>, scale = 1.0}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{found a source of 9223372036854775807 parts; expected 1 to 1, the number of queries}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, part_counts = array<i64: 9223372036854775807>, windows = array<i64: 0>, scale = 1.0}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{has 1 queries and 2 keys for 1 parts}}
  %y = "attn.attend"(%x, %x, %x, %x) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>, part_counts = array<i64: 1>, windows = array<i64: 0>, scale = 1.0}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{has 0 selections for 1 sources that select}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, part_counts = array<i64: 1>, windows = array<i64: -1>, scale = 1.0}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{found window -2; expected 0 (causal), a width, or -1 (a selection)}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, part_counts = array<i64: 1>, windows = array<i64: -2>, scale = 1.0}> ({
  }) : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}

// -----

func.func @f(%x: !attn.stream<4>) {
  // expected-error @+1 {{requires one region}}
  %y = "attn.attend"(%x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, part_counts = array<i64: 1>, windows = array<i64: 0>, scale = 1.0}>
    : (!attn.stream<4>, !attn.stream<4>, !attn.stream<4>) -> !attn.stream<4>
  return
}
