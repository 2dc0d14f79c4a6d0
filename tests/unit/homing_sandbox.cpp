// Under filters that refuse what Docker and Podman refuse, with EPERM and with ENOSYS, every call tells the truth, and
// copying, which needs none of those calls, is run and checked. Each test installs its filter in a child of its own.
#include <homing/placement.hpp>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "unit/placement_fixture.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

const std::vector<int> docker = {SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages, SYS_migrate_pages};
const std::vector<int> podman = {SYS_move_pages, SYS_migrate_pages};

// From here on the calls fail with `error`, in this process, for ever.
bool refuse(const std::vector<int>& calls, int error) {
  std::vector<sock_filter> program = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const int call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

constexpr int no_filter = 77;

// Runs the checks in a child; their failures are printed there and make the test fail here.
void in_sandbox(const std::vector<int>& calls, const std::function<void(int error)>& checks) {
  for (const int error : {EPERM, ENOSYS}) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (!refuse(calls, error)) ::_exit(no_filter);
      checks(error);
      std::fflush(nullptr);
      ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_filter) GTEST_SKIP() << "no filter can be installed here";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "errno " << error << ", status " << status;
  }
}

TEST(sandbox, where_and_verify_read_the_listing_instead) {
  in_sandbox(docker, [](int) {
    const own_memory m(100);
    EXPECT_EQ(where(m.range()).untouched, 100U);
    for (const std::size_t p : {3, 4, 5, 50, 99}) m.data()[p * page_bytes()] = 1;
    const page_census census = where(m.range());
    EXPECT_EQ(census.source, page_source::numa_maps);
    EXPECT_EQ(census.untouched, 95U);
    EXPECT_EQ(census.unknown, 0U);
    EXPECT_EQ(on_nodes(census), list(m.range()).on);
    const page_census part = where(m.span().subspan(4 * page_bytes(), 50 * page_bytes()));
    EXPECT_EQ(part.pages - part.untouched, 3U) << "a part of a mapping, too: there is one node";
    const auto v = verify(block(m.size()), m.span());
    EXPECT_EQ(v.source, page_source::numa_maps);
    EXPECT_EQ(v.at_home + v.away, 5U);
  });
}

TEST(sandbox, a_policy_that_is_refused_is_told_with_its_errno) {
  in_sandbox(docker, [](int error) {
    const own_memory m(10);
    m.data()[0] = 1;
    const auto placed = localize(m.range(), domain_index{0}, {.how = means::policy});
    EXPECT_TRUE(placed.ok());
    EXPECT_EQ(placed.report().placed, 1U);
    ASSERT_EQ(placed.report().refused.size(), 1U);
    EXPECT_EQ(placed.report().refused[0].cause, refusal_cause::not_permitted);
    EXPECT_EQ(placed.report().refused[0].error_number, error);
    EXPECT_EQ(placed.report().refused[0].pages, 9U);
    EXPECT_FALSE(placed.report().by_policy);
    EXPECT_FALSE(localize(m.range(), domain_index{0}, {.refusal = on_refusal::fail, .how = means::policy}).ok());
  });
}

TEST(sandbox, copying_works_without_the_calls_and_loses_nothing) {
  if (!two_node_claim::is_possible()) GTEST_SKIP() << "needs one node, and CPUs 0 and 1";
  in_sandbox(docker, [](int error) {
    const two_node_claim claim;
    const own_memory m(256);
    fill(m.span().first(m.size() / 2));
    const auto d = block_cyclic(m.size(), 16 * page_bytes());
    const auto shared = enforce(d, m.span());
    EXPECT_EQ(refused(shared.report(), refusal_cause::not_exclusive), 64U + 128U) << shared.report().describe();
    EXPECT_EQ(shared.report().refused[0].error_number, error);
    EXPECT_EQ(shared.report().placed, 64U);
    expect_adds_up(shared.report());

    const auto placed = enforce(d, m.span(), {.who = access::exclusive});
    EXPECT_TRUE(placed.report().by_copying);
    EXPECT_FALSE(placed.report().by_policy || placed.report().by_moving);
    EXPECT_EQ(placed.report().placed, 128U) << placed.report().describe();
    EXPECT_EQ(refused(placed.report(), refusal_cause::elsewhere), 128U) << "this computer has no second node";
    expect_adds_up(placed.report());
    EXPECT_TRUE(is_filled(m.span().first(m.size() / 2)));
    for (const unsigned char byte : m.span().last(m.size() / 2)) ASSERT_EQ(byte, 0);
    EXPECT_EQ(on_nodes(where(m.range())), list(m.range()).on);
    EXPECT_EQ(list(m.range()).on, (std::map<int, std::size_t>{{0, 256}}));
  });
}

TEST(sandbox, shared_memory_is_not_copied) {
  if (!two_node_claim::is_possible()) GTEST_SKIP() << "needs one node, and CPUs 0 and 1";
  in_sandbox(docker, [](int) {
    const two_node_claim claim;
    const own_memory m(8, MAP_SHARED | MAP_ANONYMOUS);
    fill(m.span());
    const auto placed = localize(m.range(), domain_index{1}, {.who = access::exclusive});
    EXPECT_EQ(refused(placed.report(), refusal_cause::not_anonymous), 8U);
    EXPECT_FALSE(placed.report().by_copying);
    EXPECT_TRUE(is_filled(m.span()));
  });
}

TEST(sandbox, with_mbind_alone_policies_work_and_counts_come_from_the_listing) {
  in_sandbox(podman, [](int) {
    const own_memory m(20);
    fill(m.span().first(10 * page_bytes()));
    {
      const auto placed = localize(m.range(), domain_index{0}, {.how = means::policy});
      if (!placed.report().by_policy) return;  // a sandbox around the tests refuses more
      EXPECT_EQ(placed.report().placed, 10U);
      EXPECT_EQ(placed.report().later, 10U);
      EXPECT_TRUE(placed.report().complete());
      EXPECT_EQ(where(m.range()).source, page_source::numa_maps);
    }
    EXPECT_EQ(list(m.range()).policy, "default");
    EXPECT_TRUE(is_filled(m.span().first(10 * page_bytes())));
  });
}

}  // namespace
