/// What is handed to an arena and to no thread of it: queues, and the worker that must come for what is in them.
///
/// Threads:   any.
/// Protocols: docs/protocols/arena.md [A3], [A12], sleep.md [S2].
#include <algorithm>

#include "runtime/arena.hpp"
#include "runtime/resource_manager.hpp"
#include "runtime/task_access.hpp"

namespace homing::scheduler {

bool arena::has_enqueued() const noexcept {
  return !unaddressed.empty() || std::any_of(&domains_[0], &domains_[0] + domain_count_,
                                             [](const arena_domain& d) { return !d.queue.empty(); });
}

void arena::submit(task& t, unsigned home_or_none) {
  if (home_or_none == no_home) {
    unaddressed.push(t);
    new_common_work(no_isolation, 0);
  } else {
    domains_[home_or_none].queue.push(t);
    new_mail(no_isolation, home_or_none);
  }
}

void arena::enqueue(task& t, unsigned home_or_none) {
  if (home_or_none == no_home) {
    unaddressed.push(t);
  } else {
    domains_[home_or_none].queue.push(t);
  }
  want_mandatory_worker();
  if (home_or_none == no_home) {
    new_common_work(no_isolation, 0);
  } else {
    new_mail(no_isolation, home_or_none);
  }
}

void arena::want_mandatory_worker() noexcept {
  sync::light_fence();  // the push before the look at mandatory_; partner: a leaving worker's heavy fence [A3]
  if ((max_workers_ == 0 || is_of_one_domain() || manager_.allottable_workers() == 0) &&
      slot_count_ > reserved_slots_ && !mandatory_.load(sync::relaxed) && !mandatory_.exchange(true, sync::seq_cst)) {
    busy_.store(true, sync::seq_cst);
    static_cast<void>(manager_.demand_rose(*this, 0));
  }
}

void arena::submit_critical(task& t) {
  critical.push(t);
  new_common_work(task_access::isolation(t), 0);
}

void arena::spill(task& t) {
  spilled.push(t);
  new_common_work(task_access::isolation(t), 0);
}

void arena::submit_resume(task& t) {
  resumed.push(t);
  if (is_of_one_domain()) {
    want_mandatory_worker();  // its own domain may have none, and all who know of the stack may wait for it elsewhere
  }
  new_common_work(any_isolation, 0);
}

}  // namespace homing::scheduler
