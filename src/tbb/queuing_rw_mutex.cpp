/// The fair reader-writer lock: a queue of requests, each of which waits on a byte of its own.
///
/// After Krieger, Stumm, Unrau and Hanna, "A Fair Fast Scalable Reader-Writer Lock" (1993): a doubly linked queue in
/// which neighbouring readers run together and each thread spins on its own request. Where the paper locks the
/// neighbours one by one, the lowest bit of the tail pointer locks the whole queue for some instructions; without
/// contention both are one atomic operation for a lock and one for an unlock, and this one can be checked by reading.
///
/// Threads: any; a request (scoped_lock) belongs to one thread at a time. Waiting: backs off, then yields its CPU.
/// Errors:  none. Protocol: docs/protocols/queuing_rw_mutex.md.
#include <oneapi/tbb/queuing_rw_mutex.h>

#include <cstdint>

#include "platform/check.hpp"
#include "sync/atomic.hpp"

namespace tbb::detail::r1 {

namespace sync = homing::sync;

struct queuing_rw_mutex_impl {
  using mutex = d1::queuing_rw_mutex;
  using request = mutex::scoped_lock;
  using kind_type = unsigned char;

  // my_state: what a request wants or, once granted, is. Written by its thread, read under the queue's lock.
  static constexpr kind_type reader = 0;
  static constexpr kind_type writer = 1;
  static constexpr kind_type upgrader = 2;  // a reader that waits to be the only one; a writer as soon as it is granted

  // --- the queue and its lock: [QW1] -------------------------------------------------------------------------------

  static constexpr std::uintptr_t lock_bit = 1;

  static bool is_locked(request* tail) noexcept { return (reinterpret_cast<std::uintptr_t>(tail) & lock_bit) != 0; }

  /// Returns the last request, or null.
  static request* lock_queue(mutex& m) noexcept {
    for (atomic_backoff backoff;; backoff.pause()) {
      request* tail = m.q_tail.load(sync::relaxed);
      auto* const locked = reinterpret_cast<request*>(reinterpret_cast<std::uintptr_t>(tail) | lock_bit);
      // [QW1] acquire: sees the links, and the data, as the last holder left them.
      if (!is_locked(tail) && m.q_tail.compare_exchange_weak(tail, locked, sync::acquire, sync::relaxed)) {
        return tail;
      }
    }
  }

  static void unlock_queue(mutex& m, request* tail) noexcept {
    m.q_tail.store(tail, sync::release);  // [QW1] publishes links and data to the next lock_queue()
  }

  // Links are atomic by the header's choice; under the queue's lock relaxed is enough.
  static request* next(const request& r) noexcept { return reinterpret_cast<request*>(r.my_next.load(sync::relaxed)); }
  static request* prev(const request& r) noexcept { return reinterpret_cast<request*>(r.my_prev.load(sync::relaxed)); }
  static void set_next(request& r, request* to) noexcept {
    r.my_next.store(reinterpret_cast<std::uintptr_t>(to), sync::relaxed);
  }
  static void set_prev(request& r, request* to) noexcept {
    r.my_prev.store(reinterpret_cast<std::uintptr_t>(to), sync::relaxed);
  }
  static kind_type kind(const request& r) noexcept { return r.my_state.load(sync::relaxed); }
  static bool is_granted(const request& r) noexcept { return r.my_going.load(sync::relaxed) != 0; }
  static bool is_active_reader(const request& r) noexcept { return kind(r) == reader && is_granted(r); }

  /// Takes r out of the locked queue. Returns the new last request.
  static request* unlink(request& r, request* tail) noexcept {
    request* const before = prev(r);
    request* const after = next(r);
    homing::platform::require_hot(
        [&] { return (before == nullptr || next(*before) == &r) && (after == nullptr ? tail : prev(*after)) == &r; },
        "QW1: a request is linked to both its neighbours, or the last");
    if (before != nullptr) {
      set_next(*before, after);
    }
    if (after != nullptr) {
      set_prev(*after, before);
    }
    return tail == &r ? before : tail;
  }

  /// Puts r behind `before`, or first if that is null, into the locked queue. Returns the new last request.
  static request* link_behind(request& r, request* before, request* tail) noexcept {
    request* const after = before != nullptr ? next(*before) : nullptr;
    set_prev(r, before);
    set_next(r, after);
    if (before != nullptr) {
      set_next(*before, &r);
    }
    if (after != nullptr) {
      set_prev(*after, &r);
    }
    return tail == before ? &r : tail;
  }

  // --- granting: [QW2] ---------------------------------------------------------------------------------------------

  /// The first waiting request may go; if it is a reader, so may the readers right behind it. The queue is locked.
  static void grant(request* first) noexcept {
    if (kind(*first) != reader) {
      first->my_going.store(1, sync::release);  // [QW2] publishes the last holder's data to await_grant()
      return;
    }
    for (request* r = first; r != nullptr && kind(*r) == reader; r = next(*r)) {
      r->my_going.store(1, sync::release);  // [QW2]
    }
  }

  static void await_grant(const request& r) noexcept {
    spin_wait_until_eq(r.my_going, static_cast<unsigned char>(1), sync::acquire);  // [QW2]
  }

  // --- the operations ----------------------------------------------------------------------------------------------

  static void prepare(mutex& m, request& r, bool write) noexcept {
    r.my_mutex = &m;
    r.my_state.store(write ? writer : reader, sync::relaxed);
    r.my_going.store(1, sync::relaxed);
    set_next(r, nullptr);
    set_prev(r, nullptr);
  }

