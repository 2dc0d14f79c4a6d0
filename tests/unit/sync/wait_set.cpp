// No waiter is lost and none is woken for another's key: single steps from within the condition, then real threads.
#include "sync/wait_set.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using homing::sync::atomic;
using homing::sync::relaxed;
using homing::sync::seq_cst;
using homing::sync::wait_set;
using outcome = wait_set::outcome;

constexpr auto everybody = [](const wait_set::key&) { return true; };

/// Waits for a number that other threads raise.
void await(const atomic<int>& number, int value) {
  while (number.load(seq_cst) < value) {
    std::this_thread::yield();
  }
}

TEST(wait_set, a_condition_that_holds_ends_the_wait) {
  wait_set set;
  EXPECT_EQ(set.wait({1, 2}, [] { return true; }), outcome::ready);
  set.notify(wait_set::limit::all, [](const wait_set::key&) -> bool { throw std::logic_error("nobody is there"); });
}

TEST(wait_set, an_exception_leaves_the_set_usable) {
  wait_set set;
  EXPECT_THROW(set.wait({1, 2}, []() -> bool { throw std::runtime_error("x"); }), std::runtime_error);
  EXPECT_EQ(set.wait({1, 2}, [] { return true; }), outcome::ready);
}

TEST(wait_set, a_waiter_chosen_while_it_looks_takes_the_notification) {
  wait_set set;
  for (const bool found : {true, false}) {
    EXPECT_EQ(set.wait({1, 2}, [&] { return set.notify(wait_set::limit::one, everybody), found; }), outcome::notified);
    EXPECT_EQ(set.wait({1, 2}, [&] { return set.abort_all(), found; }), outcome::aborted);
  }
}

TEST(wait_set, a_waiter_chosen_while_its_condition_throws_leaves_cleanly) {
  wait_set set;
  const auto chosen_then_throws = [&set]() -> bool {
    set.notify(wait_set::limit::one, everybody);
    throw std::runtime_error("x");
  };
  EXPECT_THROW(set.wait({1, 2}, chosen_then_throws), std::runtime_error);
  EXPECT_EQ(set.wait({1, 2}, [] { return true; }), outcome::ready);
}

TEST(wait_set, wakes_matching_keys_oldest_first) {
  wait_set set;
  atomic<int> enlisted{0};
  atomic<int> woken{0};
  std::array<atomic<int>, 4> place{};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto why = set.wait({static_cast<std::uintptr_t>(i % 2), 0}, [&] { return enlisted.fetch_add(1), false; });
      EXPECT_EQ(why, outcome::notified);
      place[static_cast<std::size_t>(i)] = woken.fetch_add(1) + 1;
    });
    await(enlisted, i + 1);
  }
  const auto odd = [](const wait_set::key& what) { return what.address == 1; };
  set.notify(wait_set::limit::one, odd);
  await(woken, 1);
  set.notify(wait_set::limit::one, odd);
  await(woken, 2);
  set.notify(wait_set::limit::one, odd);  // nobody is left with that key
  EXPECT_EQ(woken.load(), 2);
  set.notify(wait_set::limit::all, everybody);
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(place[1].load(), 1);
  EXPECT_EQ(place[3].load(), 2);
}

TEST(wait_set, abort_wakes_all) {
  wait_set set;
  atomic<int> enlisted{0};
  std::vector<std::thread> threads;
  for (std::uintptr_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_EQ(set.wait({i, i}, [&] { return enlisted.fetch_add(1), false; }), outcome::aborted);
    });
  }
  await(enlisted, 8);
  set.abort_all();
  for (auto& thread : threads) {
    thread.join();
  }
}

TEST(wait_set, a_reset_forgets_waiters) {
  wait_set set;
  // As in a fork's child, the record stays where it was, but nobody waits on it any more.
  EXPECT_EQ(set.wait({1, 2}, [&] { return set.notify(wait_set::limit::all, everybody), set.reset_after_fork(), true; }),
            outcome::notified);
  EXPECT_EQ(set.wait({1, 2}, [] { return true; }), outcome::ready);
}

/// The race of the protocol page, (count, condition), again and again: a lost wake-up is a hang.
TEST(wait_set, ping_pong_loses_no_wake_up) {
  constexpr int rounds = 20000;
  wait_set set;
  atomic<int> turn{0};
  const auto play = [&](int parity) {
    for (int mine = parity; mine < 2 * rounds; mine += 2) {
      while (turn.load(relaxed) != mine) {
        set.wait({static_cast<std::uintptr_t>(parity), 0}, [&] { return turn.load(relaxed) == mine; });
      }
      turn.exchange(mine + 1, seq_cst);
      set.notify(wait_set::limit::one,
                 [&](const wait_set::key& what) { return what.address == static_cast<std::uintptr_t>(1 - parity); });
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_EQ(turn.load(), 2 * rounds);
}

/// The same race in its narrowest form: both sides start together, one changes the condition while the other enlists.
TEST(wait_set, a_notify_that_meets_an_enlisting_waiter_is_not_lost) {
  constexpr int rounds = 20000;
  wait_set set;
  atomic<int> arrived{0};
  atomic<int> condition{0};
  const auto start_together = [&arrived](int round) {
    arrived.fetch_add(1, seq_cst);
    for (int spins = 0; arrived.load(relaxed) < 2 * round; ++spins) {
      if (spins > 1000) {
        std::this_thread::yield();
      }
    }
  };
  std::thread notifier([&] {
    for (int round = 1; round <= rounds; ++round) {
      start_together(round);
      for (int delay = round % 64; delay > 0; --delay) {
        static_cast<void>(arrived.load(relaxed));  // moves through the other side's few instructions
      }
      condition.exchange(round, seq_cst);
      set.notify(wait_set::limit::all, everybody);
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    start_together(round);
    while (condition.load(relaxed) != round) {
      set.wait({}, [&] { return condition.load(relaxed) == round; });
    }
  }
  notifier.join();
  EXPECT_EQ(condition.load(), rounds);
}

/// A mutex made of a flag and the set: sixteen threads on few CPUs, every release wakes one.
TEST(wait_set, a_mutex_made_of_it_excludes_and_never_hangs) {
  constexpr int thread_count = 16;
  constexpr int rounds = 2000;
  wait_set set;
  atomic<bool> held{false};
  long counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        while (held.exchange(true, seq_cst)) {
          set.wait({}, [&] { return !held.load(relaxed); });
        }
        ++counter;
        if (round % 64 == 0) {
          std::this_thread::yield();  // lets others find the lock held
        }
        held.exchange(false, seq_cst);
        set.notify(wait_set::limit::one, everybody);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(counter, static_cast<long>(thread_count) * rounds);
}

}  // namespace
