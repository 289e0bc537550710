//===- Artifact.h - writes an artifact folder whole or not at all -----------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TOOLS_ATTNC_ARTIFACT_H
#define ATTNC_TOOLS_ATTNC_ARTIFACT_H

#include "formats/Manifest.h"
#include "formats/Result.h"

#include <memory>
#include <string>
#include <string_view>

namespace attnc {

/// Collects the files of an artifact in a folder beside the wanted one, which
/// finish() puts in its place. Dropped before finish(), it leaves nothing.
class ArtifactWriter {
public:
  /// `path` must not exist, or be an empty folder or an earlier artifact (it has
  /// a manifest.json): anything else is not ours to replace.
  static Result<std::unique_ptr<ArtifactWriter>> begin(const std::string &path);
  ~ArtifactWriter();
  ArtifactWriter(const ArtifactWriter &) = delete;
  ArtifactWriter &operator=(const ArtifactWriter &) = delete;

  /// Adds a file that the manifest lists. `file.sha256` is filled in here.
  std::string add(ManifestFile file, std::string_view bytes);

  /// Writes the manifest with the files added so far and moves the folder into
  /// place.
  std::string finish(Manifest manifest);

private:
  ArtifactWriter(std::string path, std::string staging)
      : path(std::move(path)), staging(std::move(staging)) {}

  std::string path, staging;
  std::vector<ManifestFile> files;
};

/// A folder that is removed, with what it holds, when the object goes.
class TemporaryFolder {
public:
  static Result<std::unique_ptr<TemporaryFolder>> create();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string &path() const { return folder; }

private:
  explicit TemporaryFolder(std::string folder) : folder(std::move(folder)) {}
  std::string folder;
};

} // namespace attnc

#endif // ATTNC_TOOLS_ATTNC_ARTIFACT_H
