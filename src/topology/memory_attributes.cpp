#include "topology/memory_attributes.hpp"

#include <hwloc/memattrs.h>

#include <utility>

namespace homing::topology {
namespace {

constexpr std::pair<hwloc_memattr_id_t, memory_attribute> known_attributes[] = {
    {HWLOC_MEMATTR_ID_BANDWIDTH, memory_attribute::bandwidth_mib_per_s},
    {HWLOC_MEMATTR_ID_READ_BANDWIDTH, memory_attribute::read_bandwidth_mib_per_s},
    {HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, memory_attribute::write_bandwidth_mib_per_s},
    {HWLOC_MEMATTR_ID_LATENCY, memory_attribute::latency_ns},
    {HWLOC_MEMATTR_ID_READ_LATENCY, memory_attribute::read_latency_ns},
    {HWLOC_MEMATTR_ID_WRITE_LATENCY, memory_attribute::write_latency_ns},
};

std::vector<cpu_id> cpus_of(const hwloc_location& place) {
  std::vector<cpu_id> cpus;
  hwloc_const_cpuset_t set =
      place.type == HWLOC_LOCATION_TYPE_CPUSET ? place.location.cpuset : place.location.object->cpuset;
  if (set == nullptr || hwloc_bitmap_weight(set) < 0) return cpus;  // no CPUs, or an endless set of them
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) {
    cpus.push_back(static_cast<cpu_id>(cpu));
  }
  return cpus;
}

}  // namespace

std::vector<attribute_fact> read_attributes(hwloc_topology_t topology, const std::vector<node_fact>& nodes) {
  std::vector<attribute_fact> result;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(topology, static_cast<unsigned>(to_number(nodes[i].id)));
    if (node == nullptr) continue;
    for (const auto& [id, what] : known_attributes) {
      unsigned count = 0;
      if (hwloc_memattr_get_initiators(topology, id, node, 0, &count, nullptr, nullptr) != 0 || count == 0) continue;
      std::vector<hwloc_location> places(count);
      std::vector<hwloc_uint64_t> values(count);
      if (hwloc_memattr_get_initiators(topology, id, node, 0, &count, places.data(), values.data()) != 0) continue;
      for (unsigned p = 0; p < count && p < places.size(); ++p) {
        result.push_back({what, static_cast<int>(i), cpus_of(places[p]), values[p]});
      }
    }
  }
  return result;
}

}  // namespace homing::topology
