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

/// The shortest of some times: the thread may lose its CPU in one.
unsigned measure() noexcept {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (int trial = 0; trial < 3; ++trial) {
    const std::int64_t began = platform::monotonic_ns();
    for (unsigned i = 0; i < pauses_timed; ++i) {
      cpu_relax();
    }
    const std::int64_t ended = platform::monotonic_ns();
    const std::int64_t clock_read = platform::monotonic_ns() - ended;
    shortest = std::min(shortest, ended - began - clock_read);
  }
  // From 1 to 1,000 ns each, whatever the clock says.
  return static_cast<unsigned>(std::clamp<std::int64_t>(shortest, pauses_timed, std::int64_t{1000} * pauses_timed));
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
