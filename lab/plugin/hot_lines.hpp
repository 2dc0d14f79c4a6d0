/// The cache lines that CPUs take from each other: how often, by which instructions, and at which of the line's bytes.
///
/// A line *moves* when a CPU loads what another core has written, or writes what another cache holds. From its first
/// move on, all accesses of that CPU to it are noted, so that what each CPU uses of a line is known.
/// Threads: note() by each CPU's own thread, sums() by any.
/// Errors:  none; where there is no room for more lines, those that moved least are forgotten, and counted.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "cpu.hpp"
#include "memory_system.hpp"
#include "spin_lock.hpp"
#include "units.hpp"

namespace homing::lab::model {

/// One access, as the program made it.
struct seen_access {
  std::uint64_t instruction = 0, address = 0;  // virtual
  std::uint64_t physical_line = 0;
  unsigned bytes = 0;
  access_kind kind = access_kind::load;
  movement moved = movement::none;
  ticks waited = 0;
};

/// What one instruction did to some bytes of a line, on one CPU.
struct line_site {
  std::uint64_t instruction = 0;
  std::uint8_t offset = 0, bytes = 0;
  std::uint64_t loads = 0, stores = 0, atomics = 0, moves = 0, far_moves = 0;
  ticks waited = 0;
};

/// What one CPU did to a line.
struct line_use {
  std::uint64_t moves = 0, far_moves = 0, others = 0;  // others: accesses by instructions beyond sites_max
  ticks waited = 0;
  std::vector<line_site> sites;
};

struct line_name {
  std::uint64_t virtual_line = 0, physical_line = 0;
  friend auto operator<=>(const line_name&, const line_name&) = default;
};

/// A line, with all CPUs that took it from others.
struct line_sum {
  line_name name;
  std::uint64_t moves = 0, far_moves = 0;
  ticks waited = 0;
  std::map<unsigned, line_use> by_cpu;
};

/// Everything so far: the lines that moved most, and the sums over all of them.
struct line_sums {
  std::vector<line_sum> most;  // the most moved first
  std::uint64_t lines = 0, moves = 0, far_moves = 0, kernel_moves = 0, forgotten_moves = 0;
};

class hot_lines {
 public:
  static constexpr std::size_t sites_max = 32;         // of one CPU and line
  static constexpr std::size_t lines_max = 1U << 15U;  // of one CPU

  explicit hot_lines(unsigned cpus, std::size_t lines = lines_max) : lines_max_(lines), cpus_(cpus) {}

  void note(unsigned cpu, const seen_access& a);
  [[nodiscard]] line_sums sums(std::size_t lines) const;

 private:
  static constexpr std::size_t recent_max = 64;
  struct name_hash {
    std::size_t operator()(const line_name& n) const noexcept {
      return (n.virtual_line * 0x9e3779b97f4a7c15U) ^ n.physical_line;
    }
  };
  struct recent_line {
    std::uint64_t virtual_line = ~std::uint64_t{0};
    line_use* use = nullptr;
  };
  struct alignas(64) cpu_part {
    mutable spin_lock lock;  // of all below but `recent`, which is the CPU's own
    std::array<recent_line, recent_max> recent;
    std::unordered_map<line_name, line_use, name_hash> uses;
    std::uint64_t kernel_moves = 0, forgotten_moves = 0;
  };
  static void add(line_use& use, const seen_access& a);
  void make_room(cpu_part& part) const;

  std::size_t lines_max_;
  std::deque<cpu_part> cpus_;
};

}  // namespace homing::lab::model
