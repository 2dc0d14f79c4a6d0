/// A file for a program to write to and for us to read: in a folder that only this user can enter, and gone with its
/// object, so that a process that comes later can't make it again.
#pragma once

#include <string>

namespace homing::cli {

class private_file {
 public:
  /// An empty file `name` in a folder of its own below `parent`. Errors: problem(), and then there is neither.
  private_file(const std::string& parent, const std::string& name);
  ~private_file();
  private_file(const private_file&) = delete;
  private_file& operator=(const private_file&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return file_; }
  /// Why there is no file, with its path; empty: there is one.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  std::string folder_;
  std::string file_;
  std::string problem_;
};

}  // namespace homing::cli
