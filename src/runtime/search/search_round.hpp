/// One look for the next task: how far it goes, and what it has found.
///
/// Threads: values of the searching thread.
#pragma once

#include <cstdint>

#include "runtime/arena/arena_access.hpp"
#include "runtime/task/search_scope.hpp"
#include "runtime/task/task_access.hpp"
#include "runtime/thread/steal_backoff.hpp"

namespace homing::scheduler {

enum class patience : bool { none, some };  ///< whether mail for threads that are only expected is left for them

/// What a look found.
struct found_task {
  task* what = nullptr;
  bool was_asked = false;  ///< whether the thread may take it, under the lock of the queue in which it lay [A12]

  explicit operator bool() const noexcept { return what != nullptr; }
};

/// What a thief does about forks that are private: asks for one, or, where nobody has answered, takes it; in the end
/// also one whose data is in another domain.
enum class insistence : std::uint8_t { asks, takes, takes_from_afar };

/// What a waiter says when there is work: waiters.hpp. Asked behind the load, or under the lock, by which the thread
/// sees that work: so it knows what the pusher knew. [A12]
using may_take_work = bool(const thread_state& t) noexcept;

/// That question in one look. A refusal holds to the look's end: what was passed over comes before what is seen next,
/// also where the thread may stay after all, since another has left meanwhile. [A12]
class take_permission {
 public:
  explicit take_permission(may_take_work* asked) noexcept : asked_(asked) {}
  take_permission(const take_permission&) = delete;
  take_permission& operator=(const take_permission&) = delete;

  bool operator()(const thread_state& t) noexcept {
    refused_ = refused_ || !asked_(t);
    return !refused_;
  }

 private:
  may_take_work* asked_;
  bool refused_ = false;
};

/// Whether a round goes on to the next victim once there is news: mail has come, and is taken then, or what the thread
/// waits for is over. On its way past many victims in other domains it would else find out microseconds late. Nor does
/// it visit more than some victims, others each time: its cost does not grow with the machine, nor what it costs those
/// whose deques it looks at. A last round is whole: behind it the thread leaves.
enum class round_end : std::uint8_t { whole, at_news };

/// How far one round of a search goes.
struct search_round {
  search_scope scope;                  ///< what the thread may take
  take_permission& may_take;           ///< and whether it may; the look's
  victims steals_from = victims::any;  ///< of those whom it may steal from
  patience with_mail = patience::none;
  insistence on_forks = insistence::asks;
  round_end end = round_end::whole;
  const wait_context* wait = nullptr;  ///< what the thread waits for; null: nothing that a round could see
  unsigned number = 0;                 ///< of the search's rounds, from 0 on: whom a round that is not whole visits

  /// Whether what the thread waits for is over.
  [[nodiscard]] bool wait_is_over() const noexcept { return wait != nullptr && !arena_access::is_waited_for(*wait); }
};

}  // namespace homing::scheduler
