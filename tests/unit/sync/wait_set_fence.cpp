// The fence of [W1] is needed and is there: a waiter enlists while a notifier changes the condition, with the set laid
// over two cache lines, so that the announcement of the waiter takes long to become visible.
#include <gtest/gtest.h>

#include <new>
#include <thread>

#include "sync/wait_set.hpp"
#include "unit/common/litmus.hpp"

namespace {

namespace sync = homing::sync;
using sync::wait_set;

/// The count and the lock are the last eight bytes of one line, the list's ends the first of the next. Notifiers leave
/// that second line with themselves, so the waiter's stores to it wait, and behind them the one to the count.
class set_over_two_lines {
 public:
  set_over_two_lines() : set_(new(place_ + line_bytes - 8) wait_set) {}
  wait_set& operator*() noexcept { return *set_; }

 private:
  static constexpr std::size_t line_bytes = 64;
  alignas(sync::cache_line_bytes) std::byte place_[2 * line_bytes + sizeof(wait_set)];
  wait_set* set_;
};

struct alignas(sync::cache_line_bytes) lonely {
  sync::atomic<unsigned> value{0};
};

TEST(wait_set_fence, a_waiter_that_enlists_and_a_notifier_that_looks_do_not_miss_each_other) {
  constexpr unsigned rounds = 500'000;
  set_over_two_lines set;
  lonely condition;
  homing::testing::meeting start;
  std::thread notifier([&] {
    homing::testing::time_budget budget;
    for (unsigned round = 1; round <= rounds && start.meet(round, budget); ++round) {
      homing::testing::dawdle(round % 127);
      condition.value.exchange(round, sync::seq_cst);
      (*set).notify(wait_set::limit::all, [](const wait_set::key&) { return true; });
    }
  });
  sync::atomic<bool> done{false};
  std::thread waiter([&] {
    homing::testing::time_budget budget;
    for (unsigned round = 1; round <= rounds; ++round) {
      static_cast<void>(condition.value.load(sync::relaxed));  // near at hand when the wait looks
      if (!start.meet(round, budget)) {
        break;
      }
      homing::testing::dawdle(round % 61);
      (*set).wait({}, [&] { return condition.value.load(sync::relaxed) == round; });
    }
    done.store(true, sync::release);
  });
  homing::testing::await("the end of a wait whose condition had come true", [&] { return done.load(); });
  notifier.join();
  waiter.join();
}

}  // namespace
