/// One line of `homing doctor`: what is so, whether it helps or hurts, and what to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platform/id_set.hpp"
#include "run/traffic.hpp"
#include "topology/machine.hpp"

namespace homing::cli {

enum class health { ok, warn, bad };

struct finding {
  health status = health::ok;
  std::string topic;   ///< a word or two
  std::string says;    ///< what is so, and what it means
  std::string advice;  ///< what to do; empty if nothing, and where the status is ok
};

/// What the kernel answered when the call was made harmlessly.
struct call_answer {
  const char* name;
  int error_number;  ///< 0: granted
};

/// Makes each call of placement, counting and fences once, on memory of its own. Leaves no trace but the calling
/// thread's memory policy, which is the system's default afterwards.
[[nodiscard]] std::vector<call_answer> try_calls();

// --- pure functions of what was read, so that a test can say what a machine is like ---

[[nodiscard]] std::vector<finding> judge_calls(const std::vector<call_answer>& answers);
/// Whether `run --report` could count near and far traffic, as far as the CPU's model goes.
[[nodiscard]] finding judge_events(const known_events& events);
/// The content of kernel.numa_balancing; nothing: the kernel has none.
[[nodiscard]] finding judge_balancing(const std::optional<std::string>& text, std::size_t node_count);
/// The content of transparent_hugepage/enabled.
[[nodiscard]] finding judge_huge_pages(const std::optional<std::string>& text);
/// Nodes, CPUs and what is cut.
[[nodiscard]] std::vector<finding> judge_machine(const topology::machine& m);

/// Another process on this computer that the caller could look at.
struct neighbour {
  int pid = 0;
  std::string name;
  platform::cpu_set mask;
  bool is_rank = false;  ///< started by MPI or Slurm: it carries a local rank
};
/// Processes of the same user, without this one and those that it descends from.
[[nodiscard]] std::vector<neighbour> read_neighbours();
[[nodiscard]] std::vector<finding> judge_neighbours(const std::vector<neighbour>& others,
                                                    const platform::cpu_set& own_mask, unsigned machine_cpus,
                                                    bool own_is_rank);
[[nodiscard]] bool is_rank(const std::string& environment_block);

/// Which libraries and kernel are in play.
[[nodiscard]] std::vector<finding> judge_libraries();

}  // namespace homing::cli
