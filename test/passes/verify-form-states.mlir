// RUN: attn-opt %s --split-input-file --attn-verify-form=stage=planned --verify-diagnostics

// A part at offset -1 has two open blocks of three rows.

attn.model @good(%x: !attn.stream<4>) -> !attn.stream<4, every 2> {
  %c = attn.compress every 2 (%x at -1 : !attn.stream<4>) {attn.state = {cache = "a", every = 2 : i64, format = #attn.format<f32>, kind = "state", layer = 0 : i64, name = "fold", readers = array<i64: 0>, rows = 6 : i64, segment = 0 : i64}} -> !attn.stream<4, every 2>
  attn.return %c : !attn.stream<4, every 2>
}

// -----

attn.model @none(%x: !attn.stream<4>) -> !attn.stream<4, every 2> {
  // expected-error@+1 {{expected 'attn.state', a dictionary}}
  %c = attn.compress every 2 (%x at 0 : !attn.stream<4>) -> !attn.stream<4, every 2>
  attn.return %c : !attn.stream<4, every 2>
}

// -----

attn.model @malformed(%x: !attn.stream<4>) -> !attn.stream<4, every 2> {
  // expected-error@+1 {{in 'attn.state', 'cache' is to be a string; found {}}}
  %c = attn.compress every 2 (%x at 0 : !attn.stream<4>) {attn.state = {}} -> !attn.stream<4, every 2>
  attn.return %c : !attn.stream<4, every 2>
}

// -----

attn.model @empty(%x: !attn.stream<4>) -> !attn.stream<4, every 2> {
  // expected-error@+1 {{in 'attn.state', 'rows' is to be at least 1; found}}
  %c = attn.compress every 2 (%x at 0 : !attn.stream<4>) {attn.state = {cache = "a", every = 2 : i64, format = #attn.format<f32>, kind = "state", layer = 0 : i64, name = "fold", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}} -> !attn.stream<4, every 2>
  attn.return %c : !attn.stream<4, every 2>
}

// -----

attn.model @paged(%x: !attn.stream<4>) -> !attn.stream<4, every 2> {
  // expected-error@+1 {{'attn.compress' op has a state of 3 rows of kind paged; expected 3 of kind state}}
  %c = attn.compress every 2 (%x at 0 : !attn.stream<4>) {attn.state = {cache = "a", every = 2 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "fold", readers = array<i64: 0>, rows = 3 : i64, segment = 0 : i64}} -> !attn.stream<4, every 2>
  attn.return %c : !attn.stream<4, every 2>
}

// -----

attn.model @short(%x: !attn.stream<4>) -> !attn.stream<4, every 2> {
  // expected-error@+1 {{'attn.compress' op has a state of 3 rows of kind state; expected 6 of kind state}}
  %c = attn.compress every 2 (%x at -1 : !attn.stream<4>) {attn.state = {cache = "a", every = 2 : i64, format = #attn.format<f32>, kind = "state", layer = 0 : i64, name = "fold", readers = array<i64: 0>, rows = 3 : i64, segment = 0 : i64}} -> !attn.stream<4, every 2>
  attn.return %c : !attn.stream<4, every 2>
}

// -----

attn.model @narrow(%x: !attn.stream<4>) -> !attn.stream<4, every 2> {
  // expected-error@+1 {{'attn.compress' op has a state of bf16; expected f32}}
  %c = attn.compress every 2 (%x at 0 : !attn.stream<4>) {attn.state = {cache = "a", every = 2 : i64, format = #attn.format<bf16>, kind = "state", layer = 0 : i64, name = "fold", readers = array<i64: 0>, rows = 3 : i64, segment = 0 : i64}} -> !attn.stream<4, every 2>
  attn.return %c : !attn.stream<4, every 2>
}

// -----

attn.model @endless(%x: !attn.stream<2147483648>) -> !attn.stream<2147483648, every 2> {
  // expected-error@+1 {{'attn.compress' op needs a state whose size does not fit 64 bits}}
  %c = attn.compress every 2 (%x at -1000000000 : !attn.stream<2147483648>) {attn.state = {cache = "a", every = 2 : i64, format = #attn.format<f32>, kind = "state", layer = 0 : i64, name = "fold", readers = array<i64: 0>, rows = 3 : i64, segment = 0 : i64}} -> !attn.stream<2147483648, every 2>
  attn.return %c : !attn.stream<2147483648, every 2>
}

// -----

attn.model @two(%x: !attn.stream<4>) -> (!attn.stream<4, every 2>, !attn.stream<4, every 2>) {
  %c = attn.compress every 2 (%x at 0 : !attn.stream<4>) {attn.state = {cache = "a", every = 2 : i64, format = #attn.format<f32>, kind = "state", layer = 0 : i64, name = "fold", readers = array<i64: 0>, rows = 3 : i64, segment = 0 : i64}} -> !attn.stream<4, every 2>
  // expected-error@+1 {{'attn.compress' op has a state in a, which something else is already}}
  %d = attn.compress every 2 (%x at 0 : !attn.stream<4>) {attn.state = {cache = "a", every = 2 : i64, format = #attn.format<f32>, kind = "state", layer = 0 : i64, name = "fold", readers = array<i64: 0>, rows = 3 : i64, segment = 0 : i64}} -> !attn.stream<4, every 2>
  attn.return %c, %d : !attn.stream<4, every 2>, !attn.stream<4, every 2>
}

// -----

// expected-error@+1 {{@m and @m.prefill carry different states; expected both forms to fold the same streams}}
attn.model @m(%x: !attn.stream<4>) -> !attn.stream<4, every 2> {
  %c = attn.compress every 2 (%x at 0 : !attn.stream<4>) {attn.id = 0 : i64, attn.state = {cache = "a", every = 2 : i64, format = #attn.format<f32>, kind = "state", layer = 0 : i64, name = "fold", readers = array<i64: 0>, rows = 3 : i64, segment = 0 : i64}} -> !attn.stream<4, every 2>
  attn.return %c : !attn.stream<4, every 2>
}
attn.model @m.prefill(%x: !attn.stream<4>) -> !attn.stream<4, every 2> attributes {form = "prefill"} {
  %c = attn.compress every 2 (%x at 0 : !attn.stream<4>) {attn.id = 0 : i64, attn.state = {cache = "b", every = 2 : i64, format = #attn.format<f32>, kind = "state", layer = 0 : i64, name = "fold", readers = array<i64: 0>, rows = 3 : i64, segment = 0 : i64}} -> !attn.stream<4, every 2>
  attn.return %c : !attn.stream<4, every 2>
}

// -----

// What a choice reads must be kept too.

// expected-note@+1 {{expected 'attn.keep' here or on the way}}
attn.model @keys(%q: !attn.stream<4>, %k: !attn.stream<4>, %c: !attn.stream<4> {attn.keep = {cache = "a", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "k", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}}) -> !attn.stream<4> {
  // expected-error@+1 {{'attn.score' op reads old elements of what depends on argument 1 of the model, which is not kept and cannot be computed again}}
  %s = attn.score none scale 1.0 (%q, %k : !attn.stream<4>, !attn.stream<4>) -> !attn.scores
  %t = attn.top_k %s : !attn.scores -> !attn.selection<8>
  %o = attn.attend scale 1.0 select %t : !attn.selection<8> (%q, %c : !attn.stream<4>, !attn.stream<4>) values %c : !attn.stream<4> -> !attn.stream<4>
  attn.return %o : !attn.stream<4>
}
