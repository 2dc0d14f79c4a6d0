/// The guest's end of the channel to the runner: frames over the second serial port, what is long through a window.
///
/// Protocol:  docs/protocols/lab_channel.md.
/// Threads:   one.
/// Errors:    a channel that fails leaves nobody to tell: the guest is switched off.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace homing::lab {

struct frame {
  char kind = 0;
  std::string payload{};
};

/// Input in the window: where it stands until give_back().
struct window_input {
  const char* bytes = nullptr;
  std::size_t count = 0;
};

class channel {
 public:
  /// Opens the device and makes it carry bytes as they are; finds the window, if QEMU shows one.
  explicit channel(const char* device);

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Sends one frame, in several of the same kind if it is long. Blocks.
  void send(char kind, std::string_view payload);

  /// Reads what has come; returns the frames that are complete, oldest first. Call when poll() says readable.
  [[nodiscard]] std::vector<frame> receive();

  /// Frames came while send() waited for room in the window: receive() returns at once.
  [[nodiscard]] bool has_received() const { return !ready_.empty(); }

  /// Blocks until one frame has come.
  [[nodiscard]] frame next();

  /// What a frame 'I' stands for.
  [[nodiscard]] window_input input_of(const frame& announced) const;

  /// The program has the oldest buffer's input: the runner may use the buffer again.
  void give_back() { send('B', ""); }

 private:
  void send_through_window(char kind, std::string_view part);
  void read_some();

  int descriptor_;
  char* window_;
  std::size_t buffers_free_;
  std::size_t next_buffer_ = 0;
  std::string waiting_{};
  std::vector<frame> ready_{};
};

}  // namespace homing::lab
