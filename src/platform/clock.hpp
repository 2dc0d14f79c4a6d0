/// Time that only goes forward.
#pragma once

#include <chrono>
#include <cstdint>

namespace homing::platform {

/// Nanoseconds since some moment before the process began; some tens of nanoseconds to ask for. Threads: any.
[[nodiscard]] inline std::int64_t monotonic_ns() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace homing::platform
