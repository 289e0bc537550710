// RUN: attn-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  %f = arith.constant 0.0 : f32
  // expected-error@+1 {{value is of type 'f32'; expected rows or a stream}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%q : !attn.stream<2x8>) value %f : f32 -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  %f = arith.constant 0.0 : f32
  // expected-error@+1 {{key is of type 'f32'; expected rows or a stream}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%f : f32) value %q : !attn.stream<2x8> -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  %r = kv.read @c[0] : !kv.rows<8>
  // expected-error@+1 {{expected keys and value to be all rows or all streams, found '!kv.rows<8>' and '!attn.stream<2x8>'}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%r : !kv.rows<8>) value %q : !attn.stream<2x8> -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.cache @d paged row [#kv.segment<"a", 8, #attn.format<f32>>] every 4
kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  %r = kv.read @c[0] : !kv.rows<8>
  %u = kv.read @d[0] : !kv.rows<8, every 4>
  // expected-error@+1 {{key has one element every 4 tokens, the value one every 1}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%u : !kv.rows<8, every 4>) value %r : !kv.rows<8> -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 24, #attn.format<f32>>]
kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  %r = kv.read @c[0] : !kv.rows<3x8>
  // expected-error@+1 {{value has 3 heads, which does not divide the 2 heads of the state}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%r : !kv.rows<3x8>) value %r : !kv.rows<3x8> -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  // expected-error@+1 {{has 1 query parts and 2 key parts; expected as many, and at least one}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%q, %q : !attn.stream<2x8>, !attn.stream<2x8>) value %q : !attn.stream<2x8> -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<4x8>
  // expected-error@+1 {{query has 2 heads, the state 4}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%q : !attn.stream<2x8>) value %q : !attn.stream<2x8> -> !kv.state<4x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x4>
  %r = kv.read @c[0] : !kv.rows<2x4>
  // expected-error@+1 {{query has 8 channels per head, its key 4}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%r : !kv.rows<2x4>) value %r : !kv.rows<2x4> -> !kv.state<2x4>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x16>
  // expected-error@+1 {{value has 8 channels per head, the state 16}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%q : !attn.stream<2x8>) value %q : !attn.stream<2x8> -> !kv.state<2x16>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  // expected-error@+1 {{expected a finite scale, found INF}}
  %t = kv.attend_partial %s scale 0x7FF0000000000000 window 0 (%q : !attn.stream<2x8>) keys (%q : !attn.stream<2x8>) value %q : !attn.stream<2x8> -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  // expected-error@+1 {{expected a window of 0 (every entry) or more, found -1}}
  %t = kv.attend_partial %s scale 0.5 window -1 (%q : !attn.stream<2x8>) keys (%q : !attn.stream<2x8>) value %q : !attn.stream<2x8> -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>] every 4
kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  %r = kv.read @c[0] : !kv.rows<8, every 4>
  // expected-error@+1 {{a window counts tokens; expected entries of one token, found one every 4}}
  %t = kv.attend_partial %s scale 0.5 window 3 (%q : !attn.stream<2x8>) keys (%r : !kv.rows<8, every 4>) value %r : !kv.rows<8, every 4> -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  // expected-error@+1 {{'consts' is a list of weights such as [@a]; found 1 : i64}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%q : !attn.stream<2x8>) value %q : !attn.stream<2x8> consts [1] -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  // expected-error@+1 {{'consts' are arguments of a score map; found 1 and no score map}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%q : !attn.stream<2x8>) value %q : !attn.stream<2x8> consts [@a] -> !kv.state<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  // expected-error@+1 {{weight @a is not declared; expected attn.weight @a in the module}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%q : !attn.stream<2x8>) value %q : !attn.stream<2x8> consts [@a] -> !kv.state<2x8> {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32):
    attn.yield %a : f32
  }
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

attn.weight @a : 3
kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  // expected-error@+1 {{expected weight @a to have 2 entries, one per head}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%q : !attn.stream<2x8>) value %q : !attn.stream<2x8> consts [@a] -> !kv.state<2x8> {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32):
    attn.yield %a : f32
  }
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  // expected-error@+1 {{body has 5 arguments; expected 4}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<2x8>) keys (%q : !attn.stream<2x8>) value %q : !attn.stream<2x8> -> !kv.state<2x8> {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32):
    attn.yield %a : f32
  }
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  // expected-error@+1 {{expected a result of 2x8 per token, as its state, found '!attn.stream<2x4>'}}
  %o = kv.attend_finish %s : !kv.state<2x8> -> !attn.stream<2x4>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

attn.weight @a : 2x2
kv.step @s (!attn.stream<2x8>) -> (!attn.stream<2x8>) decode {
^bb0(%q: !attn.stream<2x8>):
  %s = kv.attend_init : !kv.state<2x8>
  // expected-error@+1 {{expected weight @a to have 2 entries, one per head}}
  %o = kv.attend_finish %s sink @a : !kv.state<2x8> -> !attn.stream<2x8>
  kv.return %q : !attn.stream<2x8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8, every 4>) -> (!attn.stream<8, every 4>) decode {
^bb0(%q: !attn.stream<8, every 4>):
  %s = kv.attend_init : !kv.state<1x8>
  %r = kv.read @c[0] : !kv.rows<8>
  // expected-error@+1 {{expected queries with one element per token, found '!attn.stream<8, every 4>'}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%q : !attn.stream<8, every 4>) keys (%r : !kv.rows<8>) value %r : !kv.rows<8> -> !kv.state<1x8>
  kv.return %q : !attn.stream<8, every 4>
} prefill {
}
