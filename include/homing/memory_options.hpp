/// What a memory resource is asked for, and what it says of itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace homing {

/// What happens when a node has no memory left, or when the kernel or a sandbox refuses to place pages there.
enum class on_full {
  spill,  ///< memory of another node, and usage() tells of what was refused outright
  fail    ///< std::bad_alloc. New pages are touched at once and asked for, since only then is it known where they are
};

enum class page_kind {
  base,  ///< as the system has it
  huge   ///< transparent huge pages are asked for (MADV_HUGEPAGE); without effect where the kernel has none
};

struct memory_options {
  on_full when_full = on_full::spill;
  page_kind pages = page_kind::base;
  /// The most address space, in bytes, that the resource takes from the system at one time. Pools take 2 MiB at once.
  std::size_t bytes_max = SIZE_MAX;
};

/// All in bytes or blocks, at one moment.
struct memory_usage {
  std::size_t live_blocks = 0;   ///< allocated, not given back
  std::size_t live_bytes = 0;    ///< of those, as asked for
  std::size_t mapped_bytes = 0;  ///< taken from the system
  std::size_t mapped_bytes_most = 0;
  std::size_t unplaced_bytes = 0;  ///< of all taken so far: placing them was refused, and nobody knows where they are
  int error_number = 0;            ///< the first refusal's errno, of placing or of the advice for huge pages
};

}  // namespace homing
