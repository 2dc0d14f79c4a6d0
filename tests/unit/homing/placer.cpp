// On a kernel of four nodes that the test stands in for: every page is placed or counted with its cause, whatever is
// refused, by every way that there is; calling again does nothing, failing half-way changes no contents.
#include <gtest/gtest.h>

#include <numeric>

#include "unit/common/placing.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

TEST(placer, moves_what_is_there_and_sets_the_policy_for_the_rest) {
  kernel_of k(16, 10);
  const auto [report, ok, held, is_outdated] = place(k, blocks(16));
  EXPECT_TRUE(ok);
  EXPECT_EQ(report.asked, 16U);
  EXPECT_EQ(report.placed, 10U);
  EXPECT_EQ(report.moved, 6U);
  EXPECT_EQ(report.later, 6U);
  EXPECT_TRUE(report.complete());
  EXPECT_TRUE(report.by_policy);
  EXPECT_FALSE(report.by_moving || report.by_copying || report.is_virtual || report.one_node);
  EXPECT_EQ(report.grain_bytes, fake_kernel::page);
  EXPECT_EQ(k.mbind_calls, 4U) << "one a block";
  k.touch(0, 16, 0);
  EXPECT_EQ(k.nodes(), (ints{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}));
  EXPECT_EQ(held, (std::vector{platform::address_range{k.first, k.first + 16 * fake_kernel::page}}));
  expect_adds_up(report);
}

TEST(placer, a_second_call_moves_nothing) {
  for (const means how : {means::automatic, means::policy, means::moving, means::copying}) {
    kernel_of k(16, 16);
    const placement_options options{.who = access::exclusive, .how = how};
    EXPECT_EQ(place(k, blocks(16), options).report.moved, 12U);
    const ints before = k.nodes();
    k.moved_addresses = 0;
    k.copied_by.clear();
    const auto report = place(k, blocks(16), options).report;
    EXPECT_EQ(report.moved, 0U);
    EXPECT_EQ(report.placed, 16U);
    EXPECT_EQ(k.nodes(), before);
    EXPECT_EQ(k.moved_addresses, 0U);
    EXPECT_TRUE(k.copied_by.empty());
  }
}

TEST(placer, patterns_finer_than_mappings_allow_are_moved_page_by_page) {
  const std::size_t count = mapping_count_max + 904;
  kernel_of k(count, 3000);
  const auto [report, ok, held, is_outdated] = place(k, page_cycle(count));
  EXPECT_TRUE(report.complete()) << report.describe();
  EXPECT_TRUE(report.by_moving);
  EXPECT_FALSE(report.by_policy);
  EXPECT_EQ(k.mbind_calls, 0U);
  EXPECT_EQ(k.move_calls, 1U);
  EXPECT_TRUE(held.empty()) << "no policy to take back";
  for (std::size_t p = 0; p < count; ++p) ASSERT_EQ(k.pages[p].node, static_cast<int>(p % 4));
}

TEST(placer, too_many_mappings_for_the_process_end_in_moves) {
  kernel_of k(64, 64);
  k.mapping_limit = 10;
  const auto report = place(k, page_cycle(64)).report;
  EXPECT_TRUE(report.complete()) << report.describe();
  EXPECT_TRUE(report.by_policy && report.by_moving);
}

TEST(placer, pages_not_there_are_populated_before_moves) {
  kernel_of k(8, 3);
  EXPECT_TRUE(place(k, blocks(8), {.how = means::moving}).report.complete());
  EXPECT_EQ(k.nodes(), (ints{0, 0, 1, 1, 2, 2, 3, 3}));
  kernel_of old(8, 3);  // before Linux 5.14
  old.populate_errno = EINVAL;
  const auto report = place(old, blocks(8), {.how = means::moving}).report;
  EXPECT_EQ(refused(report, refusal_cause::not_touched, EINVAL), 5U);
  EXPECT_EQ(report.placed, 3U);
  expect_adds_up(report);
}

TEST(placer, each_page_that_stays_has_its_cause) {
  kernel_of k(16, 16);
  k.pages[5].stuck = EACCES;
  k.pages[9].stuck = EBUSY;
  k.pages[10].stuck = EBUSY;
  k.pages[13].stuck = ENOMEM;
  k.pages[14].stuck = EIO;
  for (const means how : {means::automatic, means::moving}) {
    const auto [report, ok, held, is_outdated] = place(k, blocks(16), {.how = how});
    EXPECT_TRUE(ok) << "degrade";
    EXPECT_EQ(refused(report, refusal_cause::mapped_elsewhere, EACCES), 1U);
    EXPECT_EQ(refused(report, refusal_cause::busy, EBUSY), 2U);
    EXPECT_EQ(refused(report, refusal_cause::no_memory, ENOMEM), 1U);
    EXPECT_EQ(refused(report, refusal_cause::elsewhere, EIO), 1U);
    EXPECT_EQ(report.placed, 11U);
    expect_adds_up(report);
  }
}

