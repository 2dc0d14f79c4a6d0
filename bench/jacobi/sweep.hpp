// One run's state: arrays, homes of blocks, and who processed what; and the ways to touch and to sweep.
#pragma once

#include <homing/ids.hpp>
#include <homing/locality_queues.hpp>
#include <homing/topology.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "arrays.hpp"
#include "kernel.hpp"
#include "lattice.hpp"
#include "variants.hpp"

namespace jacobi {

using block_queues = homing::locality_queues<std::size_t>;

/// Threads: touch() and process() from any, each block by one at a time; the rest from the one that leads.
class run_state {
 public:
  explicit run_state(const lattice& l)
      : lattice_(l),
        arrays_(l),
        home_(l.block_count()),
        counts_(std::make_unique<counts[]>(machine_.domains().size())),
        queues_(machine_) {}

  [[nodiscard]] const lattice& shape() const noexcept { return lattice_; }
  [[nodiscard]] array_pair& arrays() noexcept { return arrays_; }
  [[nodiscard]] block_queues& queues() noexcept { return queues_; }
  [[nodiscard]] homing::domain_index home(std::size_t block) const noexcept { return home_[block]; }
  void set_home(std::size_t block, homing::domain_index home) noexcept { home_[block] = home; }

  /// First touch: the block's home is where the calling thread is.
  void touch(std::size_t block) noexcept {
    touch_block(lattice_, arrays_.first(), arrays_.second(), lattice_.box_of(block));
    home_[block] = here();
  }
  /// The update of one block, counted for the domain that the calling thread is in.
  void process(std::size_t block) noexcept {
    const homing::domain_index where = here();
    counts& mine = counts_[homing::to_index(where)];
    // relaxed: read when the threads have been waited for.
    (where == home_[block] ? mine.at_home : mine.away).fetch_add(1, std::memory_order_relaxed);
    sweep_block(lattice_, arrays_.from(), arrays_.to(), lattice_.box_of(block));
  }

  [[nodiscard]] std::uint64_t at_home() const noexcept { return sum(&counts::at_home); }
  [[nodiscard]] std::uint64_t processed() const noexcept { return at_home() + sum(&counts::away); }
  void forget_counts() noexcept {
    for (std::size_t d = 0; d < machine_.domains().size(); ++d) {
      counts_[d].at_home.store(0, std::memory_order_relaxed);
      counts_[d].away.store(0, std::memory_order_relaxed);
    }
  }

 private:
  struct alignas(128) counts {
    std::atomic<std::uint64_t> at_home{0};
    std::atomic<std::uint64_t> away{0};
  };
  [[nodiscard]] static homing::domain_index here() noexcept { return homing::topology::current_domain(); }
  [[nodiscard]] std::uint64_t sum(std::atomic<std::uint64_t> counts::*what) const noexcept {
    std::uint64_t total = 0;
    for (std::size_t d = 0; d < machine_.domains().size(); ++d) {
      total += (counts_[d].*what).load(std::memory_order_relaxed);
    }
    return total;
  }

  homing::topology::snapshot machine_ = homing::topology::current();
  lattice lattice_;
  array_pair arrays_;
  std::vector<homing::domain_index> home_;
  std::unique_ptr<counts[]> counts_;
  block_queues queues_;
};

/// A way to carry out a variant. All calls from the thread that made it.
class executor {
 public:
  executor() = default;
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;
  virtual ~executor() = default;
  /// First touch of all blocks, in parallel.
  virtual void touch(run_state& run) = 0;
  /// One sweep over all blocks, without the exchange of the arrays.
  virtual void sweep(run_state& run) = 0;
};

[[nodiscard]] std::unique_ptr<executor> make_openmp_executor(const variant& v, int threads, bool pin);
[[nodiscard]] std::unique_ptr<executor> make_tbb_executor(const variant& v, int threads, bool pin);

}  // namespace jacobi
