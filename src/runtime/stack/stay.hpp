/// A thread's stays in arenas: whose slot and dispatcher are the thread's, one stay inside the other.
///
/// Threads:   the thread's own.
/// Protocols: docs/protocols/sleep.md [S15], arena.md [A4].
#pragma once

#include "platform/fp_settings.hpp"
#include "runtime/arena/arena.hpp"
#include "runtime/stack/suspend_point.hpp"
#include "runtime/stack/visit_hold.hpp"
#include "runtime/task/context.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

class attachment;
[[nodiscard]] slot_id slot_held_in(const thread_state& t, const arena& a) noexcept;

/// [F9] A thread's private forks are those of its innermost stay: it has none when that changes. Either slot may be
/// null. For a thread that has ever forked.
void move_lane(const thread_state& t, arena_slot* from, arena_slot* to, arena& into) noexcept;

/// A thread's stay in an arena's slot: what it was attached to before comes back at the end.
class attachment {
 public:
  /// The slot must have been occupied for this thread, or be one that it holds from an outer stay in the same arena.
  attachment(thread_state& t, arena& a, slot_id number, thread_kind comes_as) noexcept
      : outer_running_(t.running),
        outer_arena_(t.in),
        outer_slot_(t.slot),
        outer_number_(t.slot_number),
        outer_notified_(t.notified),
        outer_entered_as_(t.entered_as),
        outer_stay_(t.stay) {
    if (slot_held_in(t, a) == number) {
      outer_base_ = a.slot(number).base;
    }
    t.stay = this;
    if (__builtin_expect(t.forks != nullptr, false)) {
      move_lane(t, t.slot, &a.slot(number), a);
    }
    base_.thread = &t;
    // Entered from a coroutine's stack or from the thread's own.
    base_.deep = t.running != nullptr ? t.running->deep : t.own_stack;
    base_.ed.context = &a.default_context();
    base_.ed.original_slot = to_index(number);
    base_.ed.affinity_slot = to_number(no_affinity);
    t.running = &base_;
    t.in = &a;
    t.slot = &a.slot(number);
    t.slot_number = number;
    t.slot->base = &base_;
    t.notified = 0;
    t.entered_as = comes_as;
  }
  /// Leaves, and frees the slot unless an outer stay has it. Observers must have been told before.
  ~attachment() {
    thread_state& t = *base_.thread;
    arena& a = *t.in;
    if (__builtin_expect(base_.point != nullptr, false)) {
      drop_suspend_point(base_);
    }
    if (__builtin_expect(t.forks != nullptr, false)) {
      move_lane(t, t.slot, outer_slot_, outer_arena_ != nullptr ? *outer_arena_ : a);
    }
    if (__builtin_expect(outer_base_ != nullptr, false)) {
      t.slot->base = outer_base_;
    } else {
      a.release_slot(t.slot_number);
    }
    t.stay = outer_stay_;
    t.running = outer_running_;
    t.in = outer_arena_;
    t.slot = outer_slot_;
    t.slot_number = outer_number_;
    t.notified = outer_notified_;
    t.entered_as = outer_entered_as_;
  }
  attachment(const attachment&) = delete;
  attachment& operator=(const attachment&) = delete;

  [[nodiscard]] dispatcher& base() noexcept { return base_; }

 private:
  dispatcher base_;
  dispatcher* outer_running_;
  arena* outer_arena_;
  arena_slot* outer_slot_;
  slot_id outer_number_;
  std::uint64_t outer_notified_;
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
[[nodiscard]] inline slot_id slot_held_in(const thread_state& t, const arena& a) noexcept {
  if (t.in == &a) {
    return t.slot_number;
  }
  for (const attachment* stay = t.stay; stay != nullptr; stay = stay->outer_stay_) {
    if (stay->outer_arena_ == &a) {
      return stay->outer_number_;
    }
  }
  return no_slot;
}

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
inline void notify_entry(thread_state& t) {
  if (__builtin_expect(t.in->observers.has_news(t.notified), false)) {
    t.in->observers.notify_entry(t.notified, t.entered_as == thread_kind::worker);
  }
}

/// An application's stay in an arena by execute(): its observers are told, and the arena's floating-point settings hold
/// until the end, when those of before come back if they are others.
class arena_visit {
 public:
  /// The slot must have been occupied for this thread.
  arena_visit(thread_state& t, arena& a, slot_id number)
      : hold_(t, a),  // before an observer is told: it may end the arena
        stay_(t, a, number, thread_kind::application) {
    notify_entry(t);
    fp_.use(context_access::fp(a.default_context()));
  }
  ~arena_visit() {
    thread_state& t = *stay_.base().thread;
    if (__builtin_expect(t.in->observers.any(), false)) {
      t.in->observers.notify_exit(t.notified, false);
    }
  }
  arena_visit(const arena_visit&) = delete;
  arena_visit& operator=(const arena_visit&) = delete;

  [[nodiscard]] dispatcher& base() noexcept { return stay_.base(); }

 private:
  visit_hold hold_;  // ends last
  attachment stay_;
  platform::fp_guard fp_;
};

}  // namespace homing::scheduler
