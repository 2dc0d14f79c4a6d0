/// One look at a process through /proc: its pages, its threads, and why it could not be seen.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/pages.hpp"
#include "platform/id_set.hpp"

namespace homing::cli {

/// Which node each CPU of this computer belongs to, whether or not we may use it; made-up machines do not count here.
class node_of_cpu {
 public:
  node_of_cpu();
  /// The OS id of its node, -1 if unknown.
  [[nodiscard]] int operator()(int cpu) const noexcept;
  /// The nodes of these CPUs.
  [[nodiscard]] platform::node_set of(const platform::cpu_set& cpus) const;

 private:
  std::map<int, int> nodes_;
};

struct thread_look {
  pid_t id = 0;
  std::string name;
  int last_cpu = -1;
  int node = -1;  ///< of the last CPU
  platform::cpu_set mask;
  platform::node_set mask_nodes;
};

struct process_look {
  pid_t id = 0;
  std::string name;
  page_census pages;
  std::vector<thread_look> threads;
  std::optional<std::uint64_t> transparent_huge_bytes;  ///< of all its memory; nothing if the kernel does not say
};

struct [[nodiscard]] look_result {
  std::optional<process_look> seen;
  std::string error{};  ///< one line that says why not
  bool ended = false;   ///< because it has ended, or never was
};

/// Looks once. Threads that end meanwhile are left out. Errors in the result.
look_result look_at(pid_t process, const node_of_cpu& nodes);

/// Its threads only.
[[nodiscard]] std::vector<thread_look> look_at_threads(pid_t process, const node_of_cpu& nodes);

}  // namespace homing::cli
