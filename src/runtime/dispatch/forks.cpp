#include "runtime/dispatch/forks.hpp"

#include <new>

#include "runtime/dispatch/bind_context.hpp"
#include "runtime/search/own_tasks.hpp"
#include "runtime/task/fork_task.hpp"

namespace homing::scheduler {

// Here and not in the header: the thread is looked up anew, behind whatever the branch has done to the stack.
void fork_task::end() noexcept {
  wait_context& done = wait_of(branch_);
  memory::object_pool& pool = pool_;
  this->~fork_task();
  this_thread().pool->deallocate(pool, this, sizeof(fork_task));
  done.release();  // [F8] the branch is gone after this
}

namespace {

/// The branch as a task in the own deque, as if it had been spawned.
void give(thread_state& t, fork_branch& b) noexcept {
  task* const work = make_task_of(t, b);
  if (work == nullptr) {
    return;
  }
  bind_context(t, *t.running->ed.context);
  const isolation_tag isolation = t.running->isolation;
  task_access::set_context(*work, t.running->ed.context);
  task_access::set_isolation(*work, isolation);
  task_access::set_address(*work, {t.slot_number, no_affinity, t.domain});
  const domain_index home{t.forks->home.load(sync::relaxed)};
  const bool has_home = to_index(home) < t.in->domain_count();
  keep(t, *work, make_tag(isolation, has_home ? affinity_to(home) : no_affinity));
  t.in->new_work(isolation, t.domain, *t.slot);
}

}  // namespace

void make_room_or_keep(lane& forks) noexcept {
  if (!forks.is_full() || forks.make_room()) {
    return;
  }
  fork_branch* const youngest = forks.slots[forks.bottom.load(sync::relaxed) - 1];
  if (forks.withdraw_youngest()) {
    keep_branch(*youngest);
  } else {
    forks.forget_given();  // a thief has it, and so all: there is room
  }
}

bool answer(thread_state& t, lane& forks) noexcept {
  make_room_or_keep(forks);
  const bool asked = forks.take_ask();
  if (group_is_cancelled(t)) {
    forks.ask();
    return false;
  }
  if (asked) {
    if (fork_branch* const oldest = forks.remove_oldest()) {
      give(t, *oldest);
    }
  }
  if (__builtin_expect(!sync::fences_are_asymmetric(), false)) {
    forks.ask();  // what is private could not be had
  }
  return true;
}

task* make_task_of(thread_state& t, fork_branch& b) noexcept {
  if (has_room(t)) {
    try {
      return new (t.pool->allocate(sizeof(fork_task))) fork_task(b, *t.pool);
    } catch (const std::bad_alloc&) {
    }
  }
  keep_branch(b);
  return nullptr;
}

void give_all_forks(thread_state& t) noexcept {
  while (fork_branch* const oldest = t.forks->remove_oldest()) {
    give(t, *oldest);
  }
  t.forks->forget_given();
}

}  // namespace homing::scheduler
