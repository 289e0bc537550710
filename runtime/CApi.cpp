//===- CApi.cpp - the C interface of the runtime ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/attn_runtime.h"
#include "runtime/Run.h"
#include "runtime/Sequences.h"
#include "runtime/ThreadPool.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace attnc;

struct attn_model {
  LoadedArtifact artifact;
  std::unique_ptr<Sequences> sequences;
};

static thread_local std::string lastError;

static int failed(std::string text, int status = ATTN_ERROR) {
  lastError = std::move(text);
  return status;
}

/// Runs `fn`, which returns a status; no exception leaves the library.
template <typename Fn> static int guarded(Fn fn) {
  try {
    return fn();
  } catch (const std::exception &exception) {
    return failed(std::string("out of memory: ") + exception.what());
  }
}

static int statusOf(const std::string &error) {
  return error.empty() ? int(ATTN_OK) : failed(error);
}

int attn_runtime_version(void) { return ATTN_RUNTIME_VERSION; }
const char *attn_last_error(void) { return lastError.c_str(); }
void attn_set_threads(int threads) { setDefaultThreads(threads); }

int attn_model_load(const char *folder, const char *weights,
                    const attn_options *options, attn_model **model) {
  if (!folder || !weights || !model)
    return failed("folder, weights or model is null; expected pointers");
  *model = nullptr;
  return guarded([&] {
    Result<std::unique_ptr<WeightSource>> source = openWeights(weights);
    if (!source)
      return failed(source.error());
    std::string target = options && options->target ? options->target : "";
    Result<LoadedArtifact> artifact = loadArtifact(folder, **source, target);
    if (!artifact)
      return failed(artifact.error());
    PoolOptions pools;
    if (options && options->pages)
      pools.capacity.assign(options->pages,
                            options->pages + options->page_counts);
    auto loaded = std::make_unique<attn_model>();
    loaded->artifact = std::move(*artifact);
    loaded->sequences = std::make_unique<Sequences>(
        loaded->artifact.executor->caches(), pools);
    *model = loaded.release();
    return int(ATTN_OK);
  });
}

void attn_model_free(attn_model *model) { delete model; }

int64_t attn_model_hidden(const attn_model *model) {
  return model->artifact.executor->hidden();
}

int64_t attn_model_caches(const attn_model *model) {
  return int64_t(model->artifact.executor->caches().size());
}

int64_t attn_model_used_bytes(const attn_model *model) {
  return model->sequences->usedBytes();
}

int attn_sequence_create(attn_model *model, int64_t *sequence) {
  return guarded([&] {
    *sequence = model->sequences->create();
    return int(ATTN_OK);
  });
}

int attn_sequence_fork(attn_model *model, int64_t sequence, int64_t *copy) {
  return guarded([&] {
    Result<int64_t> forked = model->sequences->fork(sequence);
    if (!forked)
      return failed(forked.error());
    *copy = *forked;
    return int(ATTN_OK);
  });
}

int attn_sequence_truncate(attn_model *model, int64_t sequence,
                           int64_t length) {
  return guarded(
      [&] { return statusOf(model->sequences->truncate(sequence, length)); });
}

int attn_sequence_free(attn_model *model, int64_t sequence) {
  return guarded([&] { return statusOf(model->sequences->drop(sequence)); });
}

int64_t attn_sequence_length(const attn_model *model, int64_t sequence) {
  return model->sequences->length(sequence);
}

int attn_step(attn_model *model, size_t count, const int64_t *sequences,
              const int64_t *counts, const float *input, float *output) {
  return guarded([&] {
    std::vector<Growth> growth;
    for (size_t i = 0; i < count; ++i)
      growth.push_back({sequences[i], counts[i]});
    bool ranOut = false;
    if (std::string error = model->sequences->reserve(growth, &ranOut);
        !error.empty())
      return failed(error, ranOut ? ATTN_NO_PAGES : ATTN_ERROR);
    StepBatch batch;
    batch.caches = model->sequences->storage();
    batch.input = input;
    batch.output = output;
    for (const Growth &one : growth) {
      batch.sequences.push_back(
          model->sequences->slice(one.sequence, one.tokens, batch.tokens));
      batch.tokens += one.tokens;
    }
    std::string error = model->artifact.executor->step(batch, nullptr);
    if (!error.empty())
      return failed(error);
    model->sequences->commit(growth);
    return int(ATTN_OK);
  });
}
