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
  /// The waiter has returned, and its wait context is gone. An atomic that ends is no access to the checker; this is.
  void end() noexcept { there_ = false; }

 private:
  friend struct arena_access;
  sync::atomic<std::uint64_t> count_;
  sync::plain<bool> there_ = true;
};

struct arena_access {
  static bool is_waited_for(const wait_context& wait) noexcept {
    return wait.there_.get() && wait.count_.load(sync::acquire) > 0;
  }
};

}  // namespace homing::scheduler
