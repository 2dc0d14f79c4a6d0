// The lines of the paper's figure 3: how the pages are first touched, and how the sweep is dealt to threads.
#pragma once

#include <span>
#include <string_view>

namespace jacobi {

enum class touch {
  serial,       ///< one thread touches everything
  interleaved,  ///< pages dealt over the nodes by turns
  blocked,      ///< OpenMP schedule(static): paper "s"
  round_robin,  ///< OpenMP schedule(static,1): paper "s-1"
  tbb           ///< the same parallel_for as the sweep
};

enum class dealing {
  fixed,        ///< OpenMP worksharing, schedule(static)
  dynamic,      ///< OpenMP worksharing, schedule(dynamic)
  tasks,        ///< OpenMP tasks
  task_queues,  ///< OpenMP tasks with locality queues
  tbb,          ///< parallel_for over blocks
  tbb_queues    ///< parallel_for through locality queues
};

enum class order { ijk, kji };
enum class partitioner { automatic, affinity };

struct variant {
  std::string_view name;
  touch by;
  dealing how;
  order submit;       ///< of tasks
  partitioner split;  ///< of TBB's loops
  std::string_view what;
  [[nodiscard]] bool uses_tbb() const noexcept { return how == dealing::tbb || how == dealing::tbb_queues; }
};

/// All of them, in the figure's order.
[[nodiscard]] std::span<const variant> variants() noexcept;
/// Null if there is none of this name.
[[nodiscard]] const variant* find_variant(std::string_view name) noexcept;

}  // namespace jacobi
