#include "topology/cpu_places.hpp"

#include <algorithm>
#include <utility>

namespace homing::topology {

void cpu_places::add(place cpu) {
  if (cpu.core < 0) cpu.core = -1 - static_cast<int>(cpu.cpu);  // negative numbers don't collide
  all.push_back(cpu);
  if (cpu.core_type >= 0) core_types.push_back(cpu.core_type);
}

void cpu_places::finish() {
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return std::pair(a.core, a.cpu) < std::pair(b.core, b.cpu); });
  std::sort(core_types.begin(), core_types.end());
  core_types.erase(std::unique(core_types.begin(), core_types.end()), core_types.end());
  if (core_types.empty()) core_types.push_back(-1);  // not known: any, in constraints
}

}  // namespace homing::topology
