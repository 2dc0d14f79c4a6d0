/// A thread's private forks, as the library sees them: thieves ask for one, and take it where no answer comes.
///
/// Ownership: a lane belongs to a thread's record and is never freed: who looks at a lane may come too late.
/// Threads:   ask(), has_private(), take() by any; the rest by the thread whose lane it is.
/// Cost:      take() passes a heavy fence, some microseconds. An answer to an ask is an ordinary spawn of its owner's.
/// Errors:    none but for the first array, std::bad_alloc.
/// Protocol:  docs/protocols/fork_lane.md, labels [F1] to [F10].
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include <homing/detail/fork_lane.hpp>

#include "platform/check.hpp"
#include "sync/asymmetric_fence.hpp"
#include "sync/atomic.hpp"
#include "sync/spin_lock.hpp"

namespace homing::scheduler {

struct thread_state;
using detail::fork_branch;

class lane final : public detail::fork_lane {
 public:
  /// `unjoined` is the owner's: below.
  lane(thread_state& owner, sync::atomic<unsigned>& unjoined, const detail::fork_calls& what_to_call);

  /// While a taken branch is looked at, its owner can't change arena, task or isolation. [F4]
  [[nodiscard]] const thread_state& owner() const noexcept { return owner_; }

  // ---- any thread

  /// [F6] The owner's next push must call the library.
  void ask() noexcept {
    // relaxed: the fence of whoever needs the order comes behind it. The look first: the line is the owner's.
    if (limit.load(sync::relaxed) != 0) {
      limit.store(0, sync::relaxed);
    }
  }
  /// Exact once a heavy fence has come after the owner's push, but that what a thief is just at counts. [F6]
  [[nodiscard]] bool has_private() const noexcept {
    // acquire, with F4's release: who sees top raised sees the lock held, or what came of it.
    return bottom.load(sync::relaxed) > top.load(sync::acquire) || lock_.is_held() ||
           bottom.load(sync::relaxed) > top.load(sync::relaxed);
  }
  /// The same: two or more.
  [[nodiscard]] bool has_several() const noexcept { return bottom.load(sync::relaxed) > top.load(sync::relaxed) + 1; }

  /// [F4] Takes the oldest branch if `accepts` does, which then makes it a task's: called while nobody else can have
  /// the branch, and its owner can't leave it. False if there is none, or another thief is at it.
  template <typename Accepts>
  [[nodiscard]] bool take(Accepts&& accepts) noexcept {
    if (!lock_.try_lock()) {
      return false;
    }
    const bool taken = take_under_lock(accepts);
    lock_.unlock();
    return taken;
  }

  // ---- the owner

  /// [F3] Behind a pop that found top above it: whether the branch is the owner's all the same.
  [[nodiscard]] bool has_back(std::size_t at) noexcept {
    const sync::scoped_spin_lock hold(lock_);
    return top.load(sync::relaxed) <= at;
  }
  /// The oldest branch, which is private no longer: to be given. Null if there is none.
  [[nodiscard]] fork_branch* remove_oldest() noexcept {
    const sync::scoped_spin_lock hold(lock_);
    const std::size_t at = top.load(sync::relaxed);
    if (at >= bottom.load(sync::relaxed)) {
      return nullptr;
    }
    platform::require_hot([&] { return slots[at]->run.load(sync::relaxed) != nullptr; },
                          "F5: a branch that is private has not been given");
    top.store(at + 1, sync::relaxed);
    unjoined_.fetch_add(1, sync::relaxed);
    return slots[at];
  }
  /// Where nothing is private, what has been given needs no places any more. [F8]
  void forget_given() noexcept {
    const sync::scoped_spin_lock hold(lock_);
    if (bottom.load(sync::relaxed) <= top.load(sync::relaxed)) {
      bottom.store(0, sync::relaxed);
      top.store(0, sync::relaxed);
    }
  }
  /// Whether no place is used, not even by what was given; a thief at work uses one.
  [[nodiscard]] bool is_clear() const noexcept {
    return bottom.load(sync::relaxed) == 0 && top.load(sync::relaxed) == 0;
  }

