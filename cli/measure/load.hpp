/// Threads that read memory at a pace: the load under which `latency --loaded` measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "measure/placed_buffer.hpp"
#include "sync/atomic.hpp"

namespace homing::measure {

/// A buffer in equal shares, one for each thread that reads.
///
/// Threads: read() from each reader with its own number; stop() and bytes_read() from any.
class paced_load {
 public:
  /// A reader reads this much at a time, then waits.
  static constexpr std::size_t chunk_bytes = 4096;

  /// `readers` is at least 1; each gets at least a chunk. Errors: as placed_buffer.
  paced_load(std::size_t readers, std::size_t bytes, node_index node, page_wish pages);

  /// Writes reader `number`'s share, so that its pages are there.
  void touch(std::size_t number) noexcept;
  /// Before each time: forgets what was read and that it was stopped.
  void reset() noexcept;
  /// Reads its share again and again, with `delay_ns` between two chunks, until stop().
  void read(std::size_t number, std::uint64_t delay_ns) noexcept;
  void stop() noexcept { stopped_.store(true, sync::relaxed); }  // relaxed: nothing else depends on it
  /// By all readers since reset(), in whole chunks.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept;
  [[nodiscard]] memory_fact fact() const { return memory_.fact(); }
  [[nodiscard]] std::size_t readers() const noexcept { return counters_.size(); }

 private:
  struct alignas(sync::cache_line_bytes) counter {
    sync::atomic<std::uint64_t> bytes{0};
    double sum = 0;  // of what was read, so that it had to be read; the reader's own
  };
  [[nodiscard]] double* share(std::size_t number) const noexcept;

  std::size_t share_bytes_;
  placed_buffer memory_;
  std::vector<counter> counters_;
  sync::atomic<bool> stopped_{false};
};

}  // namespace homing::measure
