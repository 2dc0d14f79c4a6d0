/// Waiting for what other threads bring about: a wait that would never end becomes a failure that says what was
/// missing.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace homing::testing {

/// Far beyond any wait on the slowest machine; below ctest's limit, so that the message is seen.
inline constexpr std::chrono::seconds hang_limit{40};

/// Gives the CPU away until `done()` holds; false if it does not come true for so long that it never will. The clock
/// decides nothing else.
template <typename Done>
[[nodiscard]] bool comes_true(Done&& done) {
  const auto begun = std::chrono::steady_clock::now();
  for (unsigned round = 1; !done(); ++round) {
    std::this_thread::yield();
    if (round % 1024 == 0 && std::chrono::steady_clock::now() - begun > hang_limit) {
      return false;
    }
  }
  return true;
}

/// Waits until `done()` holds, or ends the process with `missing`, since threads that hang cannot be cleaned up.
template <typename Done>
void await(const char* missing, Done&& done) {
  if (!comes_true(done)) {
    std::fprintf(stderr, "hangs: %s\n", missing);
    std::abort();
  }
}

/// As await(), but never gives the CPU away at first: for races of some nanoseconds.
template <typename Done>
void await_spinning(const char* missing, Done&& done) {
  for (unsigned round = 0; round < 2000; ++round) {
    if (done()) {
      return;
    }
  }
  await(missing, done);
}

}  // namespace homing::testing
