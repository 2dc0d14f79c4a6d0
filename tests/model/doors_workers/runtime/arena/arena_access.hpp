/// A wait context in small, in place of oneTBB's, whose size must be that of std::atomic's.
#pragma once

#include <cstdint>

#include "runtime/arena/arena.hpp"
#include "sync/atomic.hpp"

namespace homing::scheduler {

void notify_waiters(std::uintptr_t address) noexcept;

class wait_context {
 public:
  explicit wait_context(std::uint64_t count) noexcept : count_(count) {}
  /// As in oneTBB's header.
  void release() noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    if (count_.fetch_sub(1, sync::seq_cst) == 1) {
      notify_waiters(address);
    }
  }

 private:
  friend struct arena_access;
  sync::atomic<std::uint64_t> count_;
};

struct arena_access {
  static bool is_waited_for(const wait_context& wait) noexcept { return wait.count_.load(sync::seq_cst) > 0; }
};

}  // namespace homing::scheduler
