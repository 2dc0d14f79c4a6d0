/// The kernel's calls about where pages are, behind an interface, so that a test can stand in a kernel.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "platform/id_set.hpp"
#include "platform/mappings.hpp"

namespace homing::platform {

enum class policy_mode {
  system_default,
  preferred,  ///< one node, then the kernel's fallback
  bind,       ///< these nodes only
  interleave  ///< by turns
};
enum class existing_pages { leave, move };

/// The mappings that overlap a range; none, and the errno, if they can't be read.
struct mapping_list {
  std::vector<mapping> all;
  int error_number = 0;

  [[nodiscard]] bool is_read() const noexcept { return error_number == 0; }
};

/// Threads: any. Addresses and sizes are multiples of page_bytes(). Errors: each call returns 0 or the errno.
class page_calls {
 public:
  page_calls() = default;
  page_calls(const page_calls&) = delete;
  page_calls& operator=(const page_calls&) = delete;
  virtual ~page_calls() = default;

  [[nodiscard]] virtual std::size_t page_bytes() const noexcept = 0;
  /// Of a transparent huge page; 0 if the kernel has none.
  [[nodiscard]] virtual std::size_t huge_page_bytes() const noexcept = 0;

  /// mbind.
  [[nodiscard]] virtual int set_policy(address_range range, policy_mode mode, const node_set& nodes,
                                       existing_pages existing) noexcept = 0;
  /// move_pages. status[i]: the node of pages[i] afterwards, or -errno; untouched where the kernel did not get to it.
  [[nodiscard]] virtual int move_pages(std::span<const address> pages, std::span<const node_id> to,
                                       std::span<int> status) noexcept = 0;
  /// move_pages' query: the same without moving.
  [[nodiscard]] virtual int query_pages(std::span<const address> pages, std::span<int> status) noexcept = 0;
  /// Makes untouched pages be there, as if written, without changing any (MADV_POPULATE_WRITE, Linux 5.14).
  [[nodiscard]] virtual int populate(address_range range) noexcept = 0;
  /// Maps pages that are in memory, but not mapped here, without changing or making any (MADV_POPULATE_READ, Linux
  /// 5.14). Only for those that resident() names.
  [[nodiscard]] virtual int populate_read(address_range range) noexcept = 0;
  /// Gives pages back; private anonymous ones then read as zeros (MADV_DONTNEED).
  [[nodiscard]] virtual int drop(address_range range) noexcept = 0;
  /// Writes to memory that was dropped: the kernel places it near the calling thread.
  virtual void restore(address to, const std::byte* from, std::size_t bytes) noexcept = 0;
  /// Makes a range a mapping of its own for a moment, so that listings count it by itself, or undoes that: by leaving
  /// it out of core dumps (MADV_DONTDUMP). Only for mappings that may_mark.
  [[nodiscard]] virtual int mark(address_range range, bool marked) noexcept = 0;
  /// Binds the calling thread.
  [[nodiscard]] virtual int bind_thread(const cpu_set& cpus) noexcept = 0;

  [[nodiscard]] virtual mapping_list mappings(address_range range) = 0;
  /// numa_maps up to the range's end; nothing if it can't be read.
  [[nodiscard]] virtual std::optional<std::vector<numa_mapping>> numa_maps(address_range range) = 0;
  /// The mapping of numa_maps that begins there; nothing if none does, or it can't be read. Not for hugetlbfs. Costs a
  /// walk over the pages of this mapping and of those below it, and no others.
  [[nodiscard]] virtual std::optional<numa_mapping> numa_mapping_at(address first) = 0;
  /// Whether the kernel moves pages by itself to who uses them (kernel.numa_balancing).
  [[nodiscard]] virtual bool balances() = 0;
  /// For each page, whether it has contents (in memory or swapped out); nothing if the kernel does not tell.
  [[nodiscard]] virtual std::optional<std::vector<bool>> contents(address_range range) = 0;
  /// For each page, whether it is in memory, mapped here or not (mincore); nothing if the kernel does not tell. For
  /// shared mappings.
  [[nodiscard]] virtual std::optional<std::vector<bool>> resident(address_range range) = 0;
  /// Where a range consists of huge pages; nothing if the kernel does not tell (before Linux 6.7).
  [[nodiscard]] virtual std::optional<std::vector<address_range>> huge_ranges(address_range range) = 0;
};

/// This system's kernel.
[[nodiscard]] page_calls& kernel_page_calls() noexcept;
/// For tests: what kernel_page_calls() gives from now on; null: the system's again. Nobody else calls it meanwhile.
void stand_in_for_page_calls(page_calls* other) noexcept;

}  // namespace homing::platform
