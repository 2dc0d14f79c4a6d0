#include "run/private_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace homing::cli {

private_file::private_file(const std::string& parent, const std::string& name) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(parent, error);  // the program may change its folder
  if (error) place = parent;
  std::string folder = (place / ("homing-" + name + "-XXXXXX")).string();
  if (::mkdtemp(folder.data()) == nullptr) {
    problem_ = folder + ": " + std::strerror(errno);
    return;
  }
  folder_ = folder;
  file_ = folder_ + '/' + name;
  const int file = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    problem_ = file_ + ": " + std::strerror(errno);
    return;
  }
  ::close(file);
}

private_file::~private_file() {
  if (!file_.empty()) ::unlink(file_.c_str());
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

}  // namespace homing::cli
