//===- AttendRun.cpp - one compiled attend on one sequence ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "bench/AttendRun.h"

#include <algorithm>
#include <random>

namespace attnc::bench {

int64_t AttendCase::keyWidth() const {
  int64_t sum = 0;
  for (int64_t dim : keyDims)
    sum += dim;
  return sum;
}

double AttendCase::flops() const {
  // The last `tokens` tokens of the sequence, each seeing all up to itself.
  double pairs = double(tokens) * double(entries) - double(tokens) * double(tokens - 1) / 2;
  return 2 * pairs * double(heads) * double(keyWidth() + valueWidth());
}

double AttendCase::bytes() const { return double(entries) * double(spaceOfRow()); }

int64_t AttendCase::spaceOfRow() const {
  return Format{elem, 0, Scale::None}.dataBytes(kvHeads * (keyWidth() + valueDim));
}

AttendRun::AttendRun(const AttendCase &shape)
    : shape(shape), context(mlir::MLIRContext::Threading::DISABLED) {
  Format format{shape.elem, 0, Scale::None};
  auto addRows = [&](int64_t dim) {
    cache.segments.push_back({"part", format, dim * shape.kvHeads, false});
  };
  for (int64_t dim : shape.keyDims)
    addRows(dim);
  if (shape.valueDim)
    addRows(shape.valueDim);
  error = cache.place();
  if (!error.empty())
    return;
  spec.heads = shape.heads;
  spec.kvHeads = shape.kvHeads;
  for (size_t i = 0; i < shape.keyDims.size(); ++i)
    spec.keys.push_back({shape.kvHeads, shape.keyDims[i], false, format, cache.places[i]});
  if (shape.valueDim)
    spec.value = {shape.kvHeads, shape.valueDim, false, format, cache.places.back()};
  else
    spec.valueKey = 0;
  spec.scale = 0.05;
  kernels = std::make_unique<test::LoadedKernels>(
      context, std::vector<KernelSpec>{
                   {"attend", spec},
                   {"combine", CombineSpec{shape.heads, shape.valueWidth(), false}}});
  error = kernels->error;
  if (!error.empty())
    return;
  attendFn = kernels->find("attend");
  combineFn = kernels->find("combine");
  fill();
  plan();
}

/// Rows and queries of random numbers; every page in its place.
void AttendRun::fill() {
  int64_t count = (shape.entries + cache.pageEntries - 1) / cache.pageEntries;
  for (int64_t i = 0; i < count; ++i)
    table.push_back(int32_t(i));
  pages.resize(size_t(count * cache.pageBytes));
  std::minstd_rand random(1);
  auto uniform = [&] { return float(random() % 65536) / 65536 - 0.5f; };
  std::vector<float> row;
  for (int64_t e = 0; e < shape.entries; ++e)
    for (size_t s = 0; s < cache.segments.size(); ++s) {
      row.resize(size_t(cache.segments[s].channels));
      std::generate(row.begin(), row.end(), uniform);
      uint8_t *page = pages.data() + e / cache.pageEntries * cache.pageBytes;
      const SegmentPlace &place = cache.places[s];
      encode(cache.segments[s].format, row.data(), cache.segments[s].channels,
             page + place.data + e % cache.pageEntries * place.dataStride, nullptr);
    }
  for (int64_t dim : shape.keyDims) {
    queries.emplace_back(size_t(shape.tokens * shape.heads * dim));
    std::generate(queries.back().begin(), queries.back().end(), uniform);
  }
}

void AttendRun::plan() {
  const KernelDesc &desc = kernels->desc("attend");
  int64_t group = shape.heads / shape.kvHeads;
  int64_t perItem = std::max<int64_t>(1, desc.params.at("max_rows") / group);
  int64_t tiles = (shape.tokens + perItem - 1) / perItem;
  if (tiles * shape.kvHeads < 16) {
    int64_t each = desc.params.at("split_entries");
    splits = std::min<int64_t>(16, (shape.entries + each - 1) / each);
  }
  int64_t length = (shape.entries + splits - 1) / splits;
  for (int64_t split = 0; split < splits; ++split)
    for (int64_t kv = 0; kv < shape.kvHeads; ++kv)
      for (int64_t token = 0; token < shape.tokens; token += perItem) {
        int64_t count = std::min(perItem, shape.tokens - token);
        int64_t last = shape.entries - shape.tokens + token + count;
        items.push_back({kv, token, count, split * length,
                         std::min(last, (split + 1) * length), split});
      }
  size_t rows = size_t(splits * shape.tokens * shape.heads);
  acc.resize(rows * size_t(shape.valueWidth()));
  max.resize(rows);
  sum.resize(rows);
  out.resize(size_t(shape.tokens * shape.heads * shape.valueWidth()));
}

void AttendRun::attend(const Item &item, float *scratch) {
  int64_t group = shape.heads / shape.kvHeads;
  std::vector<int32_t> token, head, low, high;
  for (int64_t t = item.token; t < item.token + item.tokens; ++t)
    for (int64_t h = 0; h < group; ++h) {
      token.push_back(int32_t(t));
      head.push_back(int32_t(item.kvHead * group + h));
      low.push_back(0);
      high.push_back(int32_t(shape.entries - shape.tokens + t + 1));
    }
  test::Arguments args;
  for (size_t i = 0; i < queries.size(); ++i)
    args.view(queries[i].data(), shape.heads * shape.keyDims[i], shape.keyDims[i]);
  for (size_t i = 0; i < cache.segments.size(); ++i) {
    args.pointer(pages.data()).pointer(table.data()).integer(cache.pageBytes);
    args.integer(cache.pageEntries).integer(0).integer(0).integer(0).integer(0);
  }
  args.integer(int64_t(token.size())).pointer(token.data()).pointer(head.data());
  args.pointer(low.data()).pointer(high.data()).pointer(high.data());
  args.integer(item.kvHead).integer(item.begin).integer(item.end).integer(1);
  int64_t row = item.split * shape.tokens * shape.heads;
  args.pointer(&acc[size_t(row * shape.valueWidth())]).pointer(&max[size_t(row)]);
  args.pointer(&sum[size_t(row)]).pointer(scratch);
  args.call(attendFn);
}

void AttendRun::combine() {
  test::Arguments args;
  args.pointer(acc.data()).pointer(max.data()).pointer(sum.data());
  args.integer(splits).integer(shape.tokens).pointer(nullptr);
  args.view(out.data(), shape.heads * shape.valueWidth(), shape.valueWidth());
  args.integer(0).integer(shape.tokens).call(combineFn);
}

void AttendRun::run(ThreadPool &pool) {
  size_t need = size_t(kernels->desc("attend").params.at("scratch_bytes") / 4 + 16);
  if (int64_t(scratch.size()) < pool.threads())
    scratch.resize(size_t(pool.threads()), std::vector<float>(need));
  pool.parallelFor(int64_t(items.size()), [&](int64_t i, int worker) {
    float *memory = scratch[size_t(worker)].data();
    memory += (64 - reinterpret_cast<uintptr_t>(memory) % 64) % 64 / 4;
    attend(items[size_t(i)], memory);
  });
  combine();
}

} // namespace attnc::bench
