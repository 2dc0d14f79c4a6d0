// No entry of a deque stays hidden from thieves, whichever way the owner and a thief moved the two ends: owner's pop
// and push against a thief that raises head ([D3], [D9]), and the owner's compaction against the same ([D8]).
// What a thief hides for a moment, it tells of ([D10]).
#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

#include "sync/work_deque.hpp"
#include "unit/common/litmus.hpp"

namespace {

namespace sync = homing::sync;
using sync::work_deque;

constexpr auto any = [](std::uint64_t) { return true; };

/// A thief that takes all the time, and counts.
class greedy_thief {
 public:
  explicit greedy_thief(work_deque& deque)
      : thread_([this, &deque] {
          homing::testing::restlessness pace;
          while (!over_.load(sync::acquire)) {
            const bool found = deque.steal(any).item != 0;
            if (found) {
              taken_.fetch_add(1, sync::release);
            }
            pace.round(found);
          }
        }) {}
  ~greedy_thief() {
    over_.store(true, sync::release);
    thread_.join();
  }
  [[nodiscard]] unsigned taken() const noexcept { return taken_.load(sync::acquire); }

 private:
  alignas(sync::cache_line_bytes) sync::atomic<bool> over_{false};
  alignas(sync::cache_line_bytes) sync::atomic<unsigned> taken_{0};
  std::thread thread_;
};

/// The owner pops and pushes at the same index while the thief moves head over what it saw empty. After each round the
/// owner keeps its hands off until the thief has found what is left: a hidden entry is a hang.
TEST(work_deque_fence, what_is_pushed_where_a_thief_raised_head_is_found) {
  constexpr unsigned rounds = 600'000;
  work_deque deque;
  greedy_thief thief(deque);
  unsigned popped = 0;
  unsigned pushed = 0;
  homing::testing::time_budget budget;
  for (unsigned round = 1; round <= rounds && budget.left(); ++round) {
    const unsigned count = 1 + round % 3;
    for (unsigned i = 0; i < count; ++i) {
      deque.push(++pushed, 0);
    }
    homing::testing::dawdle(round % 13);
    for (unsigned i = 0; i < count; ++i) {
      popped += deque.pop(any).item != 0 ? 1U : 0U;
    }
    homing::testing::dawdle(round % 7);
    deque.push(++pushed, 0);
    homing::testing::await_spinning("a thief's look at an entry below head",
                                    [&] { return thief.taken() + popped == pushed; });
  }
}

/// The owner never pops, so that each 64th push finds the array full and moves what is left, one entry mostly, to its
/// start, while the thief looks at an array that seems empty.
TEST(work_deque_fence, what_a_full_array_moves_is_found) {
  constexpr unsigned pushes = 3'000'000;
  work_deque deque;
  greedy_thief thief(deque);
  unsigned pushed = 0;
  homing::testing::time_budget budget;
  while (pushed < pushes && budget.left()) {
    deque.push(++pushed, 0);
    homing::testing::dawdle(pushed / 64 % 8);
    ASSERT_TRUE(deque.reserve_one());
    homing::testing::await_spinning("a thief's look at an entry that was moved",
                                    [&] { return thief.taken() == pushed; });
  }
}

/// What a thief puts out of sight by moving head may be missed by another thread's last look. The thief tells so when
/// it is in sight again: then somebody can be called for it. [D10]
TEST(work_deque_fence, a_thief_tells_of_what_it_has_hidden) {
  work_deque deque;
  deque.push(1, 0);
  unsigned told = 0;
  // In the middle of the thief's look, the owner takes the entry and pushes another one in its place.
  const auto stolen = deque.steal(
      [&](std::uint64_t) {
        static_cast<void>(deque.pop(any));
        deque.push(2, 0);
        return true;
      },
      [&] {
        ++told;
        EXPECT_TRUE(deque.has(any));
      });
  EXPECT_EQ(stolen.item, 0U);
  EXPECT_EQ(told, 1U);
  EXPECT_EQ(deque.steal(any, [&] { ++told; }).item, 2U);
  EXPECT_EQ(told, 1U) << "nothing was hidden";
}

/// An owner that empties its deque from the bottom and pushes anew, an isolated thief that may take nothing but moves
/// head over the hole, and a sleeper's last look: if that misses the entry, the thief tells afterwards.
TEST(work_deque_fence, who_missed_an_entry_is_told) {
  constexpr unsigned rounds = 10'000'000;
  constexpr auto none = [](std::uint64_t) { return false; };
  constexpr auto bottom = [](std::uint64_t tag) { return tag == 1; };
  work_deque deque;
  sync::atomic<bool> over{false};
  alignas(sync::cache_line_bytes) sync::atomic<unsigned> told{0};
  std::thread thief([&] {
    while (!over.load(sync::acquire)) {
      static_cast<void>(deque.steal(none, [&] { told.fetch_add(1, sync::seq_cst); }));
    }
  });
  unsigned missed = 0;
  homing::testing::time_budget budget;
  for (unsigned round = 1; round <= rounds && budget.left(); ++round) {
    deque.push(round, 1);
    deque.push(round, 2);
    static_cast<void>(deque.pop(bottom));  // a hole at 0
    homing::testing::dawdle(round % 17);
    while (deque.pop(any).item != 0) {
    }
    deque.push(round, 0);
    homing::testing::dawdle(round % 5);
    // The owner looks in the sleeper's place: what is hidden from it is hidden from all.
    unsigned heard = told.load(sync::seq_cst);
    if (!deque.has(any)) {
      ++missed;
      // Whoever is told looks again. A word may be late, of what was hidden before: then the next one comes, too.
      do {
        homing::testing::await("a thief's word on what it had hidden",
                               [&] { return told.load(sync::seq_cst) != heard; });
        heard = told.load(sync::seq_cst);
      } while (!deque.has(any));
    }
    while (deque.pop(any).item != 0) {
    }
  }
  over.store(true, sync::release);
  thief.join();
  std::printf("entries missed by a last look, and told of: %u\n", missed);
}

}  // namespace
