// RUN: attn-opt %s --split-input-file --kv-verify-form --verify-diagnostics

// expected-error@+1 {{found 0 kv.step ops; expected one}}
module {
}

// -----

// expected-error@+1 {{is left beside the step; expected it to be converted}}
attn.model @m(%x: !attn.stream<4>) -> !attn.stream<4> {
  attn.return %x : !attn.stream<4>
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
// expected-error@+1 {{has a body that does not append to cache @c; expected one append in each body}}
kv.step @s (!attn.stream<4>) -> (!attn.stream<4>) decode {
^bb0(%x: !attn.stream<4>):
  kv.append %x to @c : !attn.stream<4>
  kv.return %x : !attn.stream<4>
} prefill {
^bb0(%x: !attn.stream<4>):
  kv.return %x : !attn.stream<4>
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4>) -> (!attn.stream<4>) decode {
^bb0(%x: !attn.stream<4>):
  // expected-note@+1 {{the first append}}
  kv.append %x to @c : !attn.stream<4>
  // expected-error@+1 {{appends to @c a second time; expected one append in each body}}
  kv.append %x to @c : !attn.stream<4>
  kv.return %x : !attn.stream<4>
} prefill {
}

// -----

kv.step @s (!attn.stream<4>) -> (!attn.stream<1x4>) decode {
^bb0(%x: !attn.stream<4>):
  // expected-error@+1 {{reads history inside a step; expected ops on rows}}
  %o = attn.attend scale 0.5 causal (%x, %x : !attn.stream<4>, !attn.stream<4>)
      values %x : !attn.stream<4> -> !attn.stream<1x4>
  kv.return %o : !attn.stream<1x4>
} prefill {
}

// -----

kv.step @s (!attn.stream<4>) -> (!attn.stream<4>) decode {
^bb0(%x: !attn.stream<4>):
  // expected-error@+1 {{is not allowed in a step; expected ops of kv and per-token ops of attn}}
  %o = arith.constant 0.0 : f32
  kv.return %x : !attn.stream<4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4>) -> (!attn.stream<4>) decode {
^bb0(%x: !attn.stream<4>):
  kv.append %x to @c : !attn.stream<4>
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{reads a segment as '!kv.rows<2x2>' that is read as '!kv.rows<4>' before; expected one shape}}
  %t = kv.read @c[0] : !kv.rows<2x2>
  kv.return %x : !attn.stream<4>
} prefill {
}

// -----

kv.step @s (!attn.stream<4>) -> (!attn.stream<4>) decode {
^bb0(%x: !attn.stream<4>):
  // expected-error@+1 {{has a state with 2 uses; expected one}}
  %s = kv.attend_init : !kv.state<1x4>
  %a = kv.attend_finish %s : !kv.state<1x4> -> !attn.stream<1x4>
  %b = kv.attend_finish %s : !kv.state<1x4> -> !attn.stream<1x4>
  kv.return %x : !attn.stream<4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4>) -> (!attn.stream<1x4>) decode {
^bb0(%x: !attn.stream<4>):
  %s = kv.attend_init : !kv.state<1x4>
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{reads @c before it is appended to; expected pages to hold the chunk's own rows first}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%x : !attn.stream<4>) keys (%r : !kv.rows<4>) value %r : !kv.rows<4> -> !kv.state<1x4>
  %o = kv.attend_finish %t : !kv.state<1x4> -> !attn.stream<1x4>
  kv.append %x to @c : !attn.stream<4>
  kv.return %o : !attn.stream<1x4>
} prefill {
}

// -----

kv.cache @c ring 8 row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4>) -> (!attn.stream<1x4>) decode {
^bb0(%x: !attn.stream<4>):
  kv.append %x to @c : !attn.stream<4>
  %s = kv.attend_init : !kv.state<1x4>
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{reads @c after it is appended to; expected a ring to be written after its last reader}}
  %t = kv.attend_partial %s scale 0.5 window 8 (%x : !attn.stream<4>) keys (%r : !kv.rows<4>) value %r : !kv.rows<4> -> !kv.state<1x4>
  %o = kv.attend_finish %t : !kv.state<1x4> -> !attn.stream<1x4>
  kv.return %o : !attn.stream<1x4>
} prefill {
}

// -----

kv.cache @c ring 8 row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4>) -> (!attn.stream<1x4>) decode {
^bb0(%x: !attn.stream<4>):
  %s = kv.attend_init : !kv.state<1x4>
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{sees all tokens of @c; the ring keeps 8}}
  %t = kv.attend_partial %s scale 0.5 window 0 (%x : !attn.stream<4>) keys (%r : !kv.rows<4>) value %r : !kv.rows<4> -> !kv.state<1x4>
  %o = kv.attend_finish %t : !kv.state<1x4> -> !attn.stream<1x4>
  kv.append %x to @c : !attn.stream<4>
  kv.return %o : !attn.stream<1x4>
} prefill {
}

// -----

kv.cache @c state 1 row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4>) -> (!attn.stream<1x4>) decode {
^bb0(%x: !attn.stream<4>):
  kv.append %x to @c : !attn.stream<4>
  %s = kv.attend_init : !kv.state<1x4>
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{reads @c, which is a state; expected pages or a ring}}
  %t = kv.attend_partial %s scale 0.5 window 8 (%x : !attn.stream<4>) keys (%r : !kv.rows<4>) value %r : !kv.rows<4> -> !kv.state<1x4>
  %o = kv.attend_finish %t : !kv.state<1x4> -> !attn.stream<1x4>
  kv.return %o : !attn.stream<1x4>
} prefill {
}

// -----

kv.cache @c ring 8 row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.cache @d paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4>) -> (!attn.stream<1x4>) decode {
^bb0(%x: !attn.stream<4>):
  kv.append %x to @d : !attn.stream<4>
  %s = kv.attend_init : !kv.state<1x4>
  %r = kv.read @c[0] : !kv.rows<4>
  %p = kv.read @d[0] : !kv.rows<4>
  // expected-error@+1 {{reads rows of a ring cache and of a paged cache; expected one kind}}
  %t = kv.attend_partial %s scale 0.5 window 8 (%x : !attn.stream<4>) keys (%p : !kv.rows<4>) value %r : !kv.rows<4> -> !kv.state<1x4>
  %o = kv.attend_finish %t : !kv.state<1x4> -> !attn.stream<1x4>
  kv.append %x to @c : !attn.stream<4>
  kv.return %o : !attn.stream<1x4>
} prefill {
}
