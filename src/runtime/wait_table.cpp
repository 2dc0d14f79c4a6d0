#include "runtime/wait_table.hpp"

#include "runtime/suspend.hpp"

namespace homing::scheduler {

wait_table waiting_threads;

void wait_table::wake(bucket& b, std::uintptr_t address) noexcept {
  entry* stacks = nullptr;
  {
    const sync::scoped_spin_lock hold(b.lock);
    for (entry* e = b.first; e != nullptr;) {
      entry* next = e->next;
      if (e->address == address) {
        if (e->point != nullptr) {
          unlink(b, *e);
          if (e->point->call()) {  // under the lock: a stack that somebody else has called may be gone once it is free
            e->next = stacks;
            stacks = e;
          }
        } else {
          e->thread->parker.unpark();
        }
      }
      e = next;
    }
  }
  while (stacks != nullptr) {
    entry* next = stacks->next;  // before the stack goes on and uses its entry anew
    resume(*stacks->point);
    stacks = next;
  }
}

}  // namespace homing::scheduler
