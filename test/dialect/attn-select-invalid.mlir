// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: !attn.stream<64>) {
  // expected-error @+1 {{expected a finite 'eps' of 0 or more, found -1.000000e+00}}
  %y = attn.layer_norm %x eps -1.0 : !attn.stream<64>
  return
}

// -----

attn.weight @norm : 32
attn.model @m(%x: !attn.stream<64>) {
  // expected-error @+1 {{weight @norm has 32 entries, expected 64, one per channel of a normalised vector}}
  %y = attn.layer_norm %x, @norm eps 1.0e-6 : !attn.stream<64>
  attn.return
}

// -----

attn.weight @norm : 64
attn.weight @shift : 16
attn.model @m(%x: !attn.stream<4x64>) {
  // expected-error @+1 {{weight @shift has 16 entries, expected 64, one per channel of a normalised vector}}
  %y = attn.layer_norm %x, @norm bias @shift eps 1.0e-6 per_head : !attn.stream<4x64>
  attn.return
}

// -----

func.func @f(%x: !attn.stream<2x96>) {
  // expected-error @+1 {{transforms a last axis of 96 channels; expected a power of two}}
  %y = attn.hadamard %x : !attn.stream<2x96>
  return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{expected a positive 'every', found 0}}
  %y = attn.compress every 0 (%v at 0 : !attn.stream<8>) -> !attn.stream<8>
  return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{expected '('}}
  %y = attn.compress every 4 -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{expected 'at'}}
  %y = attn.compress every 4 (%v : !attn.stream<8>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{makes one element of 4; a part with one element every 1 tokens does not give the result '!attn.stream<8, every 8>'}}
  %y = attn.compress every 4 (%v at 0 : !attn.stream<8>) -> !attn.stream<8, every 8>
  return
}

// -----

func.func @f(%v: !attn.stream<8>, %w: !attn.stream<8, every 2>) {
  // expected-error @+1 {{makes one element of 4; a part with one element every 2 tokens does not give the result '!attn.stream<8, every 4>'}}
  %y = attn.compress every 4 (%v at 0 : !attn.stream<8>), (%w at 0 : !attn.stream<8, every 2>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8, every 4>) {
  // expected-error @+1 {{makes one element of 9223372036854775807; a part with one element every 4 tokens}}
  %y = attn.compress every 9223372036854775807 (%v at 0 : !attn.stream<8, every 4>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<2x4>) {
  // expected-error @+1 {{pools '!attn.stream<2x4>'; expected the features of the result '!attn.stream<8, every 4>'}}
  %y = attn.compress every 4 (%v at 0 : !attn.stream<2x4>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{reads the block at 1, which is later; expected an offset of 0 or less}}
  %y = attn.compress every 4 (%v at 1 : !attn.stream<8>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{reads back -536870912 blocks of 4 tokens; expected at most 2^31 tokens}}
  %y = attn.compress every 4 (%v at -536870912 : !attn.stream<8>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{reads back -9223372036854775808 blocks of 4 tokens; expected at most 2^31 tokens}}
  %y = "attn.compress"(%v) <{every = 4, offsets = array<i64: -9223372036854775808>, gated = array<i1: false>, operandSegmentSizes = array<i32: 1, 0>}> : (!attn.stream<8>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8>, %g: !attn.stream<4>) {
  // expected-error @+1 {{gate has 4 channels; expected 8 like its value, or 1 for all}}
  %y = attn.compress every 4 (%v, %g at 0 : !attn.stream<8>, !attn.stream<4>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8>, %g: !attn.stream<8, every 2>) {
  // expected-error @+1 {{gate has one element every 2 tokens, its value one every 1}}
  %y = attn.compress every 4 (%v, %g at 0 : !attn.stream<8>, !attn.stream<8, every 2>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{'bias' is added to gates; found parts without any}}
  %y = attn.compress every 4 bias @ape (%v at 0 : !attn.stream<8>) -> !attn.stream<8, every 4>
  return
}

// -----

attn.weight @ape : 4x8
attn.model @m(%v: !attn.stream<8>, %g: !attn.stream<8>, %h: !attn.stream<1>) {
  // expected-error @+1 {{weight @ape is 4x8, expected 4x9: a row per element of a block, a column per gate channel}}
  %y = attn.compress every 4 bias @ape (%v, %g at -1 : !attn.stream<8>, !attn.stream<8>), (%v, %h at 0 : !attn.stream<8>, !attn.stream<1>) -> !attn.stream<8, every 4>
  attn.return
}

// -----

attn.weight @ape : 32
attn.model @m(%v: !attn.stream<8>, %g: !attn.stream<8>) {
  // expected-error @+1 {{weight @ape is 32, expected a matrix}}
  %y = attn.compress every 4 bias @ape (%v, %g at 0 : !attn.stream<8>, !attn.stream<8>) -> !attn.stream<8, every 4>
  attn.return
}

// -----

attn.model @m(%v: !attn.stream<8>, %g: !attn.stream<8>) {
  // expected-error @+1 {{weight @ape is not declared; expected attn.weight @ape in the module}}
  %y = attn.compress every 4 bias @ape (%v, %g at 0 : !attn.stream<8>, !attn.stream<8>) -> !attn.stream<8, every 4>
  attn.return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{expected at least one part}}
  %y = "attn.compress"() <{every = 4, offsets = array<i64>, gated = array<i1>, operandSegmentSizes = array<i32: 0, 0>}> : () -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{has 1 values, 2 offsets and 1 flags for gates; expected one of each per part}}
  %y = "attn.compress"(%v) <{every = 4, offsets = array<i64: 0, 0>, gated = array<i1: false>, operandSegmentSizes = array<i32: 1, 0>}> : (!attn.stream<8>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%v: !attn.stream<8>) {
  // expected-error @+1 {{has 1 gates for 0 parts that are gated}}
  %y = "attn.compress"(%v, %v) <{every = 4, offsets = array<i64: 0>, gated = array<i1: false>, operandSegmentSizes = array<i32: 1, 1>}> : (!attn.stream<8>, !attn.stream<8>) -> !attn.stream<8, every 4>
  return
}

// -----

func.func @f(%q: !attn.stream<4x8>, %k: !attn.stream<8>) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'activation' [none, relu]}}
  %s = attn.score gelu scale 1.0 (%q, %k : !attn.stream<4x8>, !attn.stream<8>) -> !attn.scores
  return
}

