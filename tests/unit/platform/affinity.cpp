/// Property: affinity calls tell the mask in force, and the errno of what was refused.
/// Method: the real system calls, on this process's own threads.
#include <unistd.h>

#include <cerrno>
#include <thread>

#include <gtest/gtest.h>

#include "platform/cpu_set.hpp"

namespace homing::platform {
namespace {

TEST(affinity, the_mask_holds_the_current_cpu) {
  const auto own = get_affinity();
  ASSERT_TRUE(own.ok());
  EXPECT_TRUE(own.mask.contains(current_cpu()));
  EXPECT_TRUE(get_affinity(::getpid()).ok());
}

TEST(affinity, a_thread_goes_where_it_is_bound_and_others_stay) {
  const cpu_set before = get_affinity().mask;
  std::thread([&] {
    for (const cpu_id cpu : before.ids()) {
      const auto bound = set_affinity(0, {cpu});
      EXPECT_TRUE(bound.ok());
      EXPECT_EQ(bound.mask, cpu_set{cpu});
      EXPECT_EQ(current_cpu(), cpu);
    }
  }).join();
  EXPECT_EQ(get_affinity().mask, before);
}

TEST(affinity, cpus_that_do_not_exist_are_not_granted) {
  std::thread([] {
    cpu_set wanted = get_affinity().mask;
    const cpu_set before = wanted;
    wanted.add(cpu_id{100000});
    const auto bound = set_affinity(0, wanted);
    EXPECT_TRUE(bound.ok());
    EXPECT_EQ(bound.mask, before) << "the result says what was granted, not what was asked";
  }).join();
}

TEST(affinity, refusals_carry_errno_and_the_old_mask) {
  const cpu_set before = get_affinity().mask;
  for (const cpu_set& wanted : {cpu_set{}, cpu_set{cpu_id{100000}}}) {
    const auto refused = set_affinity(0, wanted);
    EXPECT_EQ(refused.error_number, EINVAL);
    EXPECT_EQ(refused.mask, before);
  }
  EXPECT_EQ(get_affinity(0x7ffffffe).error_number, ESRCH);
  EXPECT_EQ(set_affinity(0x7ffffffe, before).error_number, ESRCH);
}

}  // namespace
}  // namespace homing::platform
