/// The memory behind homing::distributed_array: whole pages of its own, placed along a distribution, and threads that
/// touch them first.
#pragma once

#include <homing/export.hpp>
#include <homing/ids.hpp>
#include <homing/memory_options.hpp>
#include <homing/placement.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace homing::detail {

/// Pages from the system, zero-filled, given back with their policy.
///
/// Ownership: of the pages and their policy. Movable: the pages stay where they are. Threads: like a container.
/// Errors:    std::bad_alloc, also for a size or an alignment that no address space has.
class HOMING_API placed_pages {
 public:
  placed_pages() noexcept = default;
  /// 0 bytes: no page, data() is null. `alignment` is a power of two. Huge pages are asked for from the system.
  placed_pages(std::size_t bytes, std::size_t alignment, page_kind kind);
  placed_pages(placed_pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        policy_(std::move(other.policy_)),
        report_(std::exchange(other.report_, {})),
        ok_(std::exchange(other.ok_, true)) {}
  placed_pages& operator=(placed_pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(policy_, other.policy_);
    std::swap(report_, other.report_);
    std::swap(ok_, other.ok_);
    return *this;
  }
  ~placed_pages();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// Whole pages.
  [[nodiscard]] memory_range range() const noexcept { return {data_, bytes_}; }
  /// Places them, or places them again: `runs` is over bytes. The report also tells which ways earlier calls used.
  void place(const run_source& runs, const placement_options& options);
  [[nodiscard]] const placement_report& report() const noexcept { return report_; }
  /// False if the last place() was to fail rather than to degrade, and something was refused.
  [[nodiscard]] bool ok() const noexcept { return ok_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  placed_range policy_;
  placement_report report_;
  bool ok_ = true;
};

/// True if it matters where a thread runs that touches `bytes` of new memory first: there are several memory nodes, or
/// made-up ones, and more than a page for each domain.
[[nodiscard]] HOMING_API bool first_touch_matters(std::size_t bytes);

/// A call without its type: work(context, home). Must not throw.
struct home_work {
  void* context;
  void (*call)(void* context, domain_index home);
};
/// Does the work of each home on a thread that is bound to it, all at the same time, and waits for all. Where a thread
/// can't be bound it works unbound; where none can be had, the caller works. Errors: std::bad_alloc, before any work is
/// done.
HOMING_API void at_homes(std::span<const domain_index> homes, home_work work);

}  // namespace homing::detail
