// No entry of a deque stays hidden from thieves, whichever way the owner and a thief moved the two ends: owner's pop
// and push against a thief that raises head ([D3], [D9]), and the owner's compaction against the same ([D8]).
#include <gtest/gtest.h>

#include <thread>

#include "sync/work_deque.hpp"
#include "unit/litmus.hpp"

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

}  // namespace
