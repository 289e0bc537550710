//===- Artifact.cpp - writes an artifact folder whole or not at all ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/attnc/Artifact.h"

#include "formats/Sha256.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace attnc;
namespace fs = std::filesystem;

namespace {

std::string writeFile(const fs::path &path, std::string_view bytes) {
  std::error_code ec;
  fs::create_directories(path.parent_path(), ec);
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), std::streamsize(bytes.size()));
  out.close();
  if (out)
    return "";
  return path.string() + ": cannot be written; expected a writable folder with room";
}

} // namespace

Result<std::unique_ptr<ArtifactWriter>> ArtifactWriter::begin(const std::string &path) {
  std::error_code ec;
  fs::path target = fs::path(path).lexically_normal();
  if (target.filename().empty()) // a trailing slash
    target = target.parent_path();
  if (fs::exists(target, ec)) {
    if (!fs::is_directory(target, ec))
      return Error{path + ": found a file; expected a folder, or nothing, to write the artifact to"};
    if (!fs::is_empty(target, ec) && !fs::exists(target / "manifest.json", ec))
      return Error{path + ": found a folder that is no artifact; expected an empty or a new one"};
  }
  fs::path staging = target;
  staging += ".partial-" + std::to_string(getpid());
  fs::create_directories(staging, ec);
  if (ec)
    return Error{path + ": cannot be created (" + ec.message() + "); expected a writable place"};
  return std::unique_ptr<ArtifactWriter>(new ArtifactWriter(target.string(), staging.string()));
}

ArtifactWriter::~ArtifactWriter() {
  std::error_code ec;
  if (!staging.empty())
    fs::remove_all(staging, ec);
}

std::string ArtifactWriter::add(ManifestFile file, std::string_view bytes) {
  file.sha256 = sha256(bytes);
  std::string error = writeFile(fs::path(staging) / file.path, bytes);
  if (error.empty())
    files.push_back(std::move(file));
  return error;
}

std::string ArtifactWriter::finish(Manifest manifest) {
  std::sort(files.begin(), files.end(),
            [](const ManifestFile &a, const ManifestFile &b) { return a.path < b.path; });
  manifest.files = files;
  std::string error = writeFile(fs::path(staging) / "manifest.json", toJson(manifest));
  if (!error.empty())
    return error;
  std::error_code ec;
  fs::remove_all(path, ec);
  if (!ec)
    fs::rename(staging, path, ec);
  if (ec)
    return path + ": cannot be put in place (" + ec.message() + "); expected a writable folder";
  staging.clear();
  return "";
}

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::create() {
  std::error_code ec;
  fs::path base = fs::temp_directory_path(ec);
  if (ec)
    base = "/tmp";
  std::string name = (base / "attnc-XXXXXX").string();
  if (!mkdtemp(name.data()))
    return Error{base.string() + ": no temporary folder can be made; expected a writable TMPDIR"};
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(name));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ec;
  fs::remove_all(folder, ec);
}
