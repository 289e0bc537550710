/*===- attn_runtime.h - the C interface of the runtime -----------------------===
 * SPDX-License-Identifier: Apache-2.0
 *
 * Load an artifact, create sequences, step them. Every function that can fail
 * returns 0 on success; the text of the last failure of this thread is
 * attn_last_error(). A model and its sequences may be used by one thread at a
 * time. Functions are added, never changed; a change of meaning raises
 * ATTN_RUNTIME_VERSION.
 *===---------------------------------------------------------------------===*/
#ifndef ATTNC_RUNTIME_ATTN_RUNTIME_H
#define ATTNC_RUNTIME_ATTN_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTN_RUNTIME_VERSION 1

/* What a failed function returns. */
enum attn_status {
  ATTN_OK = 0,
  ATTN_ERROR = 1,      /* bad file, argument or value */
  ATTN_NO_PAGES = 2    /* the page pools are full; nothing was changed */
};

typedef struct attn_model attn_model;

/* The version of the library that is running. */
int attn_runtime_version(void);
const char *attn_last_error(void);

/* Size of the thread pool (0: one per core); before the first model. */
void attn_set_threads(int threads);

typedef struct attn_options {
  size_t size;            /* sizeof(attn_options), for later members */
  const char *target;     /* NULL: whatever runs here */
  const int64_t *pages;   /* pages per cache, or NULL: all grow on demand */
  size_t page_counts;     /* how many numbers `pages` has */
} attn_options;

/* Loads an artifact folder with weights (a .safetensors file, a folder, or
 * "random:SEED"). `options` may be NULL. */
int attn_model_load(const char *folder, const char *weights,
                    const attn_options *options, attn_model **model);
/* Frees a model and all of its sequences. */
void attn_model_free(attn_model *model);

int64_t attn_model_hidden(const attn_model *model);
int64_t attn_model_caches(const attn_model *model);
/* Bytes of all pages in use. */
int64_t attn_model_used_bytes(const attn_model *model);

/* Sequences are numbers, 1 and up. */
int attn_sequence_create(attn_model *model, int64_t *sequence);
int attn_sequence_fork(attn_model *model, int64_t sequence, int64_t *copy);
/* Forgets all tokens from `length` on. */
int attn_sequence_truncate(attn_model *model, int64_t sequence, int64_t length);
int attn_sequence_free(attn_model *model, int64_t sequence);
/* Number of tokens, or -1. */
int64_t attn_sequence_length(const attn_model *model, int64_t sequence);

/* One step: counts[i] new tokens of sequences[i], whose rows follow each other
 * in input and output, both [sum of counts, hidden] f32. After ATTN_NO_PAGES
 * nothing has changed; after another failure the sequences of the step must be
 * freed or truncated to 0. */
int attn_step(attn_model *model, size_t count, const int64_t *sequences,
              const int64_t *counts, const float *input, float *output);

#ifdef __cplusplus
}
#endif

#endif /* ATTNC_RUNTIME_ATTN_RUNTIME_H */
