/// Who set a page's policy last: its owner alone takes it back.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "memory/address_map.hpp"
#include "platform/fork.hpp"
#include "platform/mappings.hpp"

namespace homing::memory {

/// A range of pages has one owner, the last to take it. Each call of enforce() and its like is an owner, of a number of
/// its own, until its placed_range ends or takes another's place; so what is kept here is of placed_ranges that live.
///
/// Threads: any.
class policy_owners {
 public:
  using owner = std::uint64_t;

  /// A new owner, to whom these ranges belong from now on. Errors: std::bad_alloc; then nothing belongs to it.
  [[nodiscard]] owner take(std::span<const platform::address_range> ranges);
  /// What still belongs to an owner inside a range, one stretch at a time; it belongs to nobody then.
  [[nodiscard]] std::optional<platform::address_range> give_up(platform::address_range inside, owner whose) noexcept;

 private:
  static const platform::fork_part over_fork_;  // of the process's
  std::mutex lock_;
  owner owners_ = 0;  // so many there have been
  address_map<owner> ranges_;
};

/// The process's.
[[nodiscard]] policy_owners& process_policy_owners();

}  // namespace homing::memory
