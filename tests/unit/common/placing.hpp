/// enforce() on a kernel of four nodes that the test stands in for.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <stdexcept>
#include <vector>

#include "memory/placer.hpp"
#include "unit/common/fake_kernel.hpp"
#include "unit/common/four_nodes.hpp"

namespace homing::testing {

using memory::home_target;
using memory::later_policy;
using ints = std::vector<int>;

inline const domain_set four = domain_set::first(4);

/// enforce() on the fake: elements are bytes, unless said otherwise.
template <class Dist>
memory::placer::result place(fake_kernel& kernel, const Dist& d, const placement_options& options = {},
                             later_policy later = later_policy::at_home) {
  const topology::snapshot machine = four_real_nodes();
  std::vector<home_target> targets;
  for (const auto& domain : machine.domains()) targets.push_back({machine.at(domain.memory_node).id, domain.index});
  const memory_range range(kernel.bytes(), d.size());
  const auto pages = memory::pages_of(range, fake_kernel::page, "test");
  for (const bool may_be_outdated : {true, false}) {
    const auto mappings = kernel.mappings(pages);
    const auto units = memory::huge_units(kernel, pages, mappings.all);
    const auto plan = memory::make_plan(detail::erase(d), range, 1, pages, fake_kernel::page, units);
    auto done = memory::placer(kernel, machine, plan, mappings, targets, later, options).run(may_be_outdated);
    if (!done.is_outdated) return done;
  }
  throw std::logic_error("outdated twice");
}

/// `count` pages, of which the first `touched` are on node 0.
struct kernel_of : fake_kernel {
  explicit kernel_of(std::size_t count, std::size_t touched) : fake_kernel(count) { touch(0, touched, 0); }
};
inline auto blocks(std::size_t pages) { return block(pages * fake_kernel::page, four); }
inline auto page_cycle(std::size_t pages) { return block_cyclic(pages * fake_kernel::page, fake_kernel::page, four); }

inline std::size_t refused(const placement_report& r, refusal_cause cause, int error) {
  for (const refusal_count& c : r.refused) {
    if (c.cause == cause && c.error_number == error) return c.pages;
  }
  return 0;
}
inline std::size_t all_refused(const placement_report& r) {
  std::size_t sum = 0;
  for (const refusal_count& c : r.refused) sum += c.pages;
  return sum;
}
inline void expect_adds_up(const placement_report& r) {
  EXPECT_EQ(r.asked, r.placed + r.later + r.unknown + all_refused(r)) << r.describe();
}
inline void fill(fake_kernel& k) {
  for (std::size_t i = 0; i < k.pages.size() * fake_kernel::page; ++i) k.bytes()[i] = static_cast<std::byte>(i * 7 / 3);
}
inline void expect_filled(fake_kernel& k) {
  for (std::size_t i = 0; i < k.pages.size() * fake_kernel::page; ++i) {
    ASSERT_EQ(k.bytes()[i], static_cast<std::byte>(i * 7 / 3)) << i;
  }
}
/// As Docker does.
inline void refuse_all(fake_kernel& k, int error) { k.mbind_errno = k.move_errno = error; }

}  // namespace homing::testing
