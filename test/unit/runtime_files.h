//===- runtime_files.h - a temporary folder for tests -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNC_TEST_UNIT_RUNTIME_FILES_H
#define ATTNC_TEST_UNIT_RUNTIME_FILES_H

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace attnc::test {

/// A folder that is gone when the test ends.
class Folder {
public:
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "attnc.XXXXXX").string();
    root = ::mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }

  std::string path(const std::string &name) const { return root + "/" + name; }
  std::string write(const std::string &name, const std::string &content) const {
    std::filesystem::create_directories(
        std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::vector<std::string> list() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(root))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  const std::string &name() const { return root; }

private:
  std::string root;
};

} // namespace attnc::test

#endif // ATTNC_TEST_UNIT_RUNTIME_FILES_H
