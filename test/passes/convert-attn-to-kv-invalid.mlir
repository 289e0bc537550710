// RUN: attn-opt %s --split-input-file --convert-attn-to-kv --verify-diagnostics

attn.model @nothing_kept(%x: !attn.stream<4>) -> !attn.stream<1x4> {
  // expected-error@+1 {{reads old elements of what depends on argument 0 of the model, which is not kept and cannot be computed again}}
  %o = attn.attend scale 0.5 causal (%x, %x : !attn.stream<4>, !attn.stream<4>)
      values %x : !attn.stream<4> -> !attn.stream<1x4>
  attn.return %o : !attn.stream<1x4>
}
// expected-note@-6 {{expected 'attn.keep' here or on the way}}

// -----

#first = {cache = "c", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
#other = {cache = "c", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 3 : i64, name = "b", readers = array<i64: 0>, rows = 0 : i64, segment = 1 : i64}
attn.weight @w : 4x4
attn.model @disagree(%x: !attn.stream<4> {attn.keep = #first}) -> !attn.stream<4> {
  // expected-error@+1 {{is kept in cache 'c' with other rows, rate, layer or readers than another segment of it}}
  %y = attn.linear %x, @w {attn.keep = #other} : (!attn.stream<4>) -> !attn.stream<4>
  attn.return %y : !attn.stream<4>
}

// -----

#first = {cache = "c", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
attn.weight @w : 4x4
attn.model @twice(%x: !attn.stream<4> {attn.keep = #first}) -> !attn.stream<4> {
  // expected-error@+1 {{is segment 0 of cache 'c'; expected segments from 0, each once}}
  %y = attn.linear %x, @w {attn.keep = #first} : (!attn.stream<4>) -> !attn.stream<4>
  attn.return %y : !attn.stream<4>
}

// -----

#second = {cache = "c", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "b", readers = array<i64: 0>, rows = 0 : i64, segment = 1 : i64}
// expected-error@+1 {{keeps no stream as segment 0 of cache 'c'; expected one}}
attn.model @gap(%x: !attn.stream<4> {attn.keep = #second}) -> !attn.stream<4> {
  attn.return %x : !attn.stream<4>
}

// -----

#row = {cache = "w", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
attn.weight @w : 4x4
// expected-error@+1 {{keeps cache 'w', whose symbol is taken}}
attn.model @taken(%x: !attn.stream<4> {attn.keep = #row}) -> !attn.stream<4> {
  attn.return %x : !attn.stream<4>
}

// -----

#ring = {cache = "r", every = 1 : i64, format = #attn.format<f32>, kind = "ring", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 8 : i64, segment = 0 : i64}
attn.model @wide(%x: !attn.stream<4> {attn.keep = #ring}) -> !attn.stream<1x4> {
  // expected-error@+1 {{source 0 sees 9 tokens; ring 'r' keeps 8}}
  %o = attn.attend scale 0.5 window 9 (%x, %x : !attn.stream<4>, !attn.stream<4>)
      values %x : !attn.stream<4> -> !attn.stream<1x4>
  attn.return %o : !attn.stream<1x4>
}

// -----

#ring = {cache = "r", every = 1 : i64, format = #attn.format<f32>, kind = "ring", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 8 : i64, segment = 0 : i64}
attn.model @all(%x: !attn.stream<4> {attn.keep = #ring}) -> !attn.stream<1x4> {
  // expected-error@+1 {{source 0 sees all tokens; ring 'r' keeps 8}}
  %o = attn.attend scale 0.5 causal (%x, %x : !attn.stream<4>, !attn.stream<4>)
      values %x : !attn.stream<4> -> !attn.stream<1x4>
  attn.return %o : !attn.stream<1x4>
}

// -----

#ring = {cache = "r", every = 1 : i64, format = #attn.format<f32>, kind = "ring", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 8 : i64, segment = 0 : i64}
#page = {cache = "p", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
attn.model @mixed(%x: !attn.stream<4> {attn.keep = #ring}, %y: !attn.stream<4> {attn.keep = #page}) -> !attn.stream<1x4> {
  // expected-error@+1 {{source 0 reads rows of pages and of a ring together; expected one kind}}
  %o = attn.attend scale 0.5 window 8 (%x, %x : !attn.stream<4>, !attn.stream<4>)
      values %y : !attn.stream<4> -> !attn.stream<1x4>
  attn.return %o : !attn.stream<1x4>
}

// -----

#state = {cache = "s", every = 1 : i64, format = #attn.format<f32>, kind = "state", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 8 : i64, segment = 0 : i64}
attn.model @state(%x: !attn.stream<4> {attn.keep = #state}) -> !attn.stream<1x4> {
  // expected-error@+1 {{source 0 reads no rows of pages or a ring; expected kept streams}}
  %o = attn.attend scale 0.5 window 8 (%x, %x : !attn.stream<4>, !attn.stream<4>)
      values %x : !attn.stream<4> -> !attn.stream<1x4>
  attn.return %o : !attn.stream<1x4>
}

// -----

#a = {cache = "p", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
#b = {cache = "p", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "b", readers = array<i64: 0>, rows = 0 : i64, segment = 1 : i64}
attn.weight @w : 4x4
attn.model @early(%x: !attn.stream<4> {attn.keep = #a}) -> !attn.stream<1x4> {
  // expected-error@+1 {{reads cache 'p' before all of its row is computed; expected the row first}}
  %o = attn.attend scale 0.5 causal (%x, %x : !attn.stream<4>, !attn.stream<4>)
      values %x : !attn.stream<4> -> !attn.stream<1x4>
  %y = attn.linear %x, @w {attn.keep = #b} : (!attn.stream<4>) -> !attn.stream<4>
  attn.return %o : !attn.stream<1x4>
}

// -----

#row = {cache = "p", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
#more = {cache = "q", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
attn.model @m(%x: !attn.stream<4> {attn.keep = #row}, %y: !attn.stream<4>) -> !attn.stream<4> {
  attn.return %x : !attn.stream<4>
}
// expected-error@+1 {{keeps cache 'q', which the decode form does not; a prefill form adds no cache}}
attn.model @m.prefill(%x: !attn.stream<4> {attn.keep = #row}, %y: !attn.stream<4> {attn.keep = #more}) -> !attn.stream<4> attributes {form = "prefill"} {
  attn.return %x : !attn.stream<4>
}

// -----

#row = {cache = "p", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
attn.model @m(%x: !attn.stream<4> {attn.keep = #row}) -> !attn.stream<4> {
  attn.return %x : !attn.stream<4>
}
// expected-error@+1 {{does not keep cache 'p'; expected every row that the decode form reads}}
attn.model @m.prefill(%x: !attn.stream<4>) -> !attn.stream<4> attributes {form = "prefill"} {
  attn.return %x : !attn.stream<4>
}

// -----

#row = {cache = "p", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
#half = {cache = "p", every = 1 : i64, format = #attn.format<bf16>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
attn.model @m(%x: !attn.stream<4> {attn.keep = #row}) -> !attn.stream<4> {
  attn.return %x : !attn.stream<4>
}
// expected-error@+1 {{keeps cache 'p' with other segments or formats than the decode form}}
attn.model @m.prefill(%x: !attn.stream<4> {attn.keep = #half}) -> !attn.stream<4> attributes {form = "prefill"} {
  attn.return %x : !attn.stream<4>
}

// -----

// expected-error@+1 {{is a prefill form without a decode form; expected one named like it, without '.prefill'}}
attn.model @x(%x: !attn.stream<4>) -> !attn.stream<4> attributes {form = "prefill"} {
  attn.return %x : !attn.stream<4>
}

// -----

#row = {cache = "p", every = 1 : i64, format = #attn.format<f32>, kind = "paged", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 0 : i64, segment = 0 : i64}
#ring = {cache = "r", every = 1 : i64, format = #attn.format<f32>, kind = "ring", layer = 0 : i64, name = "a", readers = array<i64: 0>, rows = 8 : i64, segment = 0 : i64}
attn.model @selected(%x: !attn.stream<4> {attn.keep = #row}, %y: !attn.stream<4> {attn.keep = #ring}) -> !attn.stream<1x4> {
  %s = attn.score none scale 1.0 (%x, %x : !attn.stream<4>, !attn.stream<4>) -> !attn.scores
  %p = attn.top_k %s : !attn.scores -> !attn.selection<2>
  // expected-error@+1 {{source 0 sees all tokens; ring 'r' keeps 8}}
  %o = attn.attend scale 0.5 select %p : !attn.selection<2> (%x, %y : !attn.stream<4>, !attn.stream<4>)
      values %y : !attn.stream<4> -> !attn.stream<1x4>
  attn.return %o : !attn.stream<1x4>
}

// -----

attn.model @compressed(%x: !attn.stream<4>) -> !attn.stream<4, every 2> {
  // expected-error@+1 {{expected 'attn.state', a dictionary}}
  %y = attn.compress every 2 (%x at 0 : !attn.stream<4>) -> !attn.stream<4, every 2>
  attn.return %y : !attn.stream<4, every 2>
}
