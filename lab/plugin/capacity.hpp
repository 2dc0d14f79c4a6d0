/// Something with a bandwidth, a memory controller or one direction of a link: who has to wait, and until when.
///
/// Time is cut into slices of 512 cycles. A transfer takes its occupancy out of the slice of its own time, or of the
/// first later one that has room, so that requests may come in any order of virtual time: a CPU that is behind the
/// others finds the room that they left. Who finds room starts at once: there is no queue below saturation. (To start
/// when the work before it in the slice is done looks better, but leaves a twentieth unused as CPUs come one after
/// the other.)
/// Threads: reserve() from any.
/// Errors:  none. Who is more than `slices` behind the newest finds no record and never waits.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "units.hpp"

namespace homing::lab::model {

class capacity {
 public:
  static constexpr ticks slice_ticks = 512 * ticks_per_cycle;
  static constexpr std::uint64_t slices = 16384;

  /// How long one line occupies it.
  explicit capacity(ticks a_line) : line_(a_line) {}

  /// Takes room for one line at `now` or later. Returns when the transfer starts.
  ticks reserve(ticks now) noexcept {
    for (std::uint64_t slice = now / slice_ticks;; ++slice) {
      std::atomic<std::uint64_t>& at = used_[slice % slices];
      std::uint64_t word = at.load(std::memory_order_relaxed);  // one word, which carries all there is to know
      for (;;) {
        const std::uint64_t tag = word >> used_bits;
        if (tag > slice) return now;  // long past
        const ticks used = tag == slice ? word & used_mask : left_over(slice);
        if (used >= slice_ticks) break;
        if (at.compare_exchange_weak(word, (slice << used_bits) | (used + line_), std::memory_order_relaxed)) {
          return std::max(now, slice * slice_ticks);
        }
      }
    }
  }

 private:
  static constexpr unsigned used_bits = 28;
  static constexpr std::uint64_t used_mask = (std::uint64_t{1} << used_bits) - 1;

  /// What the slice before took beyond its end.
  [[nodiscard]] ticks left_over(std::uint64_t slice) const noexcept {
    if (slice == 0) return 0;
    const std::uint64_t word = used_[(slice - 1) % slices].load(std::memory_order_relaxed);
    const ticks used = word & used_mask;
    return word >> used_bits == slice - 1 && used > slice_ticks ? used - slice_ticks : 0;
  }

  ticks line_;
  std::array<std::atomic<std::uint64_t>, slices> used_{};
};

}  // namespace homing::lab::model
