//===- Manifest.h - manifest.json of an artifact folder ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a compiled model is: where it came from, the plan options it was made
// with, its files with checksums, and the program. Writing is deterministic.
// Reading checks every index and size against what it refers to, so whoever
// gets a Manifest from here may trust its program.
//
//===----------------------------------------------------------------------===//
#ifndef ATTNC_FORMATS_MANIFEST_H
#define ATTNC_FORMATS_MANIFEST_H

#include "formats/Program.h"
#include "formats/Result.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// One file of the artifact. `path` is relative to the folder and stays in it.
struct ManifestFile {
  std::string path;
  std::string kind;   ///< "cpu" (shared object), "ptx", "cubin", "ir"
  std::string target; ///< "cpu:sapphirerapids", "sm_90a", ...
  std::string sha256; ///< 64 hexadecimal digits
  /// CPU features that the code needs, by their LLVM names ("avx512f").
  std::vector<std::string> features;
};

struct Manifest {
  /// Version of the format; a reader refuses any other.
  static constexpr int64_t currentVersion = 1;

  std::string name;         ///< of the model
  std::string modelType;
  std::string sourceDigest; ///< SHA-256 of the input that was compiled
  /// Plan options by their command-line names without dashes ("storage",
  /// "absorb", "page-size", ...), as strings; defaults written out.
  std::map<std::string, std::string> plan;
  std::vector<ManifestFile> files;
  Program program;
};

/// The text of manifest.json: the same manifest gives the same bytes.
std::string toJson(const Manifest &manifest);

/// Reads such a text; `file` is its name in messages.
Result<Manifest> parseManifest(std::string_view text, const std::string &file);

/// Reads FOLDER/manifest.json.
Result<Manifest> loadManifest(const std::string &folder);

/// Complains (non-empty) when an index, size or shape of `program` is not in
/// range. `file` names the origin. parseManifest does this; codegen's tests may.
std::string checkProgram(const Program &program, const std::string &file);

} // namespace attnc

#endif // ATTNC_FORMATS_MANIFEST_H
