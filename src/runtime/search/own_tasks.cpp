#include "runtime/search/own_tasks.hpp"

namespace homing::scheduler {

task* take_own_from_below(thread_state& t, isolation_tag isolation) {
  for (;;) {
    const sync::deque_item taken = t.slot->tasks.pop([&](std::uint64_t tag) { return tag_fits(tag, isolation); });
    if (taken.item == 0) {
      return nullptr;
    }
    if (!is_proxy(taken.item)) {
      return as_task(taken.item);
    }
    if (task* found = take_own_mailed(t, taken)) {
      return found;
    }
  }
}

task* take_own_mailed(thread_state& t, const sync::deque_item& taken) noexcept {
  task* const found = as_proxy(taken.item)->take(*t.pool);
  if (found != nullptr && t.in->home_of(tag_affinity(taken.tag)) != t.domain) {
    t.counters.add(observe::event::revoke);
  }
  return found;
}

void keep_as_spawned(thread_state& t, task& taken) noexcept {
  const isolation_tag its = task_access::isolation(taken);
  keep(t, taken, make_tag(its, no_affinity));
  t.in->new_work(its, t.domain, *t.slot);
}

task* verified(thread_state& t, task* taken, isolation_tag isolation) noexcept {
  if (taken == nullptr || isolation == no_isolation || task_access::isolation(*taken) == isolation) {
    return taken;
  }
  keep_as_spawned(t, *taken);
  return nullptr;
}

bool has_room(thread_state& t) noexcept {
  return t.slot->tasks.reserve_one([&t] { t.in->uncovered_work(*t.slot); });
}

void put_back(thread_state& t, task& found) noexcept { t.in->overflow(found); }

}  // namespace homing::scheduler
