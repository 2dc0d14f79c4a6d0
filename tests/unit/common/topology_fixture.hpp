/// What the topology tests share: reading a made-up machine, and short ways to look at it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "topology/source.hpp"

namespace homing::topology::testing {

inline std::string fixture_path(const std::string& name) { return HOMING_TEST_DATA "/topology/" + name + ".xml"; }

inline std::shared_ptr<const machine> read_or_fail(const source& from) {
  read_result result = read(from);
  EXPECT_TRUE(result.value) << result.error;
  if (!result.value) throw std::runtime_error(result.error);
  return result.value;
}

inline std::shared_ptr<const machine> synthetic(const std::string& text, domain_kind kind = domain_kind::node) {
  return read_or_fail({.from = source::origin::synthetic, .text = text, .kind = kind});
}

inline std::shared_ptr<const machine> fixture(const std::string& name, domain_kind kind = domain_kind::node) {
  return read_or_fail({.from = source::origin::xml, .text = fixture_path(name), .kind = kind});
}

/// Claims that a machine is this computer, so that the given limits cut it.
inline source claimed(source from, const given_limits& limits) {
  from.about = source::claim::this_system;
  from.limits = limits;
  if (!from.limits.quota_cpus) from.limits.quota_cpus = 0;
  return from;
}

inline domain_index at(unsigned index) { return static_cast<domain_index>(index); }

inline std::vector<int> numbers(const std::vector<cpu_id>& cpus) {
  std::vector<int> result;
  for (const cpu_id cpu : cpus) result.push_back(static_cast<int>(cpu));
  return result;
}

inline std::vector<int> nodes_of(const machine& m) {
  std::vector<int> result;
  for (const domain& d : m.domains()) result.push_back(static_cast<int>(d.node));
  return result;
}

inline std::vector<unsigned> order_from(const machine& m, unsigned from) {
  std::vector<unsigned> result;
  for (const domain_index d : m.nearest_first(at(from))) result.push_back(to_index(d));
  return result;
}

using ints = std::vector<int>;
using counts = std::vector<unsigned>;

}  // namespace homing::topology::testing