  /// [QW3] An empty, unlocked queue is taken by one exchange.
  static bool take_empty(mutex& m, request& r) noexcept {
    request* empty = nullptr;
    // acquire: the data as the last holder left it; release: r's fields, for whoever locks the queue next.
    return m.q_tail.compare_exchange_strong(empty, &r, sync::acq_rel, sync::relaxed);
  }

  static void acquire(mutex& m, request& r, bool write) noexcept {
    prepare(m, r, write);
    if (take_empty(m, r)) {
      return;
    }
    request* const tail = lock_queue(m);
    const bool granted = tail == nullptr || (!write && is_active_reader(*tail));  // [QW2]
    r.my_going.store(granted ? 1 : 0, sync::relaxed);
    link_behind(r, tail, tail);
    unlock_queue(m, &r);
    if (!granted) {
      await_grant(r);
    }
  }

  static bool try_acquire(mutex& m, request& r, bool write) noexcept {
    // A writer's try that fails leaves the queue's line alone. A reader's needs the lock: the last request can go.
    request* const seen = m.q_tail.load(sync::relaxed);
    if (write && seen != nullptr) {
      return false;
    }
    prepare(m, r, write);
    if (take_empty(m, r)) {
      return true;
    }
    if (!write) {
      request* const tail = lock_queue(m);
      if (tail == nullptr || is_active_reader(*tail)) {
        link_behind(r, tail, tail);
        unlock_queue(m, &r);
        return true;
      }
      unlock_queue(m, tail);
    }
    r.initialize();
    return false;
  }

  static void release(request& r) noexcept {
    mutex& m = *r.my_mutex;
    if (prev(r) == nullptr && next(r) == nullptr) {
      request* alone = &r;
      // [QW3] release: the data, for the next holder; acquire: what earlier readers did before they left.
      if (m.q_tail.compare_exchange_strong(alone, nullptr, sync::acq_rel, sync::relaxed)) {
        r.initialize();
        return;
      }
    }
    request* const tail = lock_queue(m);
    const bool was_first = prev(r) == nullptr;
    request* const after = next(r);
    request* const new_tail = unlink(r, tail);
    if (was_first && after != nullptr && !is_granted(*after)) {
      grant(after);
    }
    unlock_queue(m, new_tail);
    r.initialize();
  }

  static bool upgrade_to_writer(request& r) noexcept {
    if (kind(r) == writer) {
      return true;
    }
    mutex& m = *r.my_mutex;
    request* tail = lock_queue(m);
    request* last = &r;  // of the readers that run
    while (next(*last) != nullptr && is_active_reader(*next(*last))) {
      last = next(*last);
    }
    if (next(*last) != nullptr && kind(*next(*last)) == upgrader) {
      // [QW4] Two readers that wait for each other to leave would wait for ever: the second one leaves. This comes
      // before the next test: the last running reader must not write past one that never let go.
      unlock_queue(m, tail);
      release(r);
      acquire(m, r, true);
      return false;
    }
    if (prev(r) == nullptr && last == &r) {
      r.my_state.store(writer, sync::relaxed);  // [QW4] the only holder
      unlock_queue(m, tail);
      return true;
    }
    // [QW4] Behind the last running reader: the next to be granted, and a barrier to readers who arrive.
    r.my_state.store(upgrader, sync::relaxed);
    r.my_going.store(0, sync::relaxed);
    if (last != &r) {
      tail = unlink(r, tail);
      tail = link_behind(r, last, tail);
    }
    unlock_queue(m, tail);
    await_grant(r);
    r.my_state.store(writer, sync::relaxed);
    return true;
  }

  static bool downgrade_to_reader(request& r) noexcept {
    if (kind(r) == reader) {
      return true;
    }
    mutex& m = *r.my_mutex;
    request* const tail = lock_queue(m);
    r.my_state.store(reader, sync::relaxed);
    if (next(r) != nullptr && kind(*next(r)) == reader) {
      grant(next(r));  // [QW2] the readers right behind join
    }
    unlock_queue(m, tail);
    return true;
  }
};

// Exported for programs built with older headers, which let the library name the mutex to a profiling tool.
TBB_EXPORT void construct(d1::queuing_rw_mutex&);

void construct(d1::queuing_rw_mutex&) {}

void acquire(d1::queuing_rw_mutex& m, d1::queuing_rw_mutex::scoped_lock& s, bool write) {
  queuing_rw_mutex_impl::acquire(m, s, write);
}

bool try_acquire(d1::queuing_rw_mutex& m, d1::queuing_rw_mutex::scoped_lock& s, bool write) {
  return queuing_rw_mutex_impl::try_acquire(m, s, write);
}

void release(d1::queuing_rw_mutex::scoped_lock& s) { queuing_rw_mutex_impl::release(s); }

bool upgrade_to_writer(d1::queuing_rw_mutex::scoped_lock& s) { return queuing_rw_mutex_impl::upgrade_to_writer(s); }

bool downgrade_to_reader(d1::queuing_rw_mutex::scoped_lock& s) { return queuing_rw_mutex_impl::downgrade_to_reader(s); }

bool is_writer(const d1::queuing_rw_mutex::scoped_lock& s) {
  return queuing_rw_mutex_impl::kind(s) == queuing_rw_mutex_impl::writer;
}

}  // namespace tbb::detail::r1
