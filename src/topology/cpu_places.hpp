/// The usable CPUs of a machine, and what oneTBB's constraints ask of them: node, core, core type.
///
/// Threads: plain data; what reads it later says for itself.
#pragma once

#include <vector>

#include "topology/ids.hpp"

namespace homing::topology {

struct cpu_places {
  struct place {
    cpu_id cpu;
    domain_index domain;
    int node;
    int core;  ///< dense over the machine
    int core_type;
  };
  std::vector<place> all;       ///< by core, then by CPU
  std::vector<int> core_types;  ///< ascending; -1 alone: any

  /// `core` below 0: unknown, so that the CPU is a core of its own. `core_type` below 0: unknown.
  void add(place cpu);
  /// After the last one.
  void finish();
};

/// What a machine that was read without cores asks when somebody asks for them.
class cores_reader {
 public:
  cores_reader() = default;
  virtual ~cores_reader() = default;
  cores_reader(const cores_reader&) = delete;
  cores_reader& operator=(const cores_reader&) = delete;

  /// The same CPUs with their cores; null if they can't be read now. Threads: any; the answer lives as long as this.
  [[nodiscard]] virtual const cpu_places* read(const cpu_places& known) noexcept = 0;
};

}  // namespace homing::topology
