// RUN: attn-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error@+1 {{expected heads x channels, found 1 axes}}
"test"() : () -> !kv.state<8>

// -----

// expected-error@+1 {{expected a positive extent, found 0}}
"test"() : () -> !kv.rows<0>

// -----

// expected-error@+1 {{expected a positive rate 'every', found 0}}
"test"() : () -> !kv.rows<8, every 0>

// -----

// expected-error@+1 {{expected a segment with a name}}
"test"() {a = #kv.segment<"", 8, #attn.format<f32>>} : () -> ()

// -----

// expected-error@+1 {{segment 'a' has 0 channels; expected 1 to 2^31}}
"test"() {a = #kv.segment<"a", 0, #attn.format<f32>>} : () -> ()

// -----

// expected-error@+1 {{a paged cache keeps every entry; found 4 rows}}
kv.cache @c paged 4 row [#kv.segment<"a", 8, #attn.format<f32>>]

// -----

// expected-error@+1 {{expected the number of rows of a ring}}
kv.cache @c ring row [#kv.segment<"a", 8, #attn.format<f32>>]

// -----

// expected-error@+1 {{a row is a list of #kv.segment; found 1 : i64}}
kv.cache @c paged row [1]

// -----

// expected-error@+1 {{found two segments named 'a'; expected different names}}
kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>, #kv.segment<"a", 8, #attn.format<f32>>]

// -----

// expected-error@+1 {{expected a row with at least one segment of values}}
kv.cache @c paged row [#kv.segment<"pad", 8, #attn.format<f32>>]

// -----

// expected-error@+1 {{expected a layer of 0 or more, found -1}}
kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>] {layer = -1 : i64}

// -----

// expected-error@+1 {{expected readers in ascending order from 0, found 1 after 1}}
kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>] {readers = array<i64: 1, 1>}

// -----

// expected-error@+1 {{cache c has an entry every 0 tokens; expected at least 1}}
kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>] every 0

// -----

// expected-error@+1 {{cache c has pages of 0 entries; expected at least 1}}
kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>] {page_entries = 0 : i64}

// -----

// expected-error@+1 {{cache c is a ring of 0 rows; expected at least 1}}
kv.cache @c ring 0 row [#kv.segment<"a", 8, #attn.format<f32>>]

// -----

// expected-error@+1 {{cache c has the layout 'columns'; expected 'token'}}
kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>] {layout = "columns"}

// -----

// expected-error@+1 {{takes streams; found an argument of type}}
kv.step @s (f32) -> (!attn.stream<8>) decode {
^bb0(%x: f32):
  "test.end"() : () -> ()
} prefill {
}

// -----

// expected-error@+1 {{returns streams; found a result of type 'f32'}}
kv.step @s (!attn.stream<8>) -> (f32) decode {
^bb0(%x: !attn.stream<8>):
  %y = arith.constant 0.0 : f32
  kv.return %y : f32
} prefill {
}

// -----

// expected-error@+1 {{expected at least one stream as argument, found none}}
kv.step @s () -> () decode {
  kv.return
} prefill {
}

// -----

// expected-error@+1 {{expected a threshold of at least 1 new token, found 0}}
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  kv.return %x : !attn.stream<8>
} prefill {
} {threshold = 0 : i64}

// -----

// expected-error@+1 {{the decode body takes ('!attn.stream<4>'); expected ('!attn.stream<8>'), as the step declares}}
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<4>):
  kv.return %x : !attn.stream<4>
} prefill {
}

// -----

// expected-error@+1 {{expected the decode body to end with kv.return}}
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  "test.end"() : () -> ()
} prefill {
}

// -----

kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{returns (); expected ('!attn.stream<8>'), as the step declares}}
  kv.return
} prefill {
}

// -----

// expected-error@+1 {{the prefill body takes ('!attn.stream<4>'); expected ('!attn.stream<8>'), as the step declares}}
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  kv.return %x : !attn.stream<8>
} prefill {
^bb0(%x: !attn.stream<4>):
  kv.return %x : !attn.stream<4>
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{expected one value per segment, found none}}
  "kv.append"() {cache = @c} : () -> ()
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{cache @d is not declared; expected kv.cache @d in the module}}
  kv.append %x to @d : !attn.stream<8>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

