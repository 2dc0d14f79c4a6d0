/// Where pages would be on a machine that does not exist: written down by enforce(), read by verify() and where().
#pragma once

#include <homing/ids.hpp>

#include <mutex>
#include <span>
#include <vector>

#include "memory/address_map.hpp"
#include "platform/fork.hpp"
#include "platform/mappings.hpp"

namespace homing::memory {

/// Threads: any. Errors: std::bad_alloc.
class home_book {
 public:
  static constexpr int not_written = -2;  ///< page_locations::unknown

  /// The pages from `first` on get these nodes (OS ids); negative ones keep what they have.
  void write(platform::address first, std::size_t page_bytes, std::span<const int> node);
  void forget(platform::address_range range);
  /// The node of each page, or not_written.
  [[nodiscard]] std::vector<int> read(platform::address_range range, std::size_t page_bytes) const;

 private:
  static const platform::fork_part over_fork_;  // of the process's book
  mutable std::mutex lock_;
  address_map<int> nodes_;
};

/// The process's.
[[nodiscard]] home_book& process_home_book();

}  // namespace homing::memory
