#include "runtime/thread/wait_table.hpp"

namespace homing::scheduler {

wait_table waiting_threads;

void wait_table::wake(bucket& b, std::uintptr_t address) noexcept {
  sync::linked_list<entry> called;
  {
    const sync::scoped_spin_lock hold(b.lock);
    for (entry* e = b.entries.first(); e != nullptr;) {
      entry* const next = e->next;
      if (e->address == address && e->stack == nullptr) {
        e->thread->parker.unpark();
      } else if (e->address == address) {
        unlink(b, *e);
        if (e->stack->call()) {  // under the lock: a stack that somebody else has called may be gone once it is free
          called.push_front(*e);
        }
      }
      e = next;
    }
  }
  // Each is off the list before its stack goes on and uses its entry anew.
  while (entry* const e = called.pop_front()) {
    e->stack->resume();
  }
}

}  // namespace homing::scheduler
