//===- ExecutorLoad.cpp - resolve a program once ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/ExecutorImpl.h"

#include <algorithm>

namespace attnc {

/// Tokens per work item where a kernel does not say: enough work to be worth
/// a hand-over, small enough to balance.
static int64_t defaultTokenTile(const std::string &op) {
  return op == "project" ? 64 : op == "combine" ? 4 : 16;
}

KernelFn CpuExecutor::Impl::findKernel(const std::string &name,
                                       std::string &error) {
  KernelFn fn = kernels->find(name);
  if (!fn && error.empty())
    error = "the kernel " + name + " is not in the library; expected it there";
  return fn;
}

std::string CpuExecutor::Impl::loadLaunch(const Launch &launch,
                                          LoadedLaunch &loaded,
                                          LoadedBody &body) {
  std::string error;
  loaded.launch = &launch;
  loaded.tokenTile = defaultTokenTile(launch.op);
  if (!launch.kernel.empty()) {
    loaded.fn = findKernel(launch.kernel, error);
    loaded.stats = &stats[launch.kernel];
    for (const KernelDesc &desc : program.kernels)
      if (desc.name == launch.kernel)
        loaded.desc = &desc;
    if (loaded.desc)
      if (auto it = loaded.desc->params.find("tokens");
          it != loaded.desc->params.end())
        loaded.tokenTile = it->second;
  }
  if (launch.table >= 0)
    body.tables[size_t(launch.table)] = true;
  if (launch.op == "extern") {
    auto it = options.externs.find(launch.name);
    if (it != options.externs.end())
      loaded.externFn = &it->second;
    else if (!launch.optional)
      error = "the model calls the external function " + launch.name +
              ", which is not supplied; expected one";
  }
  if (launch.op == "attend")
    for (const char *key : {"max_rows", "split_entries", "scratch_bytes"})
      if (error.empty() && (!loaded.desc || !loaded.desc->params.count(key)))
        error = "the kernel " + launch.kernel + " says no " + key +
                "; expected a kernel for the CPU";
  for (const std::string &name : launch.readKernels)
    loaded.readFns.push_back(findKernel(name, error));
  if (!error.empty())
    return error;
  loaded.body.resize(launch.body.size());
  for (size_t i = 0; i < launch.body.size(); ++i)
    if (error = loadLaunch(launch.body[i], loaded.body[i], body);
        !error.empty())
      return error;
  return "";
}

std::string CpuExecutor::Impl::loadBody(const Body &body, LoadedBody &loaded) {
  loaded.body = &body;
  loaded.tables.assign(program.tables.size(), false);
  loaded.launches.resize(body.launches.size());
  for (size_t i = 0; i < body.launches.size(); ++i)
    if (std::string error =
            loadLaunch(body.launches[i], loaded.launches[i], loaded);
        !error.empty())
      return error;
  return "";
}

std::string CpuExecutor::Impl::load(WeightSource &source) {
  pool = options.pool ? options.pool : &defaultPool();
  for (const Rotary &table : program.tables)
    frequencies.push_back(table.frequencies());
  for (const auto &[body, loaded] :
       {std::pair(&program.decode, &decode),
        std::pair(&program.prefill, &prefill)})
    if (std::string error = loadBody(*body, *loaded); !error.empty())
      return error;
  for (const WeightUse &use : program.weights) {
    Result<PackedWeight> packed = packWeight(use, source, *pool);
    if (!packed)
      return packed.error();
    weights.push_back(std::move(*packed));
  }
  scratch.resize(size_t(pool->threads()));
  return "";
}

CpuExecutor::CpuExecutor(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
CpuExecutor::~CpuExecutor() = default;

Result<std::unique_ptr<CpuExecutor>>
CpuExecutor::create(Program program, std::shared_ptr<KernelResolver> kernels,
                    WeightSource &weights, ExecutorOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->program = std::move(program);
  impl->kernels = std::move(kernels);
  impl->options = std::move(options);
  try {
    if (std::string error = impl->load(weights); !error.empty())
      return Error{error};
  } catch (const std::bad_alloc &) {
    return Error{"the weights do not fit the memory"};
  }
  return std::unique_ptr<CpuExecutor>(new CpuExecutor(std::move(impl)));
}

int64_t CpuExecutor::hidden() const { return impl->program.hidden; }

const std::vector<CacheDesc> &CpuExecutor::caches() const {
  return impl->program.caches;
}

const std::map<std::string, KernelStats> &CpuExecutor::stats() const {
  return impl->stats;
}

std::string CpuExecutor::statsText() const {
  std::string text;
  for (const auto &[name, counts] : impl->stats) {
    if (counts.launches == 0)
      continue;
    text += "stats " + name + " launches " + std::to_string(counts.launches);
    if (counts.bytesLoaded)
      text += " bytes_loaded " + std::to_string(counts.bytesLoaded) +
              " bytes_visible " + std::to_string(counts.bytesVisible);
    if (counts.flopsUseful)
      text += " flops_useful " + std::to_string(counts.flopsUseful);
    text += "\n";
  }
  return text;
}

} // namespace attnc
