/// A folder of small files that stands in for / and goes away with the test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace homing::testing {

class file_tree {
 public:
  file_tree() {
    std::string name = (std::filesystem::temp_directory_path() / "homing-tree-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    root_ = name;
  }
  file_tree(const file_tree&) = delete;
  file_tree& operator=(const file_tree&) = delete;
  ~file_tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  /// Writes a file; `path` starts with a slash.
  void write(const std::string& path, const std::string& content) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  std::string root_;
};

}  // namespace homing::testing