TEST(placer, a_full_node_is_counted) {
  kernel_of k(16, 16);
  k.free_on_1 = 3;
  const auto report = place(k, blocks(16)).report;
  EXPECT_EQ(refused(report, refusal_cause::no_memory, ENOMEM), 1U);
  EXPECT_EQ(report.placed, 15U);
}

TEST(placer, fail_stops_takes_its_policy_back_and_says_so) {
  kernel_of k(16, 10);
  fill(k);
  k.pages[5].stuck = EBUSY;
  const auto [report, ok, held, is_outdated] = place(k, blocks(16), {.refusal = on_refusal::fail});
  EXPECT_FALSE(ok);
  EXPECT_TRUE(held.empty());
  EXPECT_EQ(refused(report, refusal_cause::busy, EBUSY), 1U);
  EXPECT_EQ(refused(report, refusal_cause::not_attempted, 0), 6U) << "those not touched lost their policy";
  for (const auto& p : k.pages) EXPECT_EQ(p.mode, platform::policy_mode::system_default);
  expect_adds_up(report);
  expect_filled(k);
}

TEST(placer, without_system_calls_only_an_exclusive_caller_gets_copies) {
  for (const int error : {EPERM, ENOSYS}) {
    kernel_of shared(16, 10);
    refuse_all(shared, error);
    const auto report = place(shared, blocks(16)).report;
    EXPECT_EQ(report.placed, 4U) << "those that were at home by chance";
    EXPECT_EQ(refused(report, refusal_cause::not_exclusive, error), 12U);
    EXPECT_TRUE(shared.copied_by.empty());
    expect_adds_up(report);

    kernel_of k(16, 10);
    refuse_all(k, error);
    fill(k);
    const auto [copied, ok, held, is_outdated] = place(k, blocks(16), {.who = access::exclusive});
    EXPECT_TRUE(copied.complete()) << copied.describe();
    EXPECT_TRUE(copied.by_copying);
    EXPECT_EQ(k.nodes(), (ints{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3})) << "untouched ones are touched";
    EXPECT_EQ(k.copied_by.size(), 12U);
    EXPECT_TRUE(held.empty());
    expect_filled(k);
    expect_adds_up(copied);
  }
}

TEST(placer, copying_to_a_full_node_is_counted_and_fails_if_asked) {
  for (const on_refusal refusal : {on_refusal::degrade, on_refusal::fail}) {
    kernel_of k(16, 16);
    refuse_all(k, EPERM);
    fill(k);
    k.free_on_1 = 3;
    const auto [report, ok, held, is_outdated] = place(k, blocks(16), {.refusal = refusal, .who = access::exclusive});
    EXPECT_EQ(ok, refusal == on_refusal::degrade);
    EXPECT_EQ(refused(report, refusal_cause::elsewhere, 0), 1U) << report.describe();
    EXPECT_EQ(report.placed, 15U);
    expect_adds_up(report);
    expect_filled(k);
  }
}

TEST(placer, copying_leaves_alone_what_it_can_not_copy) {
  const auto try_kind = [](auto change) {
    kernel_of k(16, 16);
    refuse_all(k, EPERM);
    fill(k);
    change(k.kind);
    const auto report = place(k, blocks(16), {.who = access::exclusive}).report;
    EXPECT_EQ(refused(report, refusal_cause::not_anonymous, EPERM), 12U) << report.describe();
    EXPECT_TRUE(k.copied_by.empty());
    expect_filled(k);
  };
  try_kind([](platform::mapping& m) { m.shared = true; });
  try_kind([](platform::mapping& m) { m.name = "/a/file"; });
  try_kind([](platform::mapping& m) { m.writable = false; });
  try_kind([](platform::mapping& m) { m.locked_bytes = 4096; });
}

