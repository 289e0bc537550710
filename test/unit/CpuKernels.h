//===- CpuKernels.h - compile kernel specs and call them --------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TEST_UNIT_CPUKERNELS_H
#define ATTNC_TEST_UNIT_CPUKERNELS_H

#include "codegen/CPU/Compile.h"
#include "formats/KernelAbi.h"

#include "mlir/IR/MLIRContext.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace attnc::test {

/// Kernels compiled for `target` and opened in this process.
class LoadedKernels {
public:
  LoadedKernels(mlir::MLIRContext &context, const std::vector<KernelSpec> &specs,
                const std::string &target = "cpu") {
    Result<cpu::CpuTarget> resolved = cpu::resolveCpuTarget(target);
    if (!resolved) {
      error = resolved.error();
      return;
    }
    CpuCompileOptions options;
    options.target = *resolved;
    std::vector<uint8_t> library;
    error = compileCpu(context, specs, options, descs, library);
    if (error.empty())
      open(library);
  }
  ~LoadedKernels() {
    if (handle)
      dlclose(handle);
  }
  LoadedKernels(const LoadedKernels &) = delete;
  LoadedKernels &operator=(const LoadedKernels &) = delete;

  KernelFn find(const std::string &name) const {
    return reinterpret_cast<KernelFn>(dlsym(handle, name.c_str()));
  }
  const KernelDesc &desc(const std::string &name) const {
    for (const KernelDesc &desc : descs)
      if (desc.name == name)
        return desc;
    std::abort();
  }

  std::string error; ///< empty if all went well
  std::vector<KernelDesc> descs;

private:
  void open(const std::vector<uint8_t> &library) {
    char path[] = "/tmp/attnc-kernels-XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || write(file, library.data(), library.size()) != ssize_t(library.size()))
      error = "cannot write a temporary library";
    close(file);
    if (error.empty() && !(handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
      error = dlerror();
    unlink(path);
  }

  void *handle = nullptr;
};

/// Collects the arguments of one call; keeps the integers it points to.
class Arguments {
public:
  Arguments &pointer(const void *p) {
    slots.push_back({p, 0, true});
    return *this;
  }
  Arguments &integer(int64_t v) {
    slots.push_back({nullptr, v, false});
    return *this;
  }
  Arguments &view(const void *p, int64_t tokenStride, int64_t headStride) {
    return pointer(p).integer(tokenStride).integer(headStride);
  }
  void call(KernelFn kernel) {
    std::vector<void *> args;
    for (Slot &slot : slots)
      args.push_back(slot.isPointer ? static_cast<void *>(&slot.pointer)
                                    : static_cast<void *>(&slot.integer));
    kernel(args.data());
  }

private:
  struct Slot {
    const void *pointer;
    int64_t integer;
    bool isPointer;
  };
  std::vector<Slot> slots;
};

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_CPUKERNELS_H
