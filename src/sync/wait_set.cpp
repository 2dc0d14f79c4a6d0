/// How a waiter enters and leaves its set, and how it is chosen: docs/protocols/wait_set.md.
#include "sync/wait_set.hpp"

#include <new>

#include "platform/check.hpp"
#include "sync/futex.hpp"

namespace homing::sync {

wait_set::enlistment::enlistment(wait_set& set, key what) noexcept : set_(set) {
  waiter_.what = what;
  {
    const scoped_spin_lock guard(set_.lock_);
    set_.waiters_.push_back(waiter_);
    // [W1] relaxed: only holders of lock_ write it; the fence below orders it against the condition.
    set_.count_.store(set_.count_.load(relaxed) + 1, relaxed);
  }
  full_fence();  // [W1] the race is (count_, the condition); partner: [W4]
}

wait_set::enlistment::~enlistment() {
  if (!settled_) {
    withdraw();  // the condition threw
  }
}

wait_set::outcome wait_set::enlistment::withdraw() noexcept {
  {
    const scoped_spin_lock guard(set_.lock_);
    if (waiter_.listed) {
      set_.unlink(waiter_);
      settled_ = true;
      return outcome::ready;
    }
  }
  // [W2] A notifier has taken this record off the list and is about to write its word: the stack must outlive that.
  return park();
}

wait_set::outcome wait_set::enlistment::park() noexcept {
  std::uint32_t word = not_chosen;
  // [W3] acquire: pairs with the release in choose() [W5].
  while ((word = waiter_.word.load(acquire)) == not_chosen) {
    futex_wait(waiter_.word, not_chosen);
  }
  settled_ = true;
  return static_cast<outcome>(word);
}

void wait_set::unlink(waiter& w) noexcept {
  waiters_.remove(w);
  platform::require(count_.load(relaxed) > 0, "W1: each enlisted waiter is counted");
  // relaxed: only holders of lock_ write it, and a notifier that still reads the old value merely looks in vain. [W4]
  count_.store(count_.load(relaxed) - 1, relaxed);
}

void wait_set::choose(std::uint32_t at_most, match_function matches, const void* closure, outcome why) noexcept {
  plain<waiter*> chosen = nullptr;
  plain<waiter*>* end = &chosen;
  {
    const scoped_spin_lock guard(lock_);
    for (waiter* w = waiters_.first(); w != nullptr && at_most > 0;) {
      waiter* const next = w->next;
      if (matches(closure, w->what)) {
        unlink(*w);
        w->next = nullptr;
        *end = w;
        end = &w->next;
        --at_most;
      }
      w = next;
    }
  }
  while (chosen != nullptr) {
    waiter* const next = chosen->next;  // [W5] read first: once its word is set, the record may be gone
    atomic<std::uint32_t>& word = chosen->word;
    platform::require_hot([&] { return word.load(relaxed) == not_chosen; }, "W5: a record is chosen once");
    // [W5] release: pairs with the acquire in park() [W3].
    word.store(static_cast<std::uint32_t>(why), release);
    futex_wake(word, 1);
    chosen = next;
  }
}

void wait_set::abort_all() noexcept {
  // [W4] seq_cst: as in notify().
  if (count_.load(seq_cst) != 0) {
    choose(
        static_cast<std::uint32_t>(limit::all), [](const void*, const key&) { return true; }, nullptr,
        outcome::aborted);
  }
}

void wait_set::reset_after_fork() noexcept { new (this) wait_set(); }

}  // namespace homing::sync