// -----

func.func @f(%q: !attn.stream<4x8>, %k: !attn.stream<8>) {
  // expected-error @+1 {{expected a finite 'scale', found}}
  %s = attn.score relu scale 1.0e+999 (%q, %k : !attn.stream<4x8>, !attn.stream<8>) -> !attn.scores
  return
}

// -----

func.func @f(%q: !attn.stream<4x8, every 2>, %k: !attn.stream<8>) {
  // expected-error @+1 {{expected a query with one element per token, found '!attn.stream<4x8, every 2>'}}
  %s = attn.score relu scale 1.0 (%q, %k : !attn.stream<4x8, every 2>, !attn.stream<8>) -> !attn.scores
  return
}

// -----

func.func @f(%q: !attn.stream<4x8>, %k: !attn.stream<16>) {
  // expected-error @+1 {{query has 8 channels per head, its key 16}}
  %s = attn.score relu scale 1.0 (%q, %k : !attn.stream<4x8>, !attn.stream<16>) -> !attn.scores
  return
}

// -----

func.func @f(%q: !attn.stream<4x8>, %k: !attn.stream<3x8>) {
  // expected-error @+1 {{key has 3 heads, which does not divide the 4 heads of the query}}
  %s = attn.score relu scale 1.0 (%q, %k : !attn.stream<4x8>, !attn.stream<3x8>) -> !attn.scores
  return
}

// -----

func.func @f(%q: !attn.stream<4x8>, %k: !attn.stream<8, every 4>) {
  // expected-error @+1 {{scores elements every 4 tokens, its result has one score every 1}}
  %s = attn.score relu scale 1.0 (%q, %k : !attn.stream<4x8>, !attn.stream<8, every 4>) -> !attn.scores
  return
}

// -----

func.func @f(%q: !attn.stream<4x8>, %k: !attn.stream<8>) {
  // expected-error @+1 {{result has 3 groups, which does not divide the 4 heads of the query}}
  %s = attn.score relu scale 1.0 (%q, %k : !attn.stream<4x8>, !attn.stream<8>) -> !attn.scores<groups 3>
  return
}

// -----

func.func @f(%q: !attn.stream<4x8>, %k: !attn.stream<8>, %w: !attn.stream<8>) {
  // expected-error @+1 {{expected weights with one channel per head, 4, for every token, found '!attn.stream<8>'}}
  %s = attn.score relu scale 1.0 (%q, %k : !attn.stream<4x8>, !attn.stream<8>) weights %w : !attn.stream<8> -> !attn.scores
  return
}

