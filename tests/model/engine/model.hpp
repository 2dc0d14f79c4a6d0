/// What a model is written with: its threads, what must hold, and the outcomes that it may have.
///
///   const scenario both("lock.two_threads", {}, [] {
///     static sync::plain<int> count = 0;
///     ...
///     threads({[&] { ... }, [&] { ... }});
///     require(count == 2, "both were counted");
///   });
///
/// Threads: a body runs in each execution anew; its objects are local, or static and left as they were found.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "engine/atomic.hpp"

namespace homing::model {

using outcome = std::vector<std::int64_t>;

struct settings {
  unsigned preemptions = ~0U;         ///< unbounded
  unsigned sample_preemptions = ~0U;  ///< of the sample in `make test`
  unsigned stale = ~0U;               ///< loads that see another store than the newest; unbounded
  unsigned sample_stale = ~0U;        ///< of the sample
  unsigned spurious = 1;
  unsigned steps = 2'000;
  bool in_sample = true;
  bool relies_on_x86 = false;  ///< a read-modify-write is taken for a fence: full_fence_after_exchange() is none
  std::set<outcome> outcomes;  ///< exactly these, unless empty
  std::string fault;           ///< the model is wrong on purpose, and this is part of what must be said of it
};

/// Registers itself; the program runs all that are linked into it.
class scenario {
 public:
  scenario(const char* name, settings how, void (*body)());

  const char* const name;
  const settings how;
  void (*const body)();
};

[[nodiscard]] const std::vector<const scenario*>& scenarios();

/// Runs all of them side by side, and waits for their ends.
inline void threads(std::initializer_list<std::function<void()>> bodies) {
  for (const auto& body : bodies) {
    running->spawn(body);
  }
  running->join_all();
}

/// Runs all of them until each has ended or sleeps for good: whoever does is left asleep.
inline void threads_until_settled(std::initializer_list<std::function<void()>> bodies) {
  for (const auto& body : bodies) {
    running->spawn(body);
  }
  running->settle();
}

/// From now on the clock shows this; it begins with 0.
inline void set_time(std::int64_t now_ns) { running->set_time(now_ns); }

inline void require(bool holds, const char* what, std::source_location at = std::source_location::current()) {
  if (!holds) {
    running->fail("does not hold: " + std::string(what) + " (" + place(at) + ")");
  }
}

/// What this execution came to, for `settings::outcomes`.
inline void result(std::initializer_list<std::int64_t> values) { running->set_outcome(values); }

}  // namespace homing::model
