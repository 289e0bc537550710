// RUN: attn-opt %s --split-input-file --attn-verify-form=stage=planned --verify-diagnostics -o /dev/null

#bf16 = #attn.format<bf16>
#f32 = #attn.format<f32>
attn.model @complete(%q: !attn.stream<4>, %x: !attn.stream<4>,
    %k: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "ring", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 6 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  %v = attn.round %x to <bf16> {attn.keep = {cache = "a", every = 1 : i64, format = #bf16, kind = "ring", layer = 0 : i64, name = "v", readers = array<i64: 0>, rows = 6 : i64, segment = 1 : i64}} : !attn.stream<4>
  %n = attn.rms_norm %v eps 1.0e-6 : !attn.stream<4>
  %o = attn.attend scale 1.0 window 6 (%q, %k : !attn.stream<4>, !attn.stream<4>) values %n : !attn.stream<4> -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}

// -----

#bf16 = #attn.format<bf16>
// expected-error@+1 {{a stream is kept as bf16; expected an attn.round to that format}}
attn.model @unrounded(%q: !attn.stream<4>, %k: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #bf16, kind = "paged", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  attn.return %q : !attn.stream<4>
}

// -----

#f32 = #attn.format<f32>
// expected-error@+1 {{a stream is kept with one entry per 2 tokens; expected the stream's own rate, its type is '!attn.stream<4>'}}
attn.model @wrong_rate(%k: !attn.stream<4> {attn.keep = {cache = "a", every = 2 : i64, format = #f32, kind = "paged", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  attn.return %k : !attn.stream<4>
}

// -----

#f32 = #attn.format<f32>
attn.model @twice(%k: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "paged", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}},
// expected-error@+1 {{a stream is kept as segment 0 of a, which another stream is already}}
    %v: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "paged", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  attn.return %k : !attn.stream<4>
}

// -----

#f32 = #attn.format<f32>
// expected-error@+1 {{segment 0 of a is missing}}
attn.model @gap(%k: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "paged", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 0 : i64, segment = 1 : i64}}) -> !attn.stream<4> {
  attn.return %k : !attn.stream<4>
}

// -----

#f32 = #attn.format<f32>
// expected-error@+1 {{segments 0 and 1 of a disagree; expected one kind, rate, length, layer and list of readers}}
attn.model @disagree(%k: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "paged", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}},
    %v: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "ring", layer = 0 : i64, name = "v", readers = array<i64: 0>, rows = 4 : i64, segment = 1 : i64}}) -> !attn.stream<4> {
  attn.return %k : !attn.stream<4>
}

// -----

#f32 = #attn.format<f32>
attn.model @too_short(%q: !attn.stream<4>, %k: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "ring", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 5 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  // expected-error@+1 {{'attn.attend' op looks back 6 tokens, further than the 5 entries of a}}
  %o = attn.attend scale 1.0 window 6 (%q, %k : !attn.stream<4>, !attn.stream<4>) values %k : !attn.stream<4> -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}

// -----

#f32 = #attn.format<f32>
attn.model @without_end(%q: !attn.stream<4>, %k: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "ring", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 5 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  // expected-error@+1 {{looks back without end, further than the 5 entries of a}}
  %o = attn.attend scale 1.0 causal (%q, %k : !attn.stream<4>, !attn.stream<4>) values %k : !attn.stream<4> -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}

// -----

attn.model @not_kept(%q: !attn.stream<4>,
// expected-note@+1 {{expected 'attn.keep' here or on the way}}
    %k: !attn.stream<4>) -> !attn.stream<4> {
  %n = attn.rms_norm %k eps 1.0e-6 : !attn.stream<4>
  // expected-error@+1 {{'attn.attend' op reads old elements of what depends on argument 1 of the model, which is not kept and cannot be computed again}}
  %o = attn.attend scale 1.0 causal (%q, %n : !attn.stream<4>, !attn.stream<4>) values %n : !attn.stream<4> -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}

// -----

attn.model @behind_an_extern(%q: !attn.stream<4>) -> !attn.stream<4> {
  // expected-note@+1 {{expected 'attn.keep' here or on the way}}
  %k = attn.extern @outside (%q) : (!attn.stream<4>) -> !attn.stream<4>
  // expected-error@+1 {{reads old elements of what depends on 'attn.extern', which is not kept and cannot be computed again}}
  %o = attn.attend scale 1.0 causal (%q, %k : !attn.stream<4>, !attn.stream<4>) values %k : !attn.stream<4> -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}

// -----

// expected-error@+1 {{in 'attn.keep', 'cache' is to be a string; found {}}}
attn.model @malformed(%k: !attn.stream<4> {attn.keep = {}}) -> !attn.stream<4> {
  attn.return %k : !attn.stream<4>
}

// -----

#f32 = #attn.format<f32>
// expected-error@+1 {{in 'attn.keep', 'rows' is to be at least 1; found}}
attn.model @ring_of_nothing(%k: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "ring", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  attn.return %k : !attn.stream<4>
}

// -----

#f32 = #attn.format<f32>
// expected-error@+1 {{in 'attn.keep', 'kind' is to be paged, ring or state; found}}
attn.model @unknown_kind(%k: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "heap", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  attn.return %k : !attn.stream<4>
}

// -----

// expected-error@+1 {{expected 'attn.keep', a dictionary}}
attn.model @no_dictionary(%k: !attn.stream<4> {attn.keep = 3 : i64}) -> !attn.stream<4> {
  attn.return %k : !attn.stream<4>
}

// -----

#f32 = #attn.format<f32>
// expected-error@+1 {{@m keeps a[0], which @m.prefill does not; expected both forms to keep the same streams}}
attn.model @m(%k: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #f32, kind = "paged", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  attn.return %k : !attn.stream<4>
}
attn.model @m.prefill(%k: !attn.stream<4>) -> !attn.stream<4> attributes {form = "prefill"} {
  attn.return %k : !attn.stream<4>
}