attn.weight @w : 8
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{expected @w to be a kv.cache, found attn.weight}}
  kv.append %x to @w : !attn.stream<8>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{has 2 values; cache @c has 1 segments}}
  kv.append %x, %x to @c : !attn.stream<8>, !attn.stream<8>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 4, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{value has 8 channels, segment 'a' of @c 4}}
  kv.append %x to @c : !attn.stream<8>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>] every 4
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{value has one element every 1 tokens, cache @c one every 4}}
  kv.append %x to @c : !attn.stream<8>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 64, #attn.format<e4m3, block = 64, scale = e8m0>>]
kv.step @s (!attn.stream<2x32>) -> (!attn.stream<2x32>) decode {
^bb0(%x: !attn.stream<2x32>):
  // expected-error@+1 {{value has 32 channels per head; expected a multiple of the block of #attn.format<e4m3, block = 64, scale = e8m0>}}
  kv.append %x to @c : !attn.stream<2x32>
  kv.return %x : !attn.stream<2x32>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{reads segment 1; cache @c has 1}}
  %r = kv.read @c[1] : !kv.rows<8>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>, #kv.segment<"pad", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{reads segment 1 of @c, which is a pad; expected one with values}}
  %r = kv.read @c[1] : !kv.rows<8>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{has 4 channels, segment 'a' of @c 8}}
  %r = kv.read @c[0] : !kv.rows<4>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  // expected-error@+1 {{has one entry every 4 tokens, cache @c one every 1}}
  %r = kv.read @c[0] : !kv.rows<8, every 4>
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  %r = kv.read @c[0] : !kv.rows<8>
  // expected-error@+1 {{expected rows to rebuild from, found none}}
  "kv.rebuild"() ({
    kv.yield
  }) : () -> ()
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.cache @d paged row [#kv.segment<"a", 8, #attn.format<f32>>] every 4
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  %r = kv.read @c[0] : !kv.rows<8>
  %t = kv.read @d[0] : !kv.rows<8, every 4>
  // expected-error@+1 {{expected all inputs at one rate, found every 1 and every 4}}
  %o = kv.rebuild (%r, %t : !kv.rows<8>, !kv.rows<8, every 4>) -> (!kv.rows<8>) {
  ^bb0(%e: !attn.stream<8>, %f: !attn.stream<8, every 4>):
    kv.yield %e : !attn.stream<8>
  }
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  %r = kv.read @c[0] : !kv.rows<8>
  // expected-error@+1 {{body takes (); expected ('!attn.stream<8>'), one element of each input}}
  %o = kv.rebuild (%r : !kv.rows<8>) -> (!kv.rows<8>) {
    kv.yield
  }
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  %r = kv.read @c[0] : !kv.rows<8>
  // expected-error@+1 {{expected its body to end with kv.yield}}
  %o = kv.rebuild (%r : !kv.rows<8>) -> (!kv.rows<8>) {
  ^bb0(%e: !attn.stream<8>):
    "test.end"() : () -> ()
  }
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  %r = kv.read @c[0] : !kv.rows<8>
  %k = kv.rebuild (%r : !kv.rows<8>) -> (!kv.rows<4>) {
  ^bb0(%e: !attn.stream<8>):
    // expected-error@+1 {{yields ('!attn.stream<8>'); expected ('!attn.stream<4>'), one element of each result}}
    kv.yield %e : !attn.stream<8>
  }
  kv.return %x : !attn.stream<8>
} prefill {
}

// -----

kv.cache @c paged row [#kv.segment<"a", 8, #attn.format<f32>>]
kv.step @s (!attn.stream<8>) -> (!attn.stream<8>) decode {
^bb0(%x: !attn.stream<8>):
  %r = kv.read @c[0] : !kv.rows<8>
  %k = kv.rebuild (%r : !kv.rows<8>) -> (!kv.rows<8>) {
  ^bb0(%e: !attn.stream<8>):
    // expected-error@+1 {{is not allowed in a rebuild; expected ops of attn that compute an entry from itself}}
    %f = attn.extern @f (%e) : (!attn.stream<8>) -> !attn.stream<8>
    kv.yield %f : !attn.stream<8>
  }
  kv.return %x : !attn.stream<8>
} prefill {
}
