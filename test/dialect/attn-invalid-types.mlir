// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a positive extent, found 0}}
func.func private @f(!attn.stream<0>)

// -----

// expected-error @+1 {{expected channels, or heads x channels, found 3 axes}}
func.func private @f(!attn.stream<2x3x4>)

// -----

// expected-error @+1 {{expected channels, or heads x channels, found 0 axes}}
func.func private @f(!attn.stream<>)

// -----

// expected-error @+1 {{expected '<'}}
func.func private @f(!attn.stream)

// -----

// expected-error @+1 {{expected static shape}}
func.func private @f(!attn.stream<?x4>)

// -----

// expected-error @+1 {{expected at most 2^31 channels in an element}}
func.func private @f(!attn.stream<4611686018427387904x4>)

// -----

// expected-error @+1 {{invalid dimension}}
func.func private @f(!attn.stream<99999999999999999999>)

// -----

// expected-error @+1 {{expected a positive rate 'every', found 0}}
func.func private @f(!attn.stream<4, every 0>)

// -----

// expected-error @+1 {{expected a positive rate 'every', found -4}}
func.func private @f(!attn.stream<4, every -4>)

// -----

// expected-error @+1 {{unexpected 'each'}}
func.func private @f(!attn.stream<4, each 4>)

// -----

// expected-error @+1 {{unexpected 'every'}}
func.func private @f(!attn.stream<4, every 2, every 2>)

// -----

// expected-error @+1 {{expected integer value}}
func.func private @f(!attn.stream<4, every x>)

// -----

// expected-error @+1 {{expected a positive number of groups, found 0}}
func.func private @f(!attn.scores<groups 0>)

// -----

// expected-error @+1 {{unexpected 'block'}}
func.func private @f(!attn.scores<block 4>)

// -----

// expected-error @+1 {{expected integer value}}
func.func private @f(!attn.selection<>)

// -----

// expected-error @+1 {{expected a positive number of picks, found 0}}
func.func private @f(!attn.selection<0>)

// -----

// expected-error @+1 {{expected a positive block, found -1}}
func.func private @f(!attn.selection<4, block -1>)

// -----

// expected-error @+1 {{unknown  type `cache` in dialect `attn`}}
func.func private @f(!attn.cache<4>)

// -----

// expected-error @+1 {{unknown element format 'bf17'; expected f32, bf16, f16, e4m3, e5m2 or e2m1}}
func.func private @f() attributes {a = #attn.format<bf17>}

// -----

// expected-error @+1 {{unknown scale format 'e9m0'; expected f32, e8m0 or e4m3}}
func.func private @f() attributes {a = #attn.format<e4m3, block = 64, scale = e9m0>}

// -----

// expected-error @+1 {{expected ','}}
func.func private @f() attributes {a = #attn.format<e4m3, block = 64>}

// -----

// expected-error @+1 {{expected a positive block, found -2}}
func.func private @f() attributes {a = #attn.format<e4m3, block = -2, scale = e8m0>}

// -----

// expected-error @+1 {{expected a block and a scale together, found block 0}}
func.func private @f() attributes {a = #attn.format<e4m3, block = 0, scale = e8m0>}

// -----

// expected-error @+1 {{expected a positive even number of rotated channels, found 3}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 3>}

// -----

// expected-error @+1 {{expected a positive even number of rotated channels, found 0}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 0>}

// -----

// expected-error @+1 {{expected a finite positive theta, found -1}}
func.func private @f() attributes {a = #attn.rotary<theta = -1.0, dims = 4>}

// -----

// expected-error @+1 {{expected a finite positive theta, found}}
func.func private @f() attributes {a = #attn.rotary<theta = 1.0e+999, dims = 4>}

// -----

// expected-error @+1 {{expected a finite amplitude}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 4, amplitude = 1.0e+999>}

// -----

// expected-error @+1 {{unknown scaling 'dynamic'; expected linear, llama3 or yarn}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 4, dynamic {factor = 2.0}>}

// -----

// expected-error @+1 {{linear needs 'factor'}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 4, linear {}>}

// -----

// expected-error @+1 {{expected a finite positive 'factor', found 0}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 4, linear {factor = 0.0}>}

// -----

// expected-error @+1 {{'factor' is given twice}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 4, linear {factor = 2.0, factor = 2.0}>}

// -----

// expected-error @+1 {{'original' is no parameter of linear}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 4, linear {factor = 2.0, original = 4.0}>}

// -----

// expected-error @+1 {{'truncate' is no parameter of linear}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 4, linear {factor = 2.0, truncate = true}>}

// -----

// expected-error @+1 {{expected true or false}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 4, yarn {truncate = maybe}>}

// -----

// expected-error @+1 {{expected '>'}}
func.func private @f() attributes {a = #attn.rotary<theta = 10000.0, dims = 4, amplitude = 2.0, linear {factor = 2.0}>}
