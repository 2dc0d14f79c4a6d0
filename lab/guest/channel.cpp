#include "channel.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "machine.hpp"

namespace homing::lab {
namespace {

constexpr std::size_t header_bytes = 5;              // kind, length as 32 bits, least first
constexpr std::size_t payload_bytes_max = 32 << 10;  // [LC1]
constexpr std::size_t buffer_bytes = 256 << 10;      // [LC6]
constexpr std::size_t buffers = 32;                  // ours; as many follow for input
constexpr std::size_t window_bytes = 2 * buffers * buffer_bytes;
constexpr std::size_t window_payload_bytes_min = 512;

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

void append_number(std::string& bytes, std::size_t value) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xff);
}

// [LC6] nullptr without one: then all goes over the port
char* find_window() {
  const std::string file = shared_memory_file(window_bytes);
  const int memory = file.empty() ? -1 : ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (memory < 0) return nullptr;
  void* const window = ::mmap(nullptr, window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  ::close(memory);
  return window == MAP_FAILED ? nullptr : static_cast<char*>(window);
}

std::size_t number_at(const std::string& bytes, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

}  // namespace

channel::channel(const char* device)
    : descriptor_(::open(device, O_RDWR | O_NOCTTY | O_CLOEXEC)), window_(find_window()), buffers_free_(buffers) {
  termios settings{};
  if (descriptor_ < 0 || ::tcgetattr(descriptor_, &settings) != 0) switch_off();
  ::cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL;
  ::cfsetspeed(&settings, B115200);
  if (::tcsetattr(descriptor_, TCSANOW, &settings) != 0) switch_off();
}

void channel::send(char kind, std::string_view payload) {
  do {  // [LC1]
    const bool long_one = window_ != nullptr && payload.size() >= window_payload_bytes_min;
    const std::string_view part = payload.substr(0, long_one ? buffer_bytes : payload_bytes_max);
    if (long_one) {
      send_through_window(kind, part);
    } else {
      std::string bytes(1, kind);
      append_number(bytes, part.size());
      bytes += part;
      write_all(descriptor_, bytes.data(), bytes.size());
    }
    payload.remove_prefix(part.size());
  } while (!payload.empty());
}

// [LC6] Buffers are used in turn, and the runner gives them back in turn.
void channel::send_through_window(char kind, std::string_view part) {
  while (buffers_free_ == 0) read_some();
  std::memcpy(window_ + next_buffer_ * buffer_bytes, part.data(), part.size());
  std::string bytes(1, 'W');
  append_number(bytes, 9);
  bytes += kind;
  append_number(bytes, next_buffer_);
  append_number(bytes, part.size());
  write_all(descriptor_, bytes.data(), bytes.size());
  next_buffer_ = (next_buffer_ + 1) % buffers;
  buffers_free_ -= 1;
}

// Reads what has come into `ready_`; blocks if nothing has.
void channel::read_some() {
  char bytes[4096];
  const ssize_t count = ::read(descriptor_, bytes, sizeof bytes);
  if (count < 0 && errno != EINTR && errno != EAGAIN) switch_off();
  if (count > 0) waiting_.append(bytes, static_cast<std::size_t>(count));
  std::size_t at = 0;
  while (waiting_.size() - at >= header_bytes) {
    const std::size_t length = number_at(waiting_, at + 1);
    if (waiting_.size() - at - header_bytes < length) break;
    if (waiting_[at] == 'b') {
      buffers_free_ += 1;
    } else {
      ready_.push_back({waiting_[at], waiting_.substr(at + header_bytes, length)});
    }
    at += header_bytes + length;
  }
  waiting_.erase(0, at);
}

std::vector<frame> channel::receive() {
  if (ready_.empty()) read_some();
  return std::exchange(ready_, {});
}

// [LC7] nothing of a frame that says what can't be
window_input channel::input_of(const frame& announced) const {
  if (window_ == nullptr || announced.payload.size() != 8) return {};
  const std::size_t buffer = number_at(announced.payload, 0);
  const std::size_t count = number_at(announced.payload, 4);
  if (buffer >= buffers || count > buffer_bytes) return {};
  return {window_ + (buffers + buffer) * buffer_bytes, count};
}

frame channel::next() {
  while (ready_.empty()) read_some();
  frame first = std::move(ready_.front());
  ready_.erase(ready_.begin());
  return first;
}

}  // namespace homing::lab
