#include "runtime/stack/stay.hpp"

namespace homing::scheduler {

void move_lane(const thread_state& t, arena_slot* from, arena_slot* to, arena& into) noexcept {
  if (from != nullptr) {
    from->forks.store(nullptr, sync::relaxed);
  }
  if (to != nullptr) {
    into.set_lane(*to, t.forks);
  }
  t.forks->ask();  // nobody there has looked at it
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

}  // namespace homing::scheduler
