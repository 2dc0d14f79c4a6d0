#include "sync/pause.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "platform/clock.hpp"
#include "sync/atomic.hpp"

namespace homing::sync {
namespace {

constexpr unsigned pauses_timed = 16;

/// Nanoseconds that these take; 0: not measured yet. relaxed: whoever finds it finds all of it.
constinit atomic<unsigned> timed_ns{0};

/// The shortest of some times, each by itself: the thread may lose its CPU in any of them.
unsigned measure() noexcept {
  constexpr auto long_time = std::numeric_limits<std::int64_t>::max();
  std::int64_t pauses = long_time;
  std::int64_t nothing = long_time;
  for (int trial = 0; trial < 3; ++trial) {
    const std::int64_t began = platform::monotonic_ns();
    for (unsigned i = 0; i < pauses_timed; ++i) {
      cpu_relax();
    }
    const std::int64_t ended = platform::monotonic_ns();
    const std::int64_t again = platform::monotonic_ns();
    pauses = std::min(pauses, ended - began);
    nothing = std::min(nothing, again - ended);
  }
  // From 1 to 1,000 ns each, whatever the clock says.
  return static_cast<unsigned>(
      std::clamp<std::int64_t>(pauses - nothing, pauses_timed, std::int64_t{1000} * pauses_timed));
}

}  // namespace

unsigned pauses_in(unsigned ns) noexcept {
  unsigned timed = timed_ns.load(relaxed);
  if (timed == 0) {
    timed = measure();
    timed_ns.store(timed, relaxed);
  }
  return std::max(1U, static_cast<unsigned>(std::uint64_t{ns} * pauses_timed / timed));
}

}  // namespace homing::sync
