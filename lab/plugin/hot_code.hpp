/// Where time goes: instructions and virtual time of each block of the program's code, and of the kernel as one.
///
/// A block's time is what passes on its CPU from its first instruction to the next block's: work, and waiting for
/// memory. Time that a CPU is idle is nobody's.
///
/// Threads: block() by any; begin() by each CPU's own thread; sums() by any.
/// Errors:  none.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu.hpp"
#include "units.hpp"

namespace homing::lab::model {

class hot_code {
 public:
  /// One block, with a cell a CPU. Never freed: translated code keeps its address.
  class block_cells {
   public:
    block_cells(std::uint64_t address, unsigned cpus) : address_(address), cells_(new cell[cpus]{}) {}

   private:
    friend class hot_code;
    struct cell {
      std::atomic<std::uint64_t> instructions{0};
      std::atomic<ticks> time{0};
    };
    std::uint64_t address_;
    std::unique_ptr<cell[]> cells_;
  };
  struct block_sum {
    std::uint64_t address = 0, instructions = 0;
    ticks time = 0;
  };
  struct code_sums {
    std::vector<block_sum> program;
    block_sum kernel;
  };

  explicit hot_code(unsigned cpus) : cpus_(cpus), kernel_(0, cpus) {}

  /// The cells of the program's block that begins at `address`; the kernel's are all one.
  [[nodiscard]] block_cells* block(std::uint64_t address, who by) {
    if (by == who::kernel) return &kernel_;
    const std::lock_guard guard(lock_);
    return &blocks_.try_emplace(address, address, static_cast<unsigned>(cpus_.size())).first->second;
  }
  /// A CPU is about to run `instructions` of a block; what it ran before is through.
  void begin(unsigned i, const cpu_state& cpu, block_cells* next, std::uint64_t instructions) noexcept {
    cpu_part& part = cpus_[i];
    const ticks busy = cpu.now() - cpu.skipped.load(std::memory_order_relaxed);
    // Relaxed, as all cells: one writer each, and a reader takes any recent value.
    if (part.last != nullptr && busy > part.since) grow(part.last->cells_[i].time, busy - part.since);
    part = {next, busy};
    grow(next->cells_[i].instructions, instructions);
  }
  [[nodiscard]] code_sums sums() const {
    const std::lock_guard guard(lock_);
    code_sums result;
    for (const auto& [address, b] : blocks_) {
      const block_sum sum = sum_of(b);
      if (sum.instructions != 0) result.program.push_back(sum);
    }
    result.kernel = sum_of(kernel_);
    return result;
  }

 private:
  struct alignas(64) cpu_part {
    block_cells* last = nullptr;
    ticks since = 0;
  };
  static void grow(std::atomic<std::uint64_t>& cell, std::uint64_t amount) noexcept {
    cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] block_sum sum_of(const block_cells& b) const {
    block_sum sum{.address = b.address_};
    for (std::size_t i = 0; i != cpus_.size(); ++i) {
      sum.instructions += b.cells_[i].instructions.load(std::memory_order_relaxed);
      sum.time += b.cells_[i].time.load(std::memory_order_relaxed);
    }
    return sum;
  }

  std::deque<cpu_part> cpus_;
  block_cells kernel_;
  mutable std::mutex lock_;  // of blocks_; their cells are anybody's
  std::map<std::uint64_t, block_cells> blocks_;
};

}  // namespace homing::lab::model
