/// Who sleeps until a wait context is empty, by its address.
///
/// User code inlines the count and calls notify() only at zero, for every context, waited for or not: the usual answer,
/// nobody, costs one load. The address is a key and never followed: the context may be gone already.
///
/// Threads: any. Protocol: docs/protocols/sleep.md [S6].
#pragma once

#include <array>
#include <cstdint>

#include "platform/check.hpp"
#include "runtime/task/left_stack.hpp"
#include "runtime/thread/thread_state.hpp"
#include "sync/linked_list.hpp"
#include "sync/spin_lock.hpp"

namespace homing::scheduler {

class wait_table {
 public:
  /// On the sleeper's stack, or in its suspend point.
  struct entry : sync::list_hook<entry> {
    std::uintptr_t address = 0;
    thread_state* thread = nullptr;
    left_stack* stack = nullptr;  ///< instead of a thread: it is taken off the list and resumed
  };

  void add(entry& e) noexcept {
    bucket& b = bucket_of(e.address);
    const sync::scoped_spin_lock hold(b.lock);
    link(b, e);
  }

  /// Takes it off, if nobody has.
  void remove(entry& e) noexcept {
    bucket& b = bucket_of(e.address);
    const sync::scoped_spin_lock hold(b.lock);
    if (e.listed) {
      unlink(b, e);
    }
  }

  void notify(std::uintptr_t address) noexcept {
    bucket& b = bucket_of(address);
    // [S6] seq_cst: after the caller's seq_cst decrement of the count.
    if (b.sleepers.load(sync::seq_cst) != 0) {
      wake(b, address);
    }
  }

  // Around a fork: the child forgets who sleeps, since none of them is there.
  void lock_all() noexcept {
    for (bucket& b : buckets_) {
      b.lock.lock();
    }
  }
  void unlock_all() noexcept {
    for (bucket& b : buckets_) {
      b.lock.unlock();
    }
  }
  void forget() noexcept {
    for (bucket& b : buckets_) {
      b.entries.forget();
      b.sleepers.store(0, sync::relaxed);
    }
  }

 private:
  struct alignas(64) bucket {
    sync::atomic<std::uint32_t> sleepers{0};
    sync::spin_lock lock;
    sync::linked_list<entry> entries;
  };

  void wake(bucket& b, std::uintptr_t address) noexcept;

  static void link(bucket& b, entry& e) noexcept {
    b.entries.push_front(e);
    // [S6] relaxed: announced before the sleeper's heavy fence and its look at the count; partner notify(): the count,
    // then this.
    b.sleepers.fetch_add(1, sync::relaxed);
  }

  static void unlink(bucket& b, entry& e) noexcept {
    b.entries.remove(e);
    platform::require(b.sleepers.fetch_sub(1, sync::relaxed) > 0, "S6: each listed waiter is counted");
  }

  bucket& bucket_of(std::uintptr_t address) noexcept {
    return buckets_[(address >> 4U ^ address >> 12U) % buckets_.size()];
  }

  std::array<bucket, 256> buckets_;
};

/// The process's table.
extern wait_table waiting_threads;

}  // namespace homing::scheduler
