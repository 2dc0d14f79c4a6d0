/// Reading small files with plain system calls.
#include "platform/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace homing::platform {

std::optional<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return std::nullopt;
  std::string content;
  bool whole = false;
  for (;;) {
    char block[4096];
    const ssize_t got = ::read(file, block, sizeof(block));
    if (got < 0 && errno == EINTR) continue;
    whole = got == 0;
    if (got <= 0) break;
    if (content.size() + static_cast<std::size_t>(got) > bytes_max) break;
    content.append(block, static_cast<std::size_t>(got));
  }
  ::close(file);
  if (!whole) return std::nullopt;
  return content;
}

}  // namespace homing::platform
