/// A thread that waits awake looks twice.
#pragma once

#include <chrono>

#include "sync/atomic.hpp"

namespace homing::scheduler {

class search_pace {
 public:
  template <class IsOver>
  bool pause(std::chrono::nanoseconds /*budget*/, IsOver&& is_over) noexcept {
    return is_over() || rounds_++ == 0;
  }

 private:
  unsigned rounds_ = 0;
};

}  // namespace homing::scheduler
