/// Something with a bandwidth, a memory controller or one direction of a link: who has to wait, and until when.
///
/// Time is cut into slices of 512 cycles. A transfer takes its occupancy out of the slice of its own time, or of the
/// first later one that has room, so that requests may come in any order of virtual time: a CPU that is behind the
/// others finds the room that they left. Who finds room starts at once; what load adds to a latency below saturation is
/// loaded_latency.hpp's, by load(). (To start when the work before it in the slice is done looks better, but leaves a
/// twentieth unused as CPUs come one after the other.)
/// Threads: reserve() and load() from any.
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

  /// load() looks at `load_slices` slices that ended `lag_slices` ago: nearer ones still fill up, with what CPUs that
  /// are a little behind have to ask.
  static constexpr std::uint64_t load_slices = 8, lag_slices = 2;

  /// How long one line may occupy it, so that a slice is one word: a million cycles.
  static constexpr unsigned used_bits = 28;
  static constexpr ticks line_max = (ticks{1} << used_bits) - 1 - slice_ticks;

  /// How long one line occupies it: line_max at most.
  explicit capacity(ticks a_line) : line_(a_line) {}

  [[nodiscard]] ticks a_line() const noexcept { return line_; }

  /// The share of its time, of the last few thousand cycles before `now`, in which it was occupied: 0 to 1.
  [[nodiscard]] double load(ticks now) const noexcept {
    const std::uint64_t slice = now / slice_ticks;
    if (slice < load_slices + lag_slices) return 0;
    ticks used = 0;
    for (std::uint64_t i = slice - lag_slices - load_slices; i != slice - lag_slices; ++i) {
      // Relaxed: a recent value will do, and a slice is one word.
      const std::uint64_t word = used_[i % slices].load(std::memory_order_relaxed);
      if (word >> used_bits == i) used += std::min(word & used_mask, slice_ticks);
    }
    return static_cast<double>(used) / static_cast<double>(load_slices * slice_ticks);
  }

  /// Takes room for one line at `now` or later. Returns when the transfer starts.
  ticks reserve(ticks now) noexcept {
    for (std::uint64_t slice = now / slice_ticks;; ++slice) {
      std::atomic<std::uint64_t>& at = used_[slice % slices];
      std::uint64_t word = at.load(std::memory_order_relaxed);  // one word, which carries all there is to know
      for (;;) {
        const std::uint64_t tag = word >> used_bits;
        if (tag > slice) return now;  // long past
        const ticks used = tag == slice ? word & used_mask : left_over(slice);
        if (used >= slice_ticks) {
          // A slice that one long transfer fills says so, for the next to see what is left over.
          if (tag != slice && !at.compare_exchange_weak(word, (slice << used_bits) | used, std::memory_order_relaxed))
            continue;
          break;
        }
        if (at.compare_exchange_weak(word, (slice << used_bits) | (used + line_), std::memory_order_relaxed)) {
          return std::max(now, slice * slice_ticks);
        }
      }
    }
  }

 private:
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
