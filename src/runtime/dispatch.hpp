/// What the exported functions ask of the scheduler: spawn, wait, run in an arena.
///
/// Threads: the calling thread acts for itself. Errors: user exceptions pass through wait(), as oneTBB documents.
#pragma once

#include "platform/fp_settings.hpp"
#include "runtime/arena.hpp"
#include "runtime/dispatcher.hpp"
#include "runtime/thread_state.hpp"

namespace homing::scheduler {

using wait_context = tbb::detail::d1::wait_context;

/// A thread's stay in an arena's slot: what it was attached to before comes back at the end.
class attachment {
 public:
  /// The slot must have been occupied for this thread, or be one that it holds from an outer stay in the same arena.
  attachment(thread_state& t, arena& a, slot_id number, thread_kind comes_as) noexcept;
  /// Leaves, and frees the slot unless an outer stay has it. Observers must have been told before.
  ~attachment();
  attachment(const attachment&) = delete;
  attachment& operator=(const attachment&) = delete;

  [[nodiscard]] dispatcher& base() noexcept { return base_; }

 private:
  dispatcher base_;
  dispatcher* outer_running_;
  arena* outer_arena_;
  arena_slot* outer_slot_;
  slot_id outer_number_;
  std::uint64_t outer_greeted_;
  thread_kind outer_entered_as_;
  attachment* outer_stay_;
  dispatcher* outer_base_ = nullptr;  ///< of the slot, if an outer stay holds it
  friend slot_id slot_held_in(const thread_state& t, const arena& a) noexcept;
  template <typename Call>
  friend void for_each_outer_stay(const thread_state& t, Call&& call);
  template <typename Call>
  friend void for_each_arena_of(const thread_state& t, Call&& call);
};

/// Once for each stay around the innermost: arena, slot, and as what the thread has entered it.
template <typename Call>
void for_each_outer_stay(const thread_state& t, Call&& call) {
  for (const attachment* stay = t.stay; stay != nullptr; stay = stay->outer_stay_) {
    if (stay->outer_arena_ != nullptr) {
      call(*stay->outer_arena_, *stay->outer_slot_, stay->outer_entered_as_);
    }
  }
}

/// Once for each arena that the thread is in.
template <typename Call>
void for_each_arena_of(const thread_state& t, Call&& call) {
  if (t.in != nullptr) {
    call(*t.in);
  }
  for (const attachment* stay = t.stay; stay != nullptr; stay = stay->outer_stay_) {
    bool seen = stay->outer_arena_ == nullptr || stay->outer_arena_ == t.in;
    for (const attachment* inner = t.stay; inner != stay; inner = inner->outer_stay_) {
      seen = seen || inner->outer_arena_ == stay->outer_arena_;
    }
    if (!seen) {
      call(*stay->outer_arena_);
    }
  }
}

/// The slot that the thread holds in `a` from further up its stack, or no_slot.
[[nodiscard]] slot_id slot_held_in(const thread_state& t, const arena& a) noexcept;

/// Where a thread rests: at its slot, or where it can take nothing that lies there: in an isolated wait, or at the door
/// of another arena.
enum class rest_place : bool { slot, elsewhere };

/// [S15] Before a rest: marks the slots that the thread holds and can't serve, where nobody else might. True if there
/// are more than before; then a heavy fence and call_for_slots_left() must follow.
[[nodiscard]] bool step_aside(thread_state& t, rest_place from) noexcept;
void call_for_slots_left(const thread_state& t) noexcept;
/// At the end of the search in which it rested.
void step_back(thread_state& t) noexcept;

/// Tells the arena's observers, if some are new since the thread's last call, that it is there.
void greet_observers(thread_state& t);

/// An application's stay in an arena by execute(): its observers are told, and the arena's floating-point settings hold
/// until the end, when those of before come back whatever the body did.
class arena_visit {
 public:
  /// The slot must have been occupied for this thread.
  arena_visit(thread_state& t, arena& a, slot_id number);
  ~arena_visit();
  arena_visit(const arena_visit&) = delete;
  arena_visit& operator=(const arena_visit&) = delete;

  [[nodiscard]] dispatcher& base() noexcept { return stay_.base(); }

 private:
  attachment stay_;
  platform::fp_guard fp_;
};

/// Binds the context to the calling thread's current one, unless it is bound or isolated already.
inline void bind_context(thread_state& t, task_group_context& ctx) noexcept {
  if (!context_access::is_bound_or_isolated(ctx)) {
    const dispatcher& d = *t.running;
    context_access::bind(ctx, d.outermost ? nullptr : d.ed.context, t.in->default_context(), *t.contexts);
  }
}

/// Makes the task ready in the calling thread's arena; with an affinity that is an address, in its mailbox too.
void spawn(thread_state& t, task& work, task_group_context& ctx);
void spawn(thread_state& t, task& work, task_group_context& ctx, slot_id affinity);

/// Makes the task ready in the shared queue of a domain, in the calling thread's arena (TBB-NUMA 4.4.3, detaching).
/// Spawns it where a queue would be of no use: in an isolated region.
void detach(thread_state& t, task& work, task_group_context& ctx, std::uint16_t domain);

/// Whether a task that has done its work may go on with more of the same kind, as if it had been taken anew: the loop
/// that runs it has not what it waits for, and no urgent task is there. To be asked by a running task.
[[nodiscard]] bool may_go_on(const thread_state& t) noexcept;

/// Runs `first` (may be null) and then whatever is there until the wait context is empty; rethrows what `ctx` caught.
void run_and_wait(thread_state& t, task* first, wait_context& wait, task_group_context& ctx);

/// A worker's stay: joins, runs until the arena has no work or wants fewer workers, leaves. Consumes the search mark
/// and the reference that its assignment carried.
void work_in_arena(thread_state& t, arena& a) noexcept;

/// Runs `body` in `a`, on this thread if there is a slot for it, otherwise on one that is in the arena; waits for it.
void execute_in_arena(thread_state& t, arena& a, tbb::detail::d1::delegate_base& body);

/// Runs `body` with a new isolation tag, or the given one.
void isolate(thread_state& t, tbb::detail::d1::delegate_base& body, isolation_tag tag);

/// Takes part in the arena until no work is left in it, nor a worker, unless the caller is inside.
void work_until_empty(thread_state& t, arena& a);

/// To be called when a wait context has become empty: wakes whoever sleeps for that address.
void notify_waiters(std::uintptr_t address) noexcept;

}  // namespace homing::scheduler
