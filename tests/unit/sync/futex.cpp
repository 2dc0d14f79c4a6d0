// A futex wait ends by a wake or a changed value, never by losing one: two threads hand a word to and fro.
#include "sync/futex.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

namespace {

using homing::sync::atomic;
using homing::sync::futex_wait;
using homing::sync::futex_wake;
using homing::sync::relaxed;
using homing::sync::seq_cst;

TEST(futex, wait_returns_at_once_when_the_word_differs) {
  const atomic<std::uint32_t> word{1};
  futex_wait(word, 0);
  EXPECT_EQ(word.load(relaxed), 1U);
}

TEST(futex, wake_of_nobody_is_harmless_for_any_count) {
  const atomic<std::uint32_t> word{0};
  futex_wake(word, 0);
  futex_wake(word, 1);
  futex_wake(word, UINT32_MAX);
}

TEST(futex, leaves_errno_alone) {
  const atomic<std::uint32_t> word{1};
  errno = EDOM;
  futex_wait(word, 0);
  futex_wake(word, 1);
  EXPECT_EQ(errno, EDOM);
}

TEST(futex, two_threads_alternate) {
  constexpr std::uint32_t rounds = 2000;
  atomic<std::uint32_t> word{0};
  const auto take_turns = [&word](std::uint32_t parity) {
    for (std::uint32_t turn = parity; turn < 2 * rounds; turn += 2) {
      for (std::uint32_t seen = 0; (seen = word.load(seq_cst)) != turn;) {
        futex_wait(word, seen);
      }
      word.store(turn + 1, seq_cst);
      futex_wake(word, 1);
    }
  };
  std::thread odd(take_turns, 1);
  take_turns(0);
  odd.join();
  EXPECT_EQ(word.load(relaxed), 2 * rounds);
}

}  // namespace
