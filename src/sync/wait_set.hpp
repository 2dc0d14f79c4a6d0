/// Threads that wait for a condition, each with a key; a notifier wakes those whose key matches.
///
/// Ownership: a waiter's record lives on its own stack; from enlisting until its word is set, the set owns the links.
/// Threads:   all calls from any thread. Zero bytes are a valid empty set, so that a table of them needs no start-up.
/// Order:     what happens before a notify that wakes a waiter happens before that waiter's return.
/// Errors:    none of its own; an exception from the condition leaves the set as it was and passes through.
/// Cost:      a notify that finds nobody is one load; see [W4] for what its caller owes.
/// Protocol:  docs/protocols/wait_set.md.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "sync/atomic.hpp"
#include "sync/linked_list.hpp"
#include "sync/spin_lock.hpp"

namespace homing::sync {

class wait_set {
 public:
  /// What a waiter waits for; both parts mean what the user of the set wants them to mean.
  struct key {
    std::uintptr_t address = 0;
    std::uintptr_t context = 0;
  };

  /// Why a wait ended.
  enum class outcome : std::uint32_t {
    ready,     ///< the condition held before anybody had to be woken
    notified,  ///< a notify chose this waiter; the condition may have changed again
    aborted,   ///< abort_all() chose this waiter
  };

  /// How many waiters a notify may wake.
  enum class limit : std::uint32_t { one = 1, all = std::numeric_limits<std::uint32_t>::max() };

  constexpr wait_set() noexcept = default;
  wait_set(const wait_set&) = delete;
  wait_set& operator=(const wait_set&) = delete;

  /// Blocks until `ready()` holds or a notify or abort_all() chooses this thread, whichever this thread sees first.
  /// `ready` is called once, outside the set's lock; it may throw.
  template <typename Ready>
  outcome wait(key what, Ready&& ready);

  /// Wakes waiters whose key satisfies `matches(const key&)`, longest waiting first. Wakes nobody who enlists later.
  template <typename Matches>
  void notify(limit at_most, Matches&& matches) noexcept;

  /// Wakes every waiter with outcome::aborted.
  void abort_all() noexcept;

  /// Forgets all waiters: for the child of a fork, where their threads do not exist.
  void reset_after_fork() noexcept;

 private:
  /// One blocked thread. `word` is the only field that its thread reads after another thread has chosen it.
  struct waiter : list_hook<waiter> {  // the hook is guarded by lock_
    key what;
    atomic<std::uint32_t> word{not_chosen};  // not_chosen, or an outcome
  };

  /// A waiter that leaves its set when its scope ends, by exception too.
  class enlistment {
   public:
    enlistment(wait_set& set, key what) noexcept;
    ~enlistment();
    enlistment(const enlistment&) = delete;
    enlistment& operator=(const enlistment&) = delete;

    outcome withdraw() noexcept;
    outcome park() noexcept;

   private:
    wait_set& set_;
    waiter waiter_;
    bool settled_ = false;
  };

  static constexpr std::uint32_t not_chosen = std::numeric_limits<std::uint32_t>::max();

  using match_function = bool (*)(const void* matches, const key& what);
  void choose(std::uint32_t at_most, match_function matches, const void* closure, outcome why) noexcept;
  void unlink(waiter& w) noexcept;

  atomic<std::uint32_t> count_{0};  // written under lock_, read without it
  spin_lock lock_;
  linked_list<waiter> waiters_;  // longest waiting first
};

template <typename Ready>
wait_set::outcome wait_set::wait(key what, Ready&& ready) {
  enlistment self(*this, what);                    // [W1]
  return ready() ? self.withdraw() : self.park();  // [W2] [W3]
}

template <typename Matches>
void wait_set::notify(limit at_most, Matches&& matches) noexcept {
  // [W4] seq_cst: the race is (count_, the condition); the caller has changed the condition by a seq_cst operation.
  if (count_.load(seq_cst) == 0) {
    return;
  }
  choose(
      static_cast<std::uint32_t>(at_most),
      [](const void* closure, const key& what) {
        return (*static_cast<const std::remove_reference_t<Matches>*>(closure))(what);
      },
      &matches, outcome::notified);
}

}  // namespace homing::sync