  /// [F5] Takes back the request, if there is one: true. Whoever has marked something before ask_all_lanes() asks
  /// again, or what it has marked is seen after this.
  [[nodiscard]] bool take_ask() noexcept {
    const bool asked = limit.exchange(open_limit_, sync::relaxed) == 0;
    sync::full_fence_after_exchange();  // limit, before the look at the mark; partner ask_all_lanes()
    return asked;
  }
  /// Whether the array is full: before the next push there must be room, or what was pushed last must go.
  [[nodiscard]] bool is_full() const noexcept { return bottom.load(sync::relaxed) > open_limit_; }
  /// A larger array, for the next take_ask() to allow; false if there is no memory.
  [[nodiscard]] bool make_room() noexcept;
  /// Takes the youngest back out, for want of room. False if a thief has it.
  [[nodiscard]] bool withdraw_youngest() noexcept {
    const sync::scoped_spin_lock hold(lock_);
    const std::size_t at = bottom.load(sync::relaxed) - 1;
    if (top.load(sync::relaxed) > at) {
      return false;
    }
    bottom.store(at, sync::relaxed);
    unjoined_.fetch_add(1, sync::relaxed);
    return true;
  }

  /// Whoever looks there finds the lane, until forget_known().
  void keep_known(fork_lane** where) noexcept {
    auto place = std::find(known_.begin(), known_.end(), where);  // a library may have come back to where it was
    if (place == known_.end()) {
      place = std::find(known_.begin(), known_.end(), nullptr);
    }
    if (place != known_.end()) {
      *place = where;
      *where = this;
    }
  }
  /// The thread ends. A place that shows something else was a library's that has been unloaded.
  void forget_known() noexcept {
    for (fork_lane**& where : known_) {
      if (where != nullptr && *where == this) {
        *where = nullptr;
      }
      where = nullptr;
    }
  }

  // The child of a fork finds no thief at work.
  void lock_for_fork() noexcept { lock_.lock(); }
  void unlock_after_fork() noexcept { lock_.unlock(); }

  lane* next_lane = nullptr;  ///< all lanes of the process; written once, before publication

 private:
  template <typename Accepts>
  bool take_under_lock(Accepts& accepts) noexcept {
    const std::size_t at = top.load(sync::relaxed);
    if (bottom.load(sync::relaxed) <= at) {
      return false;
    }
    // [F4] top, before the look at bottom; partner F2. acquire: of a branch that was pushed there (F1). release: the
    // lock, to has_private().
    top.store(at + 1, sync::release);
    sync::heavy_fence();
    if (bottom.load(sync::acquire) <= at || !accepts(*slots[at])) {
      top.store(at, sync::release);  // what accepts() has read of the owner's; partner: the acquire of F2
      return false;
    }
    platform::require_hot([&] { return top.load(sync::relaxed) == at + 1; }, "F4: who has the lock alone moves top");
    unjoined_.fetch_add(1, sync::relaxed);
    return true;
  }

  static constexpr std::size_t initial_capacity = sync::size_or_modelled(256, 2);

  thread_state& owner_;
  std::size_t open_limit_ = 0;
  std::unique_ptr<fork_branch*[]> array_;
  std::array<fork_lane**, 4> known_{};  ///< one for each library of the program that has the header's variable
  alignas(sync::cache_line_bytes) sync::spin_lock lock_;  ///< one at a time changes top; the owner, too
  sync::atomic<unsigned>& unjoined_;  ///< those that leave the lane are counted there, by the owner or a thief
};

/// Makes the lane known to ask_all_lanes().
void publish(lane& fresh) noexcept;
/// [F6] Of all threads: on behalf of one that is about to sleep in no arena, or of a cancellation.
void ask_all_lanes() noexcept;

}  // namespace homing::scheduler
