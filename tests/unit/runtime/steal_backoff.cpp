/// How soon a thread steals again, and how much, by what its steals won: on made-up times, each of them given.
#include "runtime/thread/steal_backoff.hpp"

#include <gtest/gtest.h>

namespace {

using homing::scheduler::slot_id;
using homing::scheduler::steal_backoff;
using homing::scheduler::thief_is;
using homing::scheduler::victims;

constexpr std::uint64_t not_known = steal_backoff::not_known;
constexpr thief_is alone = thief_is::alone;
constexpr thief_is one_of_several = thief_is::one_of_several;

/// A steal at 1,000,000 ns that won so much, from a victim that never ran dry.
void steal_that_won(steal_backoff& b, std::int64_t won_ns, thief_is company) {
  constexpr std::int64_t at_ns = 1'000'000;
  b.has_stolen(slot_id{1}, not_known, at_ns, at_ns);
  ASSERT_TRUE(b.victim_to_judge());
  b.judge(at_ns + won_ns, {}, not_known, company);
  ASSERT_FALSE(b.victim_to_judge());
}

TEST(steal_backoff, a_steal_that_wins_less_than_it_cost_makes_the_next_one_late) {
  steal_backoff b;
  EXPECT_EQ(b.in_round(0), victims::any);
  steal_that_won(b, 100, alone);
  EXPECT_EQ(b.in_round(0), victims::none);
  EXPECT_EQ(b.in_round(1), victims::any);
  steal_that_won(b, 200, alone);
  EXPECT_EQ(b.in_round(0), victims::any);
}

TEST(steal_backoff, who_has_stolen_will_steal_at_once_but_after_two_that_did_not_pay) {
  steal_backoff b;
  EXPECT_FALSE(b.will_steal_at_once());  // its last task was its own
  const auto steal = [&] { b.has_stolen(slot_id{1}, not_known, 1'000'000, 1'000'000); };
  steal();
  EXPECT_TRUE(b.will_steal_at_once());
  b.judge(1'000'100, {}, not_known, alone);
  EXPECT_FALSE(b.will_steal_at_once());  // judged: the thread is looking
  steal();
  EXPECT_TRUE(b.will_steal_at_once());
  b.judge(1'000'100, {}, not_known, alone);
  steal();
  EXPECT_FALSE(b.will_steal_at_once());
}

TEST(steal_backoff, where_others_search_a_steal_must_win_more) {
  steal_backoff b;
  steal_that_won(b, 1000, one_of_several);
  EXPECT_EQ(b.in_round(0), victims::none);
  steal_that_won(b, 1200, one_of_several);
  EXPECT_EQ(b.in_round(0), victims::any);
}

TEST(steal_backoff, where_steals_cost_much_one_must_win_a_multiple_of_that_and_more_where_threads_share_cpus) {
  steal_backoff b;
  for (int i = 0; i < 1000; ++i) {  // each costs 1,000 ns, or a little less by the smoothed figure
    b.has_stolen(slot_id{1}, not_known, 1'000'000, 1'001'000);
  }
  const auto judged_after = [&](std::int64_t won_ns, thief_is company) {
    b.has_stolen(slot_id{1}, not_known, 1'000'000, 1'001'000);
    b.judge(1'001'000 + won_ns, {}, not_known, company);
    return b.in_round(0);
  };
  EXPECT_EQ(judged_after(1500, one_of_several), victims::none);
  EXPECT_EQ(judged_after(3000, one_of_several), victims::any);
  EXPECT_EQ(judged_after(3000, thief_is::without_own_cpu), victims::none);
  EXPECT_EQ(judged_after(12'000, thief_is::without_own_cpu), victims::any);
  EXPECT_EQ(judged_after(1500, alone), victims::none);
  EXPECT_EQ(judged_after(2000, alone), victims::any);
}

TEST(steal_backoff, only_the_time_counts_in_which_the_victim_had_work) {
  steal_backoff b;
  b.has_stolen(slot_id{1}, not_known, 1'000'000, 1'000'000);
  b.judge(1'100'000, 1'000'050, not_known, alone);
  EXPECT_EQ(b.in_round(0), victims::none);
}

/// Small tasks behind a thread that is busy, or waits for them: nobody else does them.
TEST(steal_backoff, steals_whose_victim_does_nothing_meanwhile_pay) {
  constexpr std::uint64_t as_it_was = 17;
  constexpr std::uint64_t pushed = 18;
  steal_backoff b;
  EXPECT_FALSE(b.backs_off());
  for (int i = 0; i < 8; ++i) {
    steal_that_won(b, 100, alone);
  }
  EXPECT_TRUE(b.backs_off());
  EXPECT_FALSE(b.knows_owners_state());
  const auto steal = [&](slot_id victim, std::uint64_t before, std::uint64_t after) {
    b.has_stolen(victim, before, 1'000'000, 1'000'000);
    EXPECT_TRUE(b.knows_owners_state());
    b.judge(1'000'100, {}, after, alone);
    return b.in_round(8);
  };
  const slot_id one{1};
  const slot_id other{2};
  EXPECT_EQ(steal(one, as_it_was, as_it_was), victims::with_several_tasks);
  EXPECT_EQ(steal(one, as_it_was, as_it_was), victims::none) << "the tenth that did not pay: fewer looks";
  EXPECT_EQ(steal(one, as_it_was, as_it_was), victims::any) << "the third in a row: backs off half as long";
  EXPECT_EQ(b.in_round(4), victims::with_several_tasks);
  EXPECT_EQ(steal(one, as_it_was, as_it_was), victims::any);
  EXPECT_EQ(b.in_round(4), victims::any) << "half of that";
  EXPECT_EQ(steal(one, as_it_was, pushed), victims::any);
  EXPECT_EQ(b.in_round(2), victims::none) << "its owner has done something: one round more";
  EXPECT_EQ(steal(one, pushed, pushed), victims::any);
  EXPECT_EQ(steal(other, pushed, pushed), victims::any);
  EXPECT_EQ(steal(other, pushed, pushed), victims::any);
  EXPECT_EQ(b.in_round(4), victims::with_several_tasks) << "two of each victim's are no three in a row";
}

TEST(steal_backoff, steals_that_win_little_take_twice_as_many_up_to_a_limit) {
  steal_backoff b;
  EXPECT_EQ(b.tasks_at_once(), 1U);
  for (std::size_t expected = 2; expected <= steal_backoff::tasks_max; expected *= 2) {
    steal_that_won(b, 100, alone);
    EXPECT_EQ(b.tasks_at_once(), expected);
  }
  steal_that_won(b, 100, alone);
  EXPECT_EQ(b.tasks_at_once(), steal_backoff::tasks_max);
}

TEST(steal_backoff, as_many_go_on_while_that_pays_and_half_where_it_pays_well) {
  steal_backoff b;
  steal_that_won(b, 100, alone);
  steal_that_won(b, 100, alone);
  steal_that_won(b, 300, alone);
  EXPECT_EQ(b.tasks_at_once(), 4U);
  steal_that_won(b, 5000, alone);
  EXPECT_EQ(b.tasks_at_once(), 2U);
  steal_that_won(b, 5000, alone);
  steal_that_won(b, 5000, alone);
  EXPECT_EQ(b.tasks_at_once(), 1U);
}

TEST(steal_backoff, of_what_a_divided_range_leaves_one_is_taken) {
  steal_backoff b;
  steal_that_won(b, 100, alone);
  steal_that_won(b, 100, alone);
  EXPECT_EQ(b.more_at_once(20), 0U) << "a million indices, divided to their ends";
  EXPECT_EQ(b.more_at_once(63), 0U);
  EXPECT_EQ(b.more_at_once(64), 3U);
}

TEST(steal_backoff, who_rests_steals_anew_as_it_likes) {
  steal_backoff b;
  steal_that_won(b, 100, alone);
  steal_that_won(b, 100, alone);
  EXPECT_TRUE(b.ends_at_rest(1)) << "it has not looked everywhere";
  EXPECT_EQ(b.in_round(0), victims::any);
  EXPECT_FALSE(b.ends_at_rest(1));
}

}  // namespace
