/// Which machine a figure comes from, in a few words: what a reader needs to compare it with another.
#pragma once

#include <homing/topology.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace homing::measure {

struct machine_card {
  std::string processor;       ///< as the kernel names it, or "unknown processor"
  std::string kernel;          ///< "Linux 6.1.0"
  unsigned cpus;               ///< that this process may use
  unsigned nodes;              ///< of the machine that is measured, or made up
  bool is_virtual;             ///< made up: `processor` and `kernel` are those of the computer that ran it
  std::string huge_pages;      ///< transparent_hugepage/enabled: always, madvise, never; empty if unknown
  std::string numa_balancing;  ///< "0", "1", ...; empty if unknown
  std::string date;            ///< UTC, ISO 8601
  std::string lab;             ///< the lab's machine that this is; empty: none
  bool is_clock_virtual;       ///< times are those of the lab's model

  /// "" or a line that says whose time the figures are, with its end.
  [[nodiscard]] std::string clock_text() const;

  /// One line.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] nlohmann::ordered_json json() const;
};

[[nodiscard]] machine_card describe_machine(const topology::snapshot& machine);

}  // namespace homing::measure
