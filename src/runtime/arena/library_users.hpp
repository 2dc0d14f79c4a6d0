/// Who uses the library, and who ends its workers when nobody does: the ender.
///
/// Threads:   any.
/// Protocols: docs/protocols/arena.md [A28].
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace homing::scheduler {

class library_users {
 public:
  /// relaxed: an ender that doesn't see it ends workers that idle, and others can be made. [A28]
  void add() noexcept { count_.fetch_add(one | arrival, sync::relaxed); }
  /// True if nobody is left: then somebody must be the ender.
  [[nodiscard]] bool drop() noexcept {
    // seq_cst: before the look at the ender's mark; partner: the end of that mark, then the look at the users.
    return (count_.fetch_sub(one, sync::seq_cst) & users) == one;
  }
  /// Unchanged as long as nobody comes or leaves.
  [[nodiscard]] std::uint64_t seen() const noexcept { return count_.load(sync::seq_cst); }
  [[nodiscard]] bool none() const noexcept { return (seen() & users) == 0; }

  /// True if there was no ender: the caller is it from now on, or makes one.
  [[nodiscard]] bool claim_end() noexcept { return !has_ender_.exchange(true, sync::seq_cst); }
  /// By the ender, or by who could make none. True if nobody is there again: then somebody must be it.
  [[nodiscard]] bool drop_end() noexcept {
    has_ender_.store(false, sync::seq_cst);
    return none();
  }

 private:
  static constexpr std::uint64_t one = 1;
  static constexpr std::uint64_t arrival = std::uint64_t{1} << 32U;  // the upper half counts all that ever came
  static constexpr std::uint64_t users = arrival - 1;
  sync::atomic<std::uint64_t> count_{0};
  sync::atomic<bool> has_ender_{false};
};

}  // namespace homing::scheduler
