/// A worker that is held at its very end, and with it whoever joins it.
#pragma once

#include <atomic>

#include "unit/common/await.hpp"

namespace homing::testing {

class slow_end {
 public:
  slow_end() = default;
  slow_end(const slow_end&) = delete;
  slow_end& operator=(const slow_end&) = delete;
  ~slow_end() {
    if (held.load()) {
      ends.store(true);
      await("the release of a thread's end", [] { return !held.load(); });
    }
  }
  /// The calling thread's end, while `held`, is one.
  static void at_end_of_this_thread() {
    static thread_local const slow_end end;
    end.touch();
  }

  static inline std::atomic<bool> held{false};
  static inline std::atomic<bool> ends{false};

 private:
  void touch() const noexcept {}
};

}  // namespace homing::testing
