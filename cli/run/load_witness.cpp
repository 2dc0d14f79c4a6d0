/// The file by which our library tells `homing run` that it was loaded.
#include "run/load_witness.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace homing::cli {

load_witness::load_witness() {
  ::unsetenv("HOMINGRUN");  // of a `homing run` around this one
  std::error_code error;
  std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  if (error) temporary = "/tmp";
  std::string folder = (temporary / "homing-run-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    problem_ = folder + ": " + std::strerror(errno);
    return;
  }
  folder_ = std::filesystem::absolute(folder, error).string();
  file_ = folder_ + "/loaded";
  const int file = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    problem_ = file_ + ": " + std::strerror(errno);
    return;
  }
  ::close(file);
  ::setenv("HOMINGRUN", file_.c_str(), 1);
}

load_witness::~load_witness() {
  if (!file_.empty()) ::unlink(file_.c_str());
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

bool load_witness::has_seen() const {
  struct stat info {};
  return ::stat(file_.c_str(), &info) == 0 && info.st_size > 0;
}

}  // namespace homing::cli
