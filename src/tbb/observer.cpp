/// Exported: task_scheduler_observer.
#include <oneapi/tbb/task_scheduler_observer.h>

#include "runtime/arena/observer_list.hpp"
#include "runtime/process/implicit_arena.hpp"
#include "tbb/live_arena.hpp"

namespace tbb::detail::r1 {

void observe(d1::task_scheduler_observer& observer, bool enable) {
  if (!enable) {
    homing::scheduler::observer_list::deactivate(observer);
    return;
  }
  homing::scheduler::thread_state& t = homing::scheduler::this_thread();
  homing::scheduler::arena* watched = nullptr;
  if (observer.my_task_arena == nullptr) {
    watched = homing::scheduler::arena_thread().in;
  } else {
    observer.my_task_arena->initialize();
    watched = homing::scheduler::live_arena_of(*observer.my_task_arena);
  }
  if (watched->observers.activate(observer) && t.in == watched) {
    watched->observers.notify_entry(t.notified, t.entered_as == homing::scheduler::thread_kind::worker);
  }
}

}  // namespace tbb::detail::r1
