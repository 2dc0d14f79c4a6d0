/// Which node each page of a range is on, from the best source that the kernel grants.
#pragma once

#include <homing/placement.hpp>

#include <optional>
#include <span>
#include <vector>

#include "platform/page_calls.hpp"

namespace homing::memory {

struct page_locations {
  static constexpr int untouched = -1;  ///< not there yet, the shared zero page, or swapped out
  static constexpr int unknown = -2;
  static constexpr int hole = -3;  ///< no mapping

  std::vector<int> node;  ///< of each page: a node's OS id, or one of the above
  page_source source = page_source::kernel;
  /// Of some mappings only the numbers of pages on each node are known; their pages got them in any order, and are true
  /// here. Empty if there are none.
  std::vector<bool> in_any_order{};
};

/// Asks move_pages' query, in batches; where that is refused, numa_maps. numa_maps counts whole mappings, so one that
/// is on several nodes is counted by stretches of pages with the same `owner` (one for each page), of which each is
/// made a mapping of its own for a moment; of patterns too fine for that, pages are unknown. The listing is read three
/// times at most for each 4096 stretches. Where the kernel balances pages, it is asked as well, for those that the
/// query hides. Pages of shared memory that are in memory and not mapped here are unknown, not untouched. Touches
/// nothing. `range` is whole pages; `mappings` are those that overlap it. If these could not be read, no page is a
/// hole, and only the query tells. Threads: any; one at a time reads the listing.
[[nodiscard]] page_locations locate(platform::page_calls& calls, platform::address_range range,
                                    const platform::mapping_list& mappings, std::span<const int> owner);

/// Whether every page of a range is there, and on one of `nodes`; nothing if the kernel does not tell. The range is a
/// fresh mapping of the caller's: private, anonymous, base pages or transparent huge ones, and nobody else uses it.
/// Where move_pages' query is refused, it is made a mapping of its own for a moment, so that its line of numa_maps is
/// all that is wanted: what it costs does not grow with the memory that the process had before, unless that lies below.
[[nodiscard]] std::optional<bool> all_on(platform::page_calls& calls, platform::address_range range,
                                         const platform::node_set& nodes);

/// Sums up the pages that `is_mine` accepts (by place).
template <class Predicate>
[[nodiscard]] page_census count_pages(const page_locations& locations, Predicate&& is_mine) {
  page_census census;
  census.source = locations.source;
  std::vector<std::size_t> on;
  for (std::size_t p = 0; p < locations.node.size(); ++p) {
    if (!is_mine(p)) continue;
    ++census.pages;
    const int node = locations.node[p];
    if (node >= 0) {
      if (static_cast<std::size_t>(node) >= on.size()) on.resize(static_cast<std::size_t>(node) + 1, 0);
      ++on[static_cast<std::size_t>(node)];
    } else if (node == page_locations::untouched) {
      ++census.untouched;
    } else {
      ++census.unknown;
    }
  }
  for (std::size_t n = 0; n < on.size(); ++n) {
    if (on[n] > 0) census.nodes.push_back({static_cast<node_id>(static_cast<int>(n)), on[n]});
  }
  return census;
}

}  // namespace homing::memory
