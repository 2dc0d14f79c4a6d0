/// What the environment says about the machine to use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/source.hpp"

namespace homing::topology {

/// A machine that a variable asks for.
struct named_source {
  const char* variable;
  std::string value;  ///< as it was given
  source from;
};

/// The made-up machines asked for by HOMING_TOPOLOGY, HWLOC_SYNTHETIC and HWLOC_XMLFILE, in the
/// order in which they count, each with the domains that HOMING_DOMAIN asks for. A relative path that HOMING_TOPOLOGY
/// had when the library was loaded starts at the folder of that time.
/// Threads: any, while nobody changes the environment. Errors: a bad HOMING_DOMAIN is said on stderr.
[[nodiscard]] std::vector<named_source> sources_of_environment();
/// HOMING_DOMAIN; a bad value is said on stderr.
[[nodiscard]] domain_kind kind_of_environment() noexcept;

/// HOMING_THREADS: the default number of threads at most; a bad value is said on stderr and bounds nothing.
[[nodiscard]] std::optional<unsigned> threads_of_environment() noexcept;

/// HOMING_TOPOLOGY takes both: an existing file or a name that ends in ".xml" is XML, anything
/// else a synthetic line.
[[nodiscard]] source::origin guess_origin(const std::string& text);

/// Reads the first machine that the environment asks for and that can be read, with one line on
/// stderr for each that can't; else this computer; if that fails as well, says so and takes the CPUs
/// of the mask as one domain. Never null.
[[nodiscard]] std::shared_ptr<const machine> read_environment(source::figures figures = source::figures::none);

/// A machine without hwloc: one node with the CPUs that this process may use.
[[nodiscard]] std::shared_ptr<const machine> one_domain();

}  // namespace homing::topology
