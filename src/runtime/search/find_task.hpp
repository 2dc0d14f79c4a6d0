/// Where a thread that has run out of its own tasks finds the next one: rules 4 to 6 of TBB-NUMA's figures 5 and 7.
///
/// Threads: the calling thread, in its arena's slot.
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/arena/arena_access.hpp"
#include "runtime/task/task_proxy.hpp"
#include "runtime/thread/steal_backoff.hpp"

namespace homing::scheduler {

enum class patience : bool { none, some };  ///< whether mail for threads that are only expected is left for them

/// Of take_own(), what is done apart.
[[nodiscard, gnu::noinline]] task* take_own_from_below(thread_state& t, isolation_tag isolation);
/// The task behind a proxy from the own deque, or null if it was taken at its other place.
[[nodiscard, gnu::noinline]] task* take_own_mailed(thread_state& t, const sync::deque_item& taken) noexcept;

/// A task of the own deque (rule 3), or null.
[[nodiscard, gnu::always_inline]] inline task* take_own(thread_state& t, isolation_tag isolation) {
  const sync::deque_item newest =
      t.slot->tasks.pop_newest([isolation](std::uint64_t tag) { return tag_fits(tag, isolation); });
  if (__builtin_expect(newest.item == 0, false)) {
    return take_own_from_below(t, isolation);
  }
  if (__builtin_expect(is_proxy(newest.item), false)) {
    task* const mailed = take_own_mailed(t, newest);
    return mailed != nullptr ? mailed : take_own_from_below(t, isolation);
  }
  return as_task(newest.item);
}

/// What a look found.
struct found_task {
  task* what = nullptr;
  task_queue* from = nullptr;  ///< the shared queue in which it lay; null: it lay elsewhere

  explicit operator bool() const noexcept { return what != nullptr; }
};

/// What a thief does about forks that are private: asks for one, or, where nobody has answered, takes it; in the end
/// also one whose data is in another domain.
enum class insistence : std::uint8_t { asks, takes, takes_from_afar };

/// What a waiter says when there is work: waiters.hpp. Asked behind the load, or under the lock, by which the thread
/// sees that work: so it knows what the pusher knew. [A12]
using may_take_work = bool(const thread_state& t) noexcept;

/// Whether a round goes on to the next victim once there is news: mail has come, or what the thread waits for is over.
/// On its way past many victims in other domains it would else find out microseconds late. Nor does it visit more than
/// some victims, others each time: its cost does not grow with the machine, nor what it costs those whose deques it
/// looks at. A last round is whole: behind it the thread leaves.
enum class round_end : std::uint8_t { whole, at_news };

/// How far one round of a search goes.
struct search_round {
  search_scope scope;                  ///< what the thread may take
  may_take_work* may_take;             ///< and whether it may
  victims steals_from = victims::any;  ///< of those whom it may steal from
  patience with_mail = patience::none;
  insistence on_forks = insistence::asks;
  round_end end = round_end::whole;
  const wait_context* wait = nullptr;  ///< what the thread waits for; null: nothing that a round could see
  unsigned number = 0;                 ///< of the search's rounds, from 0 on: whom a round that is not whole visits
};

/// A critical task that the thread, and its waiter, may take.
[[nodiscard]] found_task take_critical(thread_state& t, const search_scope& scope, may_take_work* may_take) noexcept;

/// A task from mailboxes, shared queues, or another thread's deque; or none after one look everywhere, or as far as
/// how.end says.
[[nodiscard]] found_task find_task(thread_state& t, const search_round& how) noexcept;

/// Whether there may be mail for the thread's slot or domain: two lines that hardly change.
[[nodiscard]] bool has_mail(const thread_state& t, isolation_tag isolation) noexcept;

/// Puts a task into the own deque, or to the overflowed ones where that has no room and there is no memory for more.
inline void keep(thread_state& t, task& work, std::uint64_t tag) {
  if (__builtin_expect(!t.slot->tasks.try_push(as_item(work), tag), false)) {
    t.in->overflow(work);
  }
}

/// Puts a stolen task or mail into the own deque, where others find it: the thread must leave, and knows that only now.
/// [A12] False if there is no memory for that: the thread must run it.
[[nodiscard]] bool put_back(thread_state& t, task& found) noexcept;

/// Makes room for one more task in the own deque; false if there is no memory for that.
[[nodiscard]] bool has_room(thread_state& t) noexcept;

}  // namespace homing::scheduler
