// How long a thread without work looks for some before it sleeps: on a large machine as long as on a small one.
#include <gtest/gtest.h>

#include <chrono>

#include "runtime/settings/scheduler_settings.hpp"

namespace {

using homing::scheduler::search_budget_for;
using namespace std::chrono_literals;

TEST(search_budget, does_not_shrink_with_the_machine) {
  for (const unsigned threads : {1U, 2U, 16U, 64U, 1024U})
    EXPECT_EQ(search_budget_for(threads, false), 250us) << threads;
}

TEST(search_budget, of_threads_that_share_cpus_is_bounded_for_all_of_them) {
  EXPECT_EQ(search_budget_for(2, true), 250us);
  for (const unsigned threads : {16U, 64U, 1024U})
    EXPECT_LE(search_budget_for(threads, true) * threads, 4ms) << threads;
  EXPECT_EQ(search_budget_for(0, true), 250us);
}

}  // namespace
