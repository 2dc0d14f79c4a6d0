/// A thread's stays in arenas: whose slot and dispatcher are the thread's, one stay inside the other.
///
/// Threads:   the thread's own.
/// Protocols: docs/protocols/sleep.md [S15], arena.md [A4].
#pragma once

#include "platform/fp_settings.hpp"
#include "runtime/arena/arena.hpp"
#include "runtime/stack/visit_hold.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

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
void notify_entry(thread_state& t);

/// An application's stay in an arena by execute(): its observers are told, and the arena's floating-point settings hold
/// until the end, when those of before come back if they are others.
class arena_visit {
 public:
  /// The slot must have been occupied for this thread.
  arena_visit(thread_state& t, arena& a, slot_id number);
  ~arena_visit();
  arena_visit(const arena_visit&) = delete;
  arena_visit& operator=(const arena_visit&) = delete;

  [[nodiscard]] dispatcher& base() noexcept { return stay_.base(); }

 private:
  visit_hold hold_;  // ends last
  attachment stay_;
  platform::fp_guard fp_;
};

}  // namespace homing::scheduler