// -----

func.func @f(%q: !attn.stream<4x8>, %k: !attn.stream<8>, %p: !attn.selection<4, every 4>) {
  // expected-error @+1 {{'within' picks elements every 4 tokens, the keys have one every 1}}
  %s = attn.score relu scale 1.0 (%q, %k : !attn.stream<4x8>, !attn.stream<8>) within %p : !attn.selection<4, every 4> -> !attn.scores
  return
}

// -----

func.func @f(%q: !attn.stream<4x8>, %k: !attn.stream<8>, %p: !attn.selection<4, groups 4>) {
  // expected-error @+1 {{'within' has 4 groups, which does not divide the 2 groups of the result}}
  %s = attn.score relu scale 1.0 (%q, %k : !attn.stream<4x8>, !attn.stream<8>) within %p : !attn.selection<4, groups 4> -> !attn.scores<groups 2>
  return
}

// -----

func.func @f(%s: !attn.scores<every 4>) {
  // expected-error @+1 {{expected a result of type '!attn.selection<8, every 4>', found '!attn.selection<8>'}}
  %p = attn.top_k %s : !attn.scores<every 4> -> !attn.selection<8>
  return
}

// -----

func.func @f(%s: !attn.scores<groups 2>) {
  // expected-error @+1 {{expected a result of type '!attn.selection<8, groups 2>', found '!attn.selection<8, block 4>'}}
  %p = attn.top_k %s : !attn.scores<groups 2> -> !attn.selection<8, block 4>
  return
}

// -----

func.func @f(%s: !attn.scores) {
  // expected-error @+1 {{expected a positive 'block', found 0}}
  %p = attn.block_top_k %s block 0 max : !attn.scores -> !attn.selection<8>
  return
}

// -----

func.func @f(%s: !attn.scores) {
  // expected-error @+1 {{expected to pin 0 or more blocks, found -1}}
  %p = attn.block_top_k %s block 4 max pin_newest -1 : !attn.scores -> !attn.selection<8, block 4>
  return
}

// -----

func.func @f(%s: !attn.scores) {
  // expected-error @+1 {{pins the first 5 and the newest 4 blocks; it picks only 8}}
  %p = attn.block_top_k %s block 4 max pin_first 5 pin_newest 4 : !attn.scores -> !attn.selection<8, block 4>
  return
}

// -----

func.func @f(%s: !attn.scores) {
  // expected-error @+1 {{expected a result of type '!attn.selection<8, block 4>', found '!attn.selection<8, block 2>'}}
  %p = attn.block_top_k %s block 4 sum : !attn.scores -> !attn.selection<8, block 2>
  return
}

// -----

func.func @f(%s: !attn.scores) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'reduction' [max, sum]}}
  %p = attn.block_top_k %s block 4 mean : !attn.scores -> !attn.selection<8, block 4>
  return
}

// -----

func.func @f(%s: !attn.selection<8, every 4>) {
  // expected-error @+1 {{makes picks of elements every 3 tokens from picks every 4; expected a rate that divides it}}
  %p = attn.expand %s : !attn.selection<8, every 4> -> !attn.selection<8, every 3>
  return
}

// -----

func.func @f(%s: !attn.selection<8, every 4>) {
  // expected-error @+1 {{expected a result of type '!attn.selection<8, block 4>', found '!attn.selection<8>'}}
  %p = attn.expand %s : !attn.selection<8, every 4> -> !attn.selection<8>
  return
}

// -----

func.func @f(%s: !attn.selection<8, every 4, block 9223372036854775807>) {
  // expected-error @+1 {{makes blocks that are too large of '!attn.selection<8, every 4, block 9223372036854775807>'}}
  %p = attn.expand %s : !attn.selection<8, every 4, block 9223372036854775807> -> !attn.selection<8>
  return
}

// -----

func.func @f(%q: !attn.stream<4x8>, %k: !attn.stream<8>) {
  // expected-error @+1 {{requires attribute 'activation'}}
  %s = "attn.score"(%q, %k) <{scale = 1.0, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!attn.stream<4x8>, !attn.stream<8>) -> !attn.scores
  return
}

// -----

func.func @f(%k: !attn.stream<8>) {
  // expected-error @+1 {{operand #0 must be a selection: for each token and group, at most k picks among a stream's elements, but got '!attn.stream<8>'}}
  %p = attn.expand %k : !attn.stream<8> -> !attn.selection<8>
  return
}
