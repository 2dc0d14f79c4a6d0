/// Which home each page of a range should have: a distribution's runs laid over the pages really in use.
#pragma once

#include <homing/placement.hpp>

#include <cstddef>
#include <vector>

#include "platform/page_calls.hpp"

namespace homing::memory {

/// Plain data; page i begins at first + i * page_bytes. Every page that the range has a part of is in it.
struct page_plan {
  static constexpr int no_home = -1;  ///< the distribution names none
  static constexpr int edge = -2;     ///< in a unit that is partly outside the range

  platform::address first = 0;
  std::size_t page_bytes = 0;
  std::vector<int> home;          ///< a domain's number, or one of the above
  std::vector<bool> begins_unit;  ///< pages between two beginnings are one huge page: they move together
  std::size_t mixed = 0;          ///< pages in units of several homes
  std::size_t grain_bytes = 0;    ///< the largest unit

  [[nodiscard]] std::size_t size() const noexcept { return home.size(); }
  [[nodiscard]] platform::address address_of(std::size_t page) const noexcept { return first + page * page_bytes; }
  [[nodiscard]] platform::address_range range() const noexcept { return {first, address_of(size())}; }
};

/// The pages that cover a range. An empty range has none; a null one that is not empty, and one that wraps, are the
/// programmer's errors.
[[nodiscard]] platform::address_range pages_of(const memory_range& range, std::size_t page_bytes, const char* function);

/// The units larger than a page that overlap `pages`, ascending: hugetlbfs, and transparent huge pages. Where the
/// kernel does not tell which, every aligned stretch without a missing page, of a mapping that has some, counts as one.
[[nodiscard]] std::vector<platform::address_range> huge_units(platform::page_calls& calls,
                                                              platform::address_range pages,
                                                              const std::vector<platform::mapping>& mappings);

/// Lays the runs over the pages. A unit of several homes goes to the one with most of its bytes, the first of equals.
[[nodiscard]] page_plan make_plan(const detail::run_source& runs, const memory_range& range, std::size_t element_bytes,
                                  platform::address_range pages, std::size_t page_bytes,
                                  const std::vector<platform::address_range>& units);

}  // namespace homing::memory
