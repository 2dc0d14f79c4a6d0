/// What a synthetic line of hwloc's would do, found out before hwloc obeys it.
#pragma once

#include <string>
#include <string_view>

#include "topology/facts.hpp"

namespace homing::topology {

/// hwloc compares each new object with all of its siblings, word for word of their sets: the third power of the count,
/// three seconds for 4096 CPUs of one node, and three hours for 65536.
inline constexpr unsigned long synthetic_cpus_max = 4096;

/// At most one more than we take of each.
struct synthetic_counts {
  unsigned long cpus = 1;
  unsigned long attached_nodes = 0;
};

/// How many CPUs and attached memory nodes a line would make: the product of its levels' counts, and of those before
/// it a node for each [...]. hwloc would obey a typing error until memory is gone. Numbers are read as it reads them:
/// by strtoul, in any base, and the next level may begin right behind one.
[[nodiscard]] synthetic_counts count_synthetic(const std::string& text);

/// What is wrong with lists such as "indexes=0,2,70000" or "indexes=node:core"; empty if nothing is.
[[nodiscard]] std::string index_list_problem(std::string_view text);

}  // namespace homing::topology
