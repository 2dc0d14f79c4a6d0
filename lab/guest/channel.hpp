/// The guest's end of the channel to the runner: frames over the second serial port.
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

class channel {
 public:
  /// Opens the device and makes it carry bytes as they are.
  explicit channel(const char* device);

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Sends one frame, in several of the same kind if it is long. Blocks.
  void send(char kind, std::string_view payload);

  /// Reads what has come; returns the frames that are complete, oldest first. Call when poll() says readable.
  [[nodiscard]] std::vector<frame> receive();

  /// Blocks until one frame has come.
  [[nodiscard]] frame next();

 private:
  int descriptor_;
  std::string waiting_{};
  std::vector<frame> ready_{};
};

}  // namespace homing::lab
