/// Whether an XML file has the sets of CPUs and nodes that hwloc takes for granted.
#pragma once

#include <string>

namespace homing::topology {

/// hwloc 2.9 reads a null pointer where an object of a file lacks one of its sets: so each is looked for, and read,
/// before hwloc has the file. Empty if all are there, or if the file can't be read: then hwloc says so.
[[nodiscard]] std::string xml_sets_problem(const std::string& path);

}  // namespace homing::topology
