/// The production's manager for models of single calls: workers that wait to be a thread, arenas that have made one,
/// and the manager's private functions. To be included by one file a program.
#pragma once

#include "workers_in_small.hpp"

namespace {

/// Private member functions, named for this model: the arguments of an explicit instantiation may name them. Each name
/// is written out: GCC takes a friend that a template declares for a mistake.
template <typename Name, auto member>
struct opened {
  friend auto function_of(Name /*name*/) { return member; }
};
struct next_assignment {
  friend auto function_of(next_assignment /*name*/);
};
struct reserve {
  friend auto function_of(reserve /*name*/);
};
struct unreserve {
  friend auto function_of(unreserve /*name*/);
};
struct call_stand_in {
  friend auto function_of(call_stand_in /*name*/);
};
struct reserve_making {
  friend auto function_of(reserve_making /*name*/);
};
struct make_thread {
  friend auto function_of(make_thread /*name*/);
};
template struct opened<next_assignment, &resource_manager::next_assignment>;
template struct opened<reserve, &resource_manager::reserve>;
template struct opened<unreserve, &resource_manager::unreserve>;
template struct opened<call_stand_in, &resource_manager::call_stand_in>;
template struct opened<reserve_making, &resource_manager::reserve_making>;
template struct opened<make_thread, &resource_manager::make_thread>;

template <typename Name, typename... Arguments>
auto call(resource_manager& manager, Name name, Arguments&&... arguments) {
  return (manager.*function_of(name))(std::forward<Arguments>(arguments)...);
}

/// A worker that was made for a task, which its maker has run meanwhile.
struct worker_in_hand {
  world& in;
  worker& self;
  thread_state& me;

  /// The newest that was made.
  explicit worker_in_hand(world& w)
      : in(w),
        self(*static_cast<worker*>(here->beds[here->beds_taken.load(sync::relaxed) - 1].argument)),
        me(make_this_thread(thread_kind::worker, self.domain, 0)) {
    self.parker.park();  // its maker's token
  }
  /// Comes to the arena that it was made for, and leaves it.
  void come_and_leave() {
    arena* const a = std::exchange(self.assigned, nullptr);
    require(a != nullptr, "it was made for an arena");
    static_cast<void>(work_in_arena(me, *a));
  }
  /// Comes to that arena, and stays.
  void come() {
    arena* const a = std::exchange(self.assigned, nullptr);
    require(a != nullptr, "it was made for an arena");
    const slot_id number = a->admit_worker(me);
    require(number != no_slot, "there is room");
    stay_in(me, *a, number);
    a->search().adopt(me);
    a->search().stop_searching(me, {});
  }
  void leave() {
    arena& a = *me.in;
    a.worker_leaves(me.domain, me.slot_number);
    a.release_slot(me.slot_number);
    a.drop_reference();
  }
  /// Sleeps until it is sent somewhere.
  void rest() { sent_to = call(*in.manager, next_assignment{}, self, std::chrono::nanoseconds{0}); }

  arena* sent_to = nullptr;

  /// Whether it has been sent there, or has gone there by itself.
  [[nodiscard]] bool goes_to(const arena& a) const { return sent_to == &a || self.assigned == &a; }
};

/// An arena with a thread of the application's inside, who pushes a task for which a worker is made, and takes it back.
struct used_arena {
  world& in;
  arena& a;
  visit user;

  explicit used_arena(world& w, int concurrency = 2, unsigned level = 1)
      : in(w), a(w.make(concurrency, level)), user(a) {}
  worker_in_hand have_worker_made() {
    const std::size_t before = in.at_home.beds_taken.load(sync::relaxed);
    a.enqueue(any_task(), work_places::no_home, 0);  // for which no other one is made ahead of need
    require(in.at_home.beds_taken.load(sync::relaxed) == before + 1, "a worker is made for a task");
    require(a.unaddressed.take(), "its maker runs the task itself");
    return worker_in_hand(in);
  }
};

int share_of(arena& a) { return a.account().allotted.load(sync::relaxed); }

void begin_to_want(arena& a) {
  a.spawned.push();
  static_cast<void>(a.account().become_busy());
}

/// It has a task, and is dealt for. Nobody is called where no worker idles and none may be made.
void want_workers(world& w, arena& a) {
  begin_to_want(a);
  static_cast<void>(w.manager->list_newcomer(a));
  w.manager->demand_changed();
}

/// The only worker that is allowed is between two arenas; the second one has a task, and its share.
struct one_place {
  world w{2};
  used_arena first{w};
  worker_in_hand rests = first.have_worker_made();
  arena& a = w.make(2);

  one_place() {
    rests.come_and_leave();
    want_workers(w, a);
    require(share_of(a) == 1, "it has a place");
  }
};

}  // namespace
