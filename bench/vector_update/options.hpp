/// What a run of vector_update does.
#pragma once

#include <cstddef>
#include <string_view>

namespace vector_update {

/// Who updates which elements.
enum class schedule {
  none,         ///< oneTBB's default partitioner
  affinity,     ///< its affinity_partitioner, one for all loops
  distribution  ///< ours: a block distribution
};

/// Where the pages are.
enum class placing {
  first_touch,  ///< on the node of the thread that filled them, in a loop with the same schedule
  interleaved,  ///< dealt over the nodes by turns
  enforced      ///< where the block distribution says
};

struct options {
  schedule work = schedule::distribution;
  placing pages = placing::enforced;
  std::size_t elements = std::size_t{1} << 20;
  int loops = 50;
  int threads = 0;
  bool json = false;
};

[[nodiscard]] std::string_view name_of(schedule s) noexcept;
[[nodiscard]] std::string_view name_of(placing p) noexcept;

/// Ends the program on --help (0) and on a wrong word (2).
[[nodiscard]] options parse(int argc, char** argv);

}  // namespace vector_update
