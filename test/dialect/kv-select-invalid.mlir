// RUN: attn-opt %s --split-input-file --verify-diagnostics

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{expected a finite 'scale', found INF}}
  %s = kv.top_k relu scale 0x7FF0000000000000 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) -> !attn.selection<2>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{expected a positive 'block', found 0}}
  %s = kv.top_k relu scale 0.5 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) block 0 max -> !attn.selection<2>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{expected to pin 0 or more blocks, found -1}}
  %s = kv.top_k relu scale 0.5 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) pin_first -1 -> !attn.selection<2>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{pins the first 2 and the newest 1 blocks; it picks only 2}}
  %s = kv.top_k relu scale 0.5 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) pin_first 2 pin_newest 1 -> !attn.selection<2>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{expected a result of type '!attn.selection<2, block 8>', found '!attn.selection<2>'}}
  %s = kv.top_k relu scale 0.5 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) block 8 max -> !attn.selection<2>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  %h = attn.compress every 2 (%q at 0 : !attn.stream<4x4>) -> !attn.stream<4x4, every 2>
  // expected-error@+1 {{expected a query with one element per token, found '!attn.stream<4x4, every 2>'}}
  %s = kv.top_k relu scale 0.5 (%h, %r : !attn.stream<4x4, every 2>, !kv.rows<4>) -> !attn.selection<2>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  %h = attn.slice %q [0, 2] : !attn.stream<4x4> -> !attn.stream<4x2>
  // expected-error@+1 {{query has 2 channels per head, its key 4}}
  %s = kv.top_k relu scale 0.5 (%h, %r : !attn.stream<4x2>, !kv.rows<4>) -> !attn.selection<2>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{result has 3 groups, which does not divide the 4 heads of the query}}
  %s = kv.top_k relu scale 0.5 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) -> !attn.selection<2, groups 3>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  // expected-error@+1 {{expected weights with one channel per head, 4, for every token, found '!attn.stream<4x4>'}}
  %s = kv.top_k relu scale 0.5 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) weights %q : !attn.stream<4x4> -> !attn.selection<2>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  %w = kv.top_k relu scale 0.5 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) -> !attn.selection<2, groups 2>
  // expected-error@+1 {{'within' has 2 groups, which does not divide the 1 groups of the result}}
  %s = kv.top_k relu scale 0.5 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) within %w : !attn.selection<2, groups 2> -> !attn.selection<2>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  %st = kv.attend_init : !kv.state<4x4>
  %w = kv.top_k relu scale 0.5 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) -> !attn.selection<2>
  // expected-error@+1 {{selects among the chunk's own elements; expected rows of a cache}}
  %t = kv.attend_partial %st scale 0.5 window 0 (%q : !attn.stream<4x4>) keys (%q : !attn.stream<4x4>) value %q : !attn.stream<4x4> select %w : !attn.selection<2> -> !kv.state<4x4>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  %st = kv.attend_init : !kv.state<4x4>
  %w = kv.top_k relu scale 0.5 (%q, %r : !attn.stream<4x4>, !kv.rows<4>) -> !attn.selection<2>
  // expected-error@+1 {{has a selection and a window of 3; expected window 0}}
  %t = kv.attend_partial %st scale 0.5 window 3 (%q : !attn.stream<4x4>) keys (%r : !kv.rows<4>) value %r : !kv.rows<4> select %w : !attn.selection<2> -> !kv.state<4x4>
  kv.return %q : !attn.stream<4x4>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.cache @d paged row [#kv.segment<"a", 4, #attn.format<f32>>] every 2
kv.step @s (!attn.stream<4x4>) -> (!attn.stream<4x4>) decode {
^bb0(%q: !attn.stream<4x4>):
  %r = kv.read @c[0] : !kv.rows<4>
  %st = kv.attend_init : !kv.state<4x4>
  %d = kv.read @d[0] : !kv.rows<4, every 2>
  %w = kv.top_k relu scale 0.5 (%q, %d : !attn.stream<4x4>, !kv.rows<4, every 2>) -> !attn.selection<2, every 2>
  // expected-error@+1 {{selects entries every 2 tokens, its rows are one every 1}}
  %t = kv.attend_partial %st scale 0.5 window 0 (%q : !attn.stream<4x4>) keys (%r : !kv.rows<4>) value %r : !kv.rows<4> select %w : !attn.selection<2, every 2> -> !kv.state<4x4>
  kv.return %q : !attn.stream<4x4>
} prefill {
}
