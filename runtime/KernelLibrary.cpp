//===- KernelLibrary.cpp - the shared object of an artifact -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "formats/Sha256.h"
#include "runtime/Executor.h"

#include <cctype>
#include <dlfcn.h>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

namespace attnc {

namespace {
class KernelLibrary : public KernelResolver {
public:
  explicit KernelLibrary(void *handle) : handle(handle) {}
  ~KernelLibrary() override { ::dlclose(handle); }
  KernelFn find(const std::string &name) override {
    return reinterpret_cast<KernelFn>(::dlsym(handle, name.c_str()));
  }

private:
  void *handle;
};
} // namespace

/// LLVM and the kernel spell features alike but for dots, dashes and
/// underscores ("sse4.2", "sse4_2").
static std::string plain(const std::string &feature) {
  std::string text;
  for (char c : feature)
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += c;
  return text;
}

static std::set<std::string> hostFeatures() {
  std::set<std::string> features;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 5, "flags") != 0 && line.compare(0, 8, "Features") != 0)
      continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;)
      features.insert(plain(word));
    break;
  }
  return features;
}

/// The first feature that the file needs and this machine lacks. Only vector
/// extensions are looked at: they are what kernels are built with, and they are
/// spelled the same everywhere.
static std::string missingFeature(const ManifestFile &file) {
  static const std::set<std::string> host = hostFeatures();
  if (host.empty())
    return "";
  for (const std::string &feature : file.features) {
    std::string name = plain(feature);
    bool vector = name.compare(0, 3, "avx") == 0 || name == "fma" ||
                  name == "f16c" || name.compare(0, 3, "amx") == 0;
    if (vector && !host.count(name))
      return feature;
  }
  return "";
}

/// The file for `target`, or the first that can run here.
static Result<const ManifestFile *> choose(const Manifest &manifest,
                                           const std::string &path,
                                           const std::string &target) {
  std::string lacking, found;
  for (const ManifestFile &file : manifest.files) {
    found += (found.empty() ? "'" : ", '") + file.target + "'";
    if (file.kind != "cpu" || (!target.empty() && file.target != target))
      continue;
    std::string feature = missingFeature(file);
    if (feature.empty())
      return &file;
    lacking = path + ": the kernels for '" + file.target + "' need '" +
              feature + "', which this machine lacks; expected kernels for it";
  }
  if (!lacking.empty())
    return Error{lacking};
  return Error{path + ": found files for " + (found.empty() ? "no target" : found) +
               "; expected one for '" + (target.empty() ? "cpu" : target) + "'"};
}

Result<std::unique_ptr<KernelResolver>>
openKernelLibrary(const std::string &folder, const Manifest &manifest,
                  const std::string &target) {
  std::string listed = folder + "/manifest.json";
  Result<const ManifestFile *> file = choose(manifest, listed, target);
  if (!file)
    return Error{file.error()};
  std::string path = folder + "/" + (*file)->path;
  Result<std::string> digest = sha256File(path);
  if (!digest)
    return Error{digest.error()};
  if (*digest != (*file)->sha256)
    return Error{path + ": found the SHA-256 " + *digest + "; expected " +
                 (*file)->sha256 + " from manifest.json"};
  // A name without a slash would be searched for elsewhere.
  if (path.find('/') == path.npos)
    path = "./" + path;
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = ::dlerror();
    return Error{path + ": cannot be loaded: " + (reason ? reason : "unknown") +
                 "; expected a shared object of kernels"};
  }
  return std::unique_ptr<KernelResolver>(new KernelLibrary(handle));
}

} // namespace attnc
