/// A made-up machine for the lab model's tests: two nodes of two CPUs, small caches, one link each way.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "machine.hpp"

namespace lab_test {

/// As `homing lab` hands machines over. One cycle is one nanosecond, so that figures read as both.
inline nlohmann::json machine_json() {
  return nlohmann::json::parse(R"({
    "name": "made-up", "clock_ghz": 1, "cpi": 1, "overlap": 4, "line": 64, "cache_scale": 1,
    "cpu_node": [0, 0, 1, 1], "cpu_core": [0, 1, 2, 3], "cpu_l3": [0, 0, 1, 1],
    "private": {"size_kib": 1, "ways": 2, "latency_ns": 2},
    "shared": [{"node": 0, "size_kib": 4, "ways": 4, "latency_ns": 20, "written_ns": 20},
               {"node": 1, "size_kib": 4, "ways": 4, "latency_ns": 20, "written_ns": 20}],
    "memory": [{"node": 0, "size_mib": 1, "bandwidth_gbs": 6.4}, {"node": 1, "size_mib": 1, "bandwidth_gbs": 6.4}],
    "dram_ns": [[100, 200], [200, 100]], "cache_ns": [[20, 150], [150, 20]], "pair_gbs": null,
    "links": [{"gbs": 3.2}, {"gbs": 3.2}], "routes": [[[], [0]], [[1], []]], "assumed": ["cpi"]})");
}

inline homing::lab::model::machine machine() { return homing::lab::model::parse_machine(machine_json().dump()); }

}  // namespace lab_test