TEST(placer, without_the_list_of_mappings_the_kernel_is_asked_all_the_same) {
  for (const means how : {means::automatic, means::policy, means::moving}) {
    kernel_of k(16, 10);
    k.mappings_errno = EMFILE;
    const auto report = place(k, blocks(16), {.how = how}).report;
    EXPECT_TRUE(report.complete()) << report.describe();
    EXPECT_EQ(report.placed + report.later, 16U);
  }
  kernel_of k(16, 16);
  k.mappings_errno = EMFILE;
  const auto report = place(k, blocks(16), {.who = access::exclusive, .how = means::copying}).report;
  EXPECT_EQ(refused(report, refusal_cause::not_anonymous, EMFILE), 12U) << "what may be copied is not known";
  EXPECT_TRUE(k.copied_by.empty());
}

TEST(placer, where_only_copying_was_asked_for_no_call_is_blamed) {
  kernel_of k(16, 16);
  const std::string said = place(k, blocks(16), {.how = means::copying}).report.describe();
  EXPECT_NE(said.find("12 pages refused: it would have to be copied, and copying needs access::exclusive"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("system calls"), std::string::npos) << said;
  refuse_all(k, EPERM);
  EXPECT_NE(place(k, blocks(16)).report.describe().find("access::exclusive (otherwise: Operation not permitted)"),
            std::string::npos);
}

TEST(placer, copying_that_fails_loses_nothing) {
  kernel_of k(16, 16);
  refuse_all(k, EPERM);
  fill(k);
  k.drop_errno = EINVAL;
  const auto report = place(k, blocks(16), {.who = access::exclusive}).report;
  EXPECT_EQ(report.placed, 4U);
  EXPECT_EQ(all_refused(report), 12U);
  expect_filled(k);
  k.drop_errno = 0;
  k.bind_errno = EINVAL;
  EXPECT_EQ(refused(place(k, blocks(16), {.who = access::exclusive}).report, refusal_cause::not_permitted, EINVAL),
            12U);
  EXPECT_TRUE(k.copied_by.empty());
  expect_filled(k);
}

TEST(placer, where_only_move_pages_is_refused_mbind_does_it_all) {  // Podman
  kernel_of k(16, 10);
  k.move_errno = EPERM;
  const auto report = place(k, blocks(16)).report;
  EXPECT_TRUE(report.complete()) << report.describe();
  EXPECT_EQ(report.placed, 10U);
  EXPECT_EQ(report.later, 6U);
  EXPECT_TRUE(report.by_policy);

  kernel_of fine(mapping_count_max + 104, mapping_count_max + 104);
  fine.move_errno = EPERM;
  const auto unseen = place(fine, page_cycle(fine.pages.size())).report;
  for (std::size_t p = 0; p < fine.pages.size(); ++p) ASSERT_EQ(fine.pages[p].node, static_cast<int>(p % 4));
  EXPECT_EQ(unseen.unknown, unseen.asked) << "one mapping on four nodes: the listing does not tell which page is where";
  EXPECT_EQ(fine.numa_maps({})->size(), 1U) << "the mappings are one again";
}

TEST(placer, interleaving_deals_what_is_there_and_what_comes) {
  kernel_of k(16, 8);
  const auto report = place(k, page_cycle(16), {}, later_policy::interleaved).report;
  EXPECT_EQ(report.placed, 8U);
  EXPECT_EQ(report.later, 8U);
  EXPECT_EQ(k.mbind_calls, 1U);
  k.touch(0, 16, 0);
  EXPECT_EQ(k.nodes(), (ints{0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3, 0, 1, 2, 3, 0})) << "the kernel's phase is its own";

  kernel_of podman(16, 16);
  podman.move_errno = EPERM;
  static_cast<void>(place(podman, page_cycle(16), {}, later_policy::interleaved));
  EXPECT_EQ(podman.nodes(), (ints{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
  for (const auto& p : podman.pages) EXPECT_EQ(p.mode, platform::policy_mode::interleave);
}

TEST(placer, pages_that_the_balancing_kernel_hides_are_placed_too) {
  for (const later_policy later : {later_policy::at_home, later_policy::interleaved}) {
    kernel_of k(16, 16);
    k.balancing = true;
    for (std::size_t p = 0; p < 16; p += 3) k.pages[p].watched = true;
    const auto report = place(k, page_cycle(16), {}, later).report;
    EXPECT_TRUE(report.complete()) << report.describe();
    EXPECT_EQ(report.placed, 16U) << report.describe();
    for (std::size_t p = 0; p < 16; ++p) EXPECT_EQ(k.pages[p].node, static_cast<int>(p % 4)) << p;
    expect_adds_up(report);
  }
}

TEST(placer, huge_pages_go_whole_to_the_home_of_most) {
  for (const bool told : {true, false}) {
    kernel_of k(64, 64);
    k.huge_first = {0, 16, 32, 48};
    k.tells_huge = told;
    // 24, 24 and 16 pages: the second huge page is half and half.
    const auto d = block(64 * fake_kernel::page, domain_set::first(3), weights{3, 3, 2});
    const auto report = place(k, d, {.how = means::moving}).report;
    EXPECT_EQ(report.grain_bytes, fake_kernel::huge);
    EXPECT_EQ(report.mixed, 16U);
    EXPECT_EQ(report.placed, 64U);
    EXPECT_EQ(k.moved_addresses, 2U) << "one address a huge page";
    ints expected(32, 0);
    expected.insert(expected.end(), 16, 1);
    expected.insert(expected.end(), 16, 2);
    EXPECT_EQ(k.nodes(), expected);
  }
}

TEST(placer, holes_and_read_only_files_are_told_before_anything_is_done) {
  kernel_of k(16, 16);
  k.pages[3].hole = k.pages[12].hole = true;
  auto report = place(k, blocks(16)).report;
  EXPECT_EQ(refused(report, refusal_cause::not_mapped, 0), 2U);
  EXPECT_EQ(report.placed, 14U);
  expect_adds_up(report);

  kernel_of file(16, 16);
  file.kind.name = "/a/file";
  file.kind.writable = false;
  report = place(file, blocks(16)).report;
  EXPECT_EQ(refused(report, refusal_cause::read_only_file, 0), 16U);
  EXPECT_EQ(file.mbind_calls + file.move_calls, 0U);
  EXPECT_EQ(file.nodes(), ints(16, 0));
  expect_adds_up(report);
}

TEST(placer, a_shared_files_pages_to_come_ignore_the_policy) {
  for (const on_refusal refusal : {on_refusal::degrade, on_refusal::fail}) {
    kernel_of file(16, 10);
    file.kind.name = "/a/file";
    file.kind.shared = true;
    const auto [report, ok, held, is_outdated] = place(file, blocks(16), {.refusal = refusal});
    EXPECT_EQ(ok, refusal == on_refusal::degrade);
    EXPECT_EQ(report.placed, 10U) << "those that are there are moved";
    EXPECT_EQ(report.later, 0U);
    EXPECT_EQ(refused(report, refusal_cause::not_touched, 0), 6U) << report.describe();
    expect_adds_up(report);
    for (const auto& p : file.pages) {
      EXPECT_EQ(p.mode == platform::policy_mode::system_default, !ok) << "held by the caller, or taken back";
    }
  }
  kernel_of tmpfs(16, 10);
  tmpfs.kind.name = "/run/file";
  tmpfs.kind.shared = tmpfs.kind.on_tmpfs = true;
  EXPECT_EQ(place(tmpfs, blocks(16)).report.later, 6U);
  for (const char* name : {"/memfd:x (deleted)", "/dev/shm/window"}) {  // an MPI window, for example
    kernel_of memory(16, 10);
    memory.kind.name = name;
    memory.kind.shared = true;
    EXPECT_EQ(place(memory, blocks(16)).report.later, 6U) << name;
  }
}

TEST(placer, strict_binds_and_preferred_prefers) {
  kernel_of k(4, 0);
  static_cast<void>(place(k, blocks(4), {.strength = binding::strict}));
  EXPECT_EQ(k.pages[2].mode, platform::policy_mode::bind);
  static_cast<void>(place(k, blocks(4)));
  EXPECT_EQ(k.pages[2].mode, platform::policy_mode::preferred);
  EXPECT_EQ(k.pages[2].nodes, platform::node_set{node_id{2}});
}

TEST(placer, a_way_that_was_asked_for_is_the_only_one_tried) {
  kernel_of k(16, 16);
  refuse_all(k, EPERM);
  for (const means how : {means::policy, means::moving}) {
    const auto report = place(k, blocks(16), {.who = access::exclusive, .how = how}).report;
    EXPECT_EQ(refused(report, refusal_cause::not_permitted, EPERM), 12U);
    EXPECT_TRUE(k.copied_by.empty());
    expect_adds_up(report);
  }
}

TEST(placer, an_empty_range_is_nothing) {
  kernel_of k(4, 4);
  const auto [report, ok, held, is_outdated] = place(k, blocks(0));
  EXPECT_TRUE(ok && report.complete());
  EXPECT_EQ(report.asked, 0U);
  EXPECT_EQ(report.describe(), "no whole page in the range has a home: nothing to place");
  EXPECT_EQ(k.mbind_calls, 0U);
}

}  // namespace
