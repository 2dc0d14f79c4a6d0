/// Property: oneTBB's constraints select exactly the CPUs that they name.
/// Method: made-up machines with several nodes, two threads a core, and two core types.
#include "unit/common/topology_fixture.hpp"

namespace homing::topology::testing {
namespace {

// oneTBB's encoding of several core types: four high bits 1000, below them one bit a type.
constexpr int types(unsigned set) { return static_cast<int>(0x80000000U | set); }

ints core_types(const machine& m) { return {m.core_type_ids().begin(), m.core_type_ids().end()}; }

TEST(constraints, none_means_all) {
  const auto m = fixture("l3_groups");
  EXPECT_EQ(m->concurrency({}), 16U);
  EXPECT_EQ(m->threads_per_core({}), 2U);
  EXPECT_EQ(m->allowed_cpus_by_domain({}), (counts{8, 8}));
}

TEST(constraints, a_node_by_its_os_id) {
  const auto m = fixture("unequal");
  EXPECT_EQ(m->concurrency({.numa_id = 0}), 4U);
  EXPECT_EQ(m->concurrency({.numa_id = 5}), 1U);
  EXPECT_EQ(m->concurrency({.numa_id = 1}), 0U) << "no such node";
  EXPECT_EQ(m->allowed_cpus_by_domain({.numa_id = 2}), (counts{0, 2, 0}));
  EXPECT_EQ(m->threads_per_core({.numa_id = 1}), 0U);
}

TEST(constraints, threads_per_core) {
  const auto m = fixture("l3_groups");
  EXPECT_EQ(m->concurrency({.max_threads_per_core = 1}), 8U);
  EXPECT_EQ(m->concurrency({.max_threads_per_core = 2}), 16U);
  EXPECT_EQ(m->concurrency({.max_threads_per_core = 9}), 16U);
  EXPECT_EQ(m->threads_per_core({.max_threads_per_core = 1}), 1U);
  EXPECT_EQ(m->allowed_cpus_by_domain({.numa_id = 1, .max_threads_per_core = 1}), (counts{0, 4}));
}

TEST(constraints, core_types_ascend_by_efficiency) {
  const auto m = fixture("hybrid");
  EXPECT_EQ(core_types(*m), (ints{0, 1}));
  EXPECT_EQ(m->concurrency({.core_type = 0}), 4U);
  EXPECT_EQ(m->threads_per_core({.core_type = 0}), 1U);
  EXPECT_EQ(m->concurrency({.core_type = 1}), 4U);
  EXPECT_EQ(m->concurrency({.core_type = 1, .max_threads_per_core = 1}), 2U);
  EXPECT_EQ(m->concurrency({.core_type = 2}), 0U);
}

TEST(constraints, several_core_types_in_one_number) {
  const auto m = fixture("hybrid");
  EXPECT_EQ(m->concurrency({.core_type = types(0b01)}), 4U);
  EXPECT_EQ(m->concurrency({.core_type = types(0b11)}), 8U);
  EXPECT_EQ(m->concurrency({.core_type = types(0b11), .max_threads_per_core = 1}), 6U);
  EXPECT_EQ(m->concurrency({.core_type = types(0b100)}), 0U);
}

TEST(constraints, unknown_core_types_are_any) {
  const auto m = synthetic("node:2 core:2 pu:1");
  EXPECT_EQ(core_types(*m), (ints{-1}));
  EXPECT_EQ(m->concurrency({.core_type = -1}), 4U);
}

TEST(constraints, core_types_without_usable_cpus_are_not_listed) {
  const auto m = read_or_fail(claimed({.from = source::origin::xml, .text = fixture_path("hybrid")},
                                      {.mask = platform::cpu_set{cpu_id{0}, cpu_id{1}}}));
  EXPECT_EQ(core_types(*m), (ints{1}));
  EXPECT_EQ(m->concurrency({.core_type = 1}), 2U);
}

}  // namespace
}  // namespace homing::topology::testing
