/// The kernel's listings of this process's mappings, /proc/self/smaps and numa_maps, as data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/ids.hpp"

namespace homing::platform {

using address = std::uintptr_t;

/// From `first` up to and without `last`, in bytes.
struct address_range {
  address first = 0;
  address last = 0;
  [[nodiscard]] std::size_t bytes() const noexcept { return last - first; }
  friend bool operator==(const address_range&, const address_range&) = default;
};

/// One mapping, as smaps tells it.
struct mapping {
  address_range range;
  bool readable = false;
  bool writable = false;
  bool shared = false;            ///< MAP_SHARED
  std::string name{};             ///< file, or [heap] and the like; empty: anonymous
  std::size_t page_bytes = 4096;  ///< of the kernel: more than the base page in hugetlbfs
  std::size_t huge_bytes = 0;     ///< in transparent huge pages
  std::size_t locked_bytes = 0;   ///< mlock
  bool on_tmpfs = false;          ///< of a shared mapping's file: it lies on tmpfs, which is memory (not in smaps)
  bool may_mark = false;          ///< ordinary memory that core dumps include: see page_calls::mark()

  /// Backed by a file's page cache: not anonymous, and no shared memory (memfd, /dev/shm, System V, /dev/zero).
  [[nodiscard]] bool is_file() const noexcept;
  /// Pages of the page cache come where the thread that first touches them is, or as its own policy says: mbind's is
  /// kept for such a mapping, and ignored. (mbind(2). Written copies of a private mapping's pages obey.)
  /// `base_page_bytes`: of the machine's smallest page; larger ones are hugetlbfs, which obeys.
  [[nodiscard]] bool ignores_policy(std::size_t base_page_bytes) const noexcept {
    return shared && is_file() && !on_tmpfs && page_bytes <= base_page_bytes;
  }
  /// Private memory of no file, so that a dropped page reads as zeros. (A brk heap and a stack are such, too.)
  [[nodiscard]] bool is_private_anonymous() const noexcept;
};

/// The pages of one mapping, as numa_maps tells them.
struct numa_mapping {
  address first = 0;  ///< where it begins; it ends where smaps says
  std::vector<std::pair<node_id, std::size_t>> bytes_on{};
};

/// A source of lines: false at the end.
using line_source = std::function<bool(std::string&)>;

/// The mappings of smaps that overlap `wanted`, ascending. Lines that are not understood are passed over.
[[nodiscard]] std::vector<mapping> parse_smaps(const line_source& next_line, address_range wanted);
/// The mappings of numa_maps that begin before `last`, ascending.
[[nodiscard]] std::vector<numa_mapping> parse_numa_maps(const line_source& next_line, address last);

}  // namespace homing::platform
