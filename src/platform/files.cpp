/// Reading small files with plain system calls.
#include "platform/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <istream>

namespace homing::platform {
namespace {

/// Calls take(bytes of a block) until the file ends; false if it can't be read, or if take() returns false.
template <class Room, class Take>
bool read_blocks(const char* path, Room&& room, Take&& take) {
  struct open_file {
    int number;
    ~open_file() {
      if (number >= 0) ::close(number);
    }
  } const file{::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};  // a FIFO that nobody writes is empty
  if (file.number < 0) return false;
  for (bool waits = false;;) {
    const std::span<char> block = room();
    const ssize_t got = ::read(file.number, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN && !waits) {  // somebody writes it, and may be slow
      waits = true;
      if (::fcntl(file.number, F_SETFL, O_RDONLY) == 0) continue;
    }
    if (got <= 0) return got == 0;
    if (!take(static_cast<std::size_t>(got))) return false;
  }
}

}  // namespace

std::optional<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  std::string content;
  char block[4096];
  const bool whole = read_blocks(
      path.c_str(), [&block] { return std::span<char>(block); },
      [&](std::size_t got) {
        if (content.size() + got > bytes_max) return false;
        content.append(block, got);
        return true;
      });
  if (!whole) return std::nullopt;
  return content;
}

std::optional<std::string_view> read_file(const char* path, std::span<char> room) noexcept {
  std::size_t length = 0;
  const bool whole = read_blocks(
      path, [&] { return room.subspan(length); }, [&](std::size_t got) { return (length += got) < room.size(); });
  if (!whole) return std::nullopt;
  return std::string_view(room.data(), length);
}

bool read_line(std::istream& file, std::string& line) {
  file.exceptions(std::ios_base::badbit);  // with it, what was thrown inside leaves
  try {
    return static_cast<bool>(std::getline(file, line));
  } catch (const std::ios_base::failure&) {
    return false;  // the rest can't be read
  }
}

}  // namespace homing::platform
