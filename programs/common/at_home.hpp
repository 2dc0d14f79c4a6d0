// How much of the work was done at home: by a thread of the domain that the data's distribution names.
#pragma once

#include <homing/distribution.hpp>
#include <homing/ids.hpp>

#include <cstddef>
#include <cstdint>

namespace programs {

struct work_done {
  std::uint64_t at_home = 0;
  std::uint64_t away = 0;
};

/// Counts items of one home, or those of a part of an index space, for the domain that the calling thread is in.
/// Threads: any, each on counters of its own.
void count_work(homing::domain_index home, std::uint64_t items) noexcept;
void count_work(const homing::regular_distribution<1>& homes, std::size_t first, std::size_t last) noexcept;

void count_work(const homing::regular_distribution<3>& homes, const homing::box<3>& part) noexcept;

/// The sum over all threads; and from zero again. Both while no other thread works.
[[nodiscard]] work_done counted_work() noexcept;
void forget_work() noexcept;

}  // namespace programs
