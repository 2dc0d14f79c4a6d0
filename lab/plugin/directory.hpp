/// Which caches hold each line of memory, and when it was last handed over: what keeps the caches coherent.
///
/// Ownership: one entry a line of physical memory, mapped lazily: the host pays for lines that were used.
/// Threads:   an entry is locked while it is looked at or changed; never two at once by one thread.
/// Errors:    machine_error if the host has no address space for it.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "host_pages.hpp"
#include "machine.hpp"
#include "spin_lock.hpp"
#include "units.hpp"

namespace homing::lab::model {

struct line_entry {
  std::uint64_t cores = 0;   // private caches that hold it
  std::uint32_t shared = 0;  // last-level caches that hold it
  std::uint8_t owner = 0;    // 1 + the core that may write it; 0: nobody
  std::uint8_t dirty = 0;    // 1 + the last-level cache that has newer data than memory; 0: none
  spin_lock lock;
  std::atomic<bool> fought{false};  // it changed hands a moment ago; relaxed, a hint [LM11]
  ticks ready = 0;                  // when the last hand-over was through

  /// Two hand-overs within this time: the line is fought over.
  static constexpr ticks a_moment = 20000 * ticks_per_cycle;
  /// Notes a hand-over at `at`, before it is done.
  void changes_hands(ticks at) noexcept {
    fought.store(ready != 0 && at < ready + a_moment, std::memory_order_relaxed);
  }
};

class directory {
 public:
  explicit directory(std::uint64_t lines) : bytes_(lines * sizeof(line_entry) + huge_page_bytes) {
    // Zeroed memory is a valid entry: no holder, no owner, unlocked.
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED)
      throw machine_error("memory: the host has no address space for a directory of that size");
    void* first = memory_;
    std::size_t room = bytes_;
    std::align(huge_page_bytes, bytes_ - huge_page_bytes, first, room);
    ask_for_huge_pages(first, room);
    entries_ = static_cast<line_entry*>(first);
  }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  ~directory() { munmap(memory_, bytes_); }

  /// `line` is below the number given.
  [[nodiscard]] line_entry& at(std::uint64_t line) noexcept { return entries_[line]; }
  /// The entry will be changed soon.
  void prefetch(std::uint64_t line) const noexcept { __builtin_prefetch(entries_ + line, 1); }

 private:
  std::uint64_t bytes_;
  void* memory_;
  line_entry* entries_;
};

}  // namespace homing::lab::model
