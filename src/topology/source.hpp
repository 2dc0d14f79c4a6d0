/// Where a machine's description comes from: this computer, a line of text, or a file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "platform/id_set.hpp"
#include "topology/machine.hpp"

namespace homing::topology {

/// What limits this process. Anything not given is asked of the kernel.
struct given_limits {
  std::optional<platform::cpu_set> mask{};           ///< real CPUs the process may use
  std::optional<platform::node_set> memory_nodes{};  ///< nodes it may get memory from
  std::optional<double> quota_cpus{};                ///< <= 0: no quota
  std::optional<unsigned> threads{};                 ///< the default number of threads at most; not given: none
};

struct source {
  enum class origin {
    real,       ///< this computer (hwloc's own variables, such as HWLOC_FSROOT, apply)
    synthetic,  ///< hwloc's one-line language, for example "node:4 core:2 pu:1"
    xml         ///< a file that `lstopo file.xml` wrote
  };
  enum class claim {
    as_hwloc_says,  ///< made-up machines are virtual, unless HWLOC_THISSYSTEM=1
    this_system     ///< its ids are this computer's: limits apply
  };
  enum class figures {
    first_task,  ///< what is needed before the first task: this computer's cores are read when somebody asks for them
    none,        ///< what the scheduler can be asked for, and who took what away
    all          ///< also what firmware says of each memory's bandwidth and latency: a file of sysfs each
  };
  origin from = origin::real;
  std::string text{};  ///< the line or the file's path; unused for `real`
  domain_kind kind = domain_kind::node;
  claim about = claim::as_hwloc_says;
  given_limits limits{};
  figures wanted = figures::none;
};

/// Who could not use a description. hwloc obeys its own variables whenever it reads the real machine, so what only we
/// refuse, and a broken file, would come back then: those are refused by `homing`.
enum class refused_by { nobody, hwloc, homing };

struct [[nodiscard]] read_result {
  std::shared_ptr<const machine> value;  ///< null if it failed
  std::string error{};                   ///< what was wrong, for people
  refused_by who = refused_by::nobody;
};

/// Reads a machine. Threads: any. Errors: bad input and hwloc's failures in the result.
read_result read(const source& from);

}  // namespace homing::topology
