#include "runtime/stack/stay.hpp"

#include "runtime/stack/suspend_point.hpp"
#include "runtime/task/context.hpp"

namespace homing::scheduler {
namespace {

/// [F9] A thread's private forks are those of its innermost stay: it has none when that changes. Either slot may be
/// null.
void move_lane(const thread_state& t, arena_slot* from, arena_slot* to, arena& into) noexcept {
  if (__builtin_expect(t.forks == nullptr, true)) {
    return;
  }
  if (from != nullptr) {
    from->forks.store(nullptr, sync::relaxed);
  }
  if (to != nullptr) {
    into.set_lane(*to, t.forks);
  }
  t.forks->ask();  // nobody there has looked at it
}

}  // namespace

attachment::attachment(thread_state& t, arena& a, slot_id number, thread_kind comes_as) noexcept
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
  move_lane(t, t.slot, &a.slot(number), a);
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

slot_id slot_held_in(const thread_state& t, const arena& a) noexcept {
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

attachment::~attachment() {
  thread_state& t = *base_.thread;
  arena& a = *t.in;
  drop_suspend_point(base_);
  move_lane(t, t.slot, outer_slot_, outer_arena_ != nullptr ? *outer_arena_ : a);
  if (outer_base_ != nullptr) {
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

namespace {

template <typename Call>
void for_each_slot_that_may_be_left(const thread_state& t, Call&& call) {
  if (t.in != nullptr && t.in->thieves_leave_tasks()) {
    call(*t.in, *t.slot, t.entered_as);
  }
  for_each_outer_stay(t, [&](arena& a, arena_slot& s, thread_kind entered_as) {
    if (a.thieves_leave_tasks() && &s != t.slot) {
      call(a, s, entered_as);
    }
  });
}

}  // namespace

bool step_aside(thread_state& t, rest_place from) noexcept {
  bool anew = false;
  for_each_slot_that_may_be_left(t, [&](arena& a, arena_slot& s, thread_kind entered_as) {
    if (&s != t.slot || from == rest_place::elsewhere) {
      anew |= a.become_absent(s, entered_as);
    }
  });
  t.is_absent |= anew;
  return anew;
}

void call_for_slots_left(const thread_state& t) noexcept {
  for_each_slot_that_may_be_left(t, [](arena& a, const arena_slot& s, thread_kind) {
    if (s.absent.load(sync::relaxed)) {
      a.call_for_work_left(s.domain.load(sync::relaxed));
    }
  });
}

void step_back(thread_state& t) noexcept {
  for_each_slot_that_may_be_left(t,
                                 [](arena& a, arena_slot& s, thread_kind entered_as) { a.end_absence(s, entered_as); });
  t.is_absent = false;
}

void notify_entry(thread_state& t) {
  if (__builtin_expect(t.in->observers.has_news(t.notified), false)) {
    t.in->observers.notify_entry(t.notified, t.entered_as == thread_kind::worker);
  }
}

arena_visit::arena_visit(thread_state& t, arena& a, slot_id number)
    : hold_(t, a),  // before an observer is told: it may end the arena
      stay_(t, a, number, thread_kind::application) {
  notify_entry(t);
  fp_.use(context_access::fp(a.default_context()));
}

arena_visit::~arena_visit() {
  thread_state& t = *stay_.base().thread;
  if (t.in->observers.any()) {
    t.in->observers.notify_exit(t.notified, false);
  }
}

}  // namespace homing::scheduler
