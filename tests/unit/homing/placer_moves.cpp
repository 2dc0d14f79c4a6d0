// What the kernel's calls answer while pages are moved: held pages, full nodes, huge pages that come by populating,
// shared memory that others have made; on a kernel of four nodes that the test stands in for.
#include <gtest/gtest.h>

#include <new>

#include "unit/common/placing.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

TEST(placer, a_page_that_is_held_for_a_moment_keeps_no_other_and_is_tried_again) {
  for (const later_policy later : {later_policy::at_home, later_policy::interleaved}) {
    for (std::size_t held = 0; held < 16; ++held) {
      for (const int moves : {1, 2, 3}) {
        kernel_of k(16, 16);
        k.pages[held].held = moves;
        const auto report = place(k, page_cycle(16), {}, later).report;
        EXPECT_EQ(report.placed, 16U) << held << ": " << report.describe();
        for (std::size_t p = 0; p < 16; ++p) EXPECT_EQ(k.pages[p].node, static_cast<int>(p % 4)) << held << ' ' << p;
        expect_adds_up(report);
      }
    }
  }
}

TEST(placer, pages_that_are_held_for_long_are_told_of_and_keep_no_other) {
  kernel_of k(16, 16);
  for (const std::size_t p : {1, 2, 6}) k.pages[p].held = 1000;
  const auto report = place(k, page_cycle(16), {}, later_policy::interleaved).report;
  EXPECT_EQ(report.placed, 13U) << report.describe();
  EXPECT_EQ(refused(report, refusal_cause::busy, EAGAIN), 3U) << report.describe();
  EXPECT_LT(k.move_calls, 40U);
  expect_adds_up(report);
}

TEST(placer, a_held_page_keeps_none_behind_one_that_is_refused_by_itself) {
  kernel_of k(32, 32);  // all that is away goes to one node: one run but for the page that is answered by itself
  k.pages[3].held = 1000;
  k.pages[5].stuck = EACCES;
  const auto report =
      place(k, block(32 * fake_kernel::page, domain_set{domain_index{1}}), {.how = means::moving}).report;
  EXPECT_EQ(report.placed, 30U) << report.describe();
  EXPECT_EQ(refused(report, refusal_cause::busy, EAGAIN), 1U) << report.describe();
  EXPECT_EQ(refused(report, refusal_cause::mapped_elsewhere, EACCES), 1U) << report.describe();
  expect_adds_up(report);
}

TEST(placer, a_full_node_keeps_no_page_from_the_others) {
  kernel_of k(64, 64);
  k.free_on_1 = 4;
  const auto report = place(k, page_cycle(64), {}, later_policy::interleaved).report;
  EXPECT_EQ(refused(report, refusal_cause::no_memory, ENOMEM), 12U) << report.describe();
  EXPECT_EQ(report.placed, 52U) << report.describe();
  for (std::size_t p = 0; p < 64; ++p) {
    if (p % 4 != 1) {
      EXPECT_EQ(k.pages[p].node, static_cast<int>(p % 4)) << p;
    }
  }
  EXPECT_LT(k.move_calls, 20U);
  expect_adds_up(report);
}

TEST(placer, where_nothing_can_be_moved_nothing_is_touched) {
  kernel_of k(4608, 0);
  refuse_all(k, EPERM);
  const auto report = place(k, page_cycle(4608)).report;
  EXPECT_EQ(report.placed, 0U) << report.describe();
  for (const auto& p : k.pages) ASSERT_EQ(p.node, fake_kernel::untouched);
  expect_adds_up(report);
}

TEST(placer, pages_that_are_populated_as_huge_ones_move_as_such) {
  kernel_of k(256, 0);
  k.populates_huge = true;
  const auto report = place(k, page_cycle(256), {.how = means::moving}).report;
  EXPECT_TRUE(report.complete()) << report.describe();
  EXPECT_EQ(report.mixed, 256U);
  EXPECT_EQ(report.grain_bytes, fake_kernel::huge);
  EXPECT_LE(k.moved_addresses, 16U) << "an address a huge page";
  expect_adds_up(report);
}

TEST(placer, shared_memory_that_others_have_made_is_found_and_moved) {
  for (const bool can_map : {true, false}) {
    kernel_of k(16, 12);
    k.kind.shared = true;
    for (std::size_t p = 0; p < 8; ++p) k.pages[p].unmapped = true;
    if (!can_map) k.populate_errno = EINVAL;
    const auto report = place(k, blocks(16)).report;
    expect_adds_up(report);
    if (can_map) {
      EXPECT_EQ(report.placed, 12U) << report.describe();
      EXPECT_EQ(report.later, 4U) << report.describe();
      EXPECT_EQ(k.nodes(), (ints{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, -1, -1, -1, -1}));
    }
  }
}

TEST(placer, no_policy_outlives_its_owner) {
  const auto expect_none = [](const fake_kernel& k) {
    for (const auto& p : k.pages) ASSERT_EQ(p.mode, platform::policy_mode::system_default);
  };
  kernel_of podman(16, 16);
  podman.move_errno = EPERM;
  const auto dealt = place(podman, page_cycle(16), {.how = means::moving}, later_policy::interleaved);
  EXPECT_TRUE(dealt.held.empty());
  expect_none(podman);
  for (std::size_t reads = 2; reads < 5; ++reads) {
    kernel_of k(16, 16);
    k.balancing = true;  // each look reads the mappings
    k.reads_left = reads;
    bool failed = false;
    try {
      static_cast<void>(place(k, blocks(16)));
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (failed) expect_none(k);
    EXPECT_TRUE(failed || reads > 2);
  }
}

}  // namespace
