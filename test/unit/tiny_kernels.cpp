//===- tiny_kernels.cpp - the hand-written kernels as a library -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What codegen leaves in an artifact: a shared object that exports kernels.
//
//===----------------------------------------------------------------------===//
#include "runtime_kernels.h"

using namespace attnc::test;

extern "C" {
void project_q(void **args) { project<hidden, qWidth>(args); }
void project_kv(void **args) { project<hidden, kvWidth>(args); }
void project_o(void **args) { project<qWidth, hidden>(args); }
void norm(void **args) { attnc::test::norm(args); }
void rope_q(void **args) { rope<qHeads>(args); }
void rope_k(void **args) { rope<kvHeads>(args); }
void map_add(void **args) { addMap(args); }
void append_kv(void **args) { append<2, kvWidth>(args); }
void append_hidden(void **args) { append<1, hidden>(args); }
void unpack_hidden(void **args) { unpackHidden(args); }
void attend_cache(void **args) { attend<0, kvWidth * 4>(args); }
void attend_dense(void **args) { attend<-1, -1>(args); }
void combine(void **args) { attnc::test::combine(args); }
}
