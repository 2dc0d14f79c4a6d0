/// Pages fresh from the kernel, on the nodes that they are meant for, or refused.
#pragma once

#include <homing/memory_options.hpp>
#include <homing/topology.hpp>

#include <cstddef>
#include <optional>
#include <vector>

#include "platform/address_space.hpp"
#include "platform/page_calls.hpp"

namespace homing::memory {

/// A node, and a domain whose threads are near it; none for a memory tier that no domain's memory comes from.
struct page_home {
  node_id node;
  std::optional<domain_index> domain;
};

/// What became of a request.
struct new_pages_result {
  platform::address_range range{};  ///< empty: refused
  bool is_unplaced = false;         ///< the pages are there, and nobody knows where they will be
  int error_number = 0;             ///< the first refusal
};

/// Where pages of one kind come from: all on one node, or dealt over several by turns.
///
/// Threads: any. Errors: values; std::bad_alloc while lists are made is an empty range, too.
class new_pages {
 public:
  /// No homes: one memory node, or nothing to choose: pages come as the kernel gives them.
  new_pages(platform::page_calls& calls, platform::address_space& space, topology::snapshot machine,
            std::vector<page_home> homes, const memory_options& options);

  /// As address_space::map(). With on_full::fail, every page is there and was seen on its node, or the range is empty.
  [[nodiscard]] new_pages_result take(std::size_t front, std::size_t bytes, std::size_t alignment) const noexcept;
  void give_back(platform::address_range range) const noexcept;
  /// Of the range that a request should fill, so that none of a huge page is wasted.
  [[nodiscard]] std::size_t grain_bytes() const noexcept;
  [[nodiscard]] bool is_dealt() const noexcept { return homes_.size() > 1; }

 private:
  struct placing {
    int error_number;  ///< 0, or why nobody knows where the pages will be
    bool is_touched;   ///< by threads of the homes
  };
  [[nodiscard]] placing place(platform::address_range range) const;
  [[nodiscard]] bool touch(platform::address_range range) const;
  int touch_from_homes(platform::address_range range) const;
  [[nodiscard]] bool all_are_home(platform::address_range range) const;
  // 0 or the errno.
  [[nodiscard]] int write_down(platform::address_range range) const;

  platform::page_calls& calls_;
  platform::address_space& space_;
  topology::snapshot machine_;
  std::vector<page_home> homes_;
  platform::node_set nodes_;  // of homes_
  memory_options options_;
};

}  // namespace homing::memory
