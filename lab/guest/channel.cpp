#include "channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "machine.hpp"

namespace homing::lab {
namespace {

constexpr std::size_t header_bytes = 5;              // kind, length as 32 bits, least first
constexpr std::size_t payload_bytes_max = 32 << 10;  // [L1]

void write_all(int descriptor, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t done = ::write(descriptor, bytes, count);
    if (done < 0 && errno != EINTR) switch_off();
    if (done > 0) {
      bytes += done;
      count -= static_cast<std::size_t>(done);
    }
  }
}

}  // namespace

channel::channel(const char* device) : descriptor_(::open(device, O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  termios settings{};
  if (descriptor_ < 0 || ::tcgetattr(descriptor_, &settings) != 0) switch_off();
  ::cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL;
  ::cfsetspeed(&settings, B115200);
  if (::tcsetattr(descriptor_, TCSANOW, &settings) != 0) switch_off();
}

void channel::send(char kind, std::string_view payload) {
  do {  // [L1]
    const std::string_view part = payload.substr(0, payload_bytes_max);
    std::string bytes(1, kind);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(part.size() >> shift & 0xff);
    bytes += part;
    write_all(descriptor_, bytes.data(), bytes.size());
    payload.remove_prefix(part.size());
  } while (!payload.empty());
}

std::vector<frame> channel::receive() {
  char bytes[4096];
  const ssize_t count = ::read(descriptor_, bytes, sizeof bytes);
  if (count < 0 && errno != EINTR && errno != EAGAIN) switch_off();
  if (count > 0) waiting_.append(bytes, static_cast<std::size_t>(count));
  std::vector<frame> result = std::move(ready_);
  ready_.clear();
  std::size_t at = 0;
  while (waiting_.size() - at >= header_bytes) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length |= static_cast<std::size_t>(static_cast<unsigned char>(waiting_[at + 1 + i])) << (8 * i);
    }
    if (waiting_.size() - at - header_bytes < length) break;
    result.push_back({waiting_[at], waiting_.substr(at + header_bytes, length)});
    at += header_bytes + length;
  }
  waiting_.erase(0, at);
  return result;
}

frame channel::next() {
  while (ready_.empty()) ready_ = receive();
  frame first = std::move(ready_.front());
  ready_.erase(ready_.begin());
  return first;
}

}  // namespace homing::lab
