#include "runtime/process/lifetime.hpp"

#include "platform/fork.hpp"
#include "runtime/arena/arena.hpp"
#include "runtime/process/implicit_arena.hpp"
#include "runtime/settings/control_access.hpp"
#include "runtime/stack/coroutine.hpp"
#include "runtime/stack/stay.hpp"
#include "runtime/task/context.hpp"
#include "runtime/thread/thread_state.hpp"
#include "runtime/thread/wait_table.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {

// A fork copies the calling thread only. Every lock that the child may use is held over it, in the order in which code
// takes several; what belongs to other threads (arenas, workers) is left behind in the child, and made anew when first
// used. [A21]

void arena::lock_for_fork() noexcept {
  sleepers_.lock_for_fork();
  lock_queues_for_fork();
  observers.lock_for_fork();
}

void arena::unlock_after_fork() noexcept {
  observers.unlock_after_fork();
  unlock_queues_after_fork();
  sleepers_.unlock_after_fork();
}

void arena::forget_all_but(const thread_state& forker) noexcept {
  const bool works = forker.kind == thread_kind::worker && forker.last_arena == this;
  observers.go_on_after_fork();
  sleepers_.forget_threads_after_fork();
  // [S15] The threads that are not here leave what lies in their deques to whoever is.
  for (arena_slot& s : slots()) {
    bool is_here = forker.in == this && forker.slot == &s;
    for_each_outer_stay(forker, [&](const arena&, const arena_slot& held, thread_kind) { is_here |= &held == &s; });
    s.absent.store(!is_here, sync::relaxed);
    if (!is_here) {
      s.forks.store(nullptr, sync::relaxed);  // what lies there is its thread's, which is not here, and no task's
    }
  }
  searchers_.forget_after_fork();
  account_.workers.store(works ? 1 : 0, sync::relaxed);
  for (const domain_index d : all_domains()) {
    domain(d).absent.store(0, sync::relaxed);
    domain(d).active.store(works && forker.domain == d ? 1 : 0, sync::relaxed);
  }
}

void resource_manager::lock_for_fork() noexcept {
  lock_.lock();
  memory_of_arenas_.lock_for_fork();
  for (const domain_index d : all_domains()) {
    state_of(d).lock.lock();
  }
}

void resource_manager::unlock_in_parent() noexcept {
  for (const domain_index d : all_domains()) {
    state_of(d).lock.unlock();
  }
  memory_of_arenas_.unlock_after_fork();
  lock_.unlock();
  serve_who_asked();
}

void resource_manager::unlock_in_child() noexcept {
  for (const domain_index d : all_domains()) {
    state_of(d).idle_workers.forget();
    state_of(d).idle.store(0, sync::relaxed);
    state_of(d).lock.unlock();
  }
  memory_of_arenas_.unlock_after_fork();
  stopping_.store(true, sync::relaxed);  // it makes no thread any more
  idle_.store(0, sync::relaxed);
  could_make_.store(0, sync::relaxed);
  will_make_others_.store(0, sync::relaxed);
  refused_.store(false, sync::relaxed);  // whoever ended it would take locks of arenas that were not held
  makings_ = 0;                          // whoever was making a thread is not here [A25]
  makes_first_.store(false, sync::relaxed);
  dirty_.store(false, sync::relaxed);
  lock_.unlock();
}

namespace {

resource_manager* locked_manager = nullptr;

void before_fork() {
  resource_manager::lock_creation_for_fork();
  lock_controls_for_fork();
  locked_manager = resource_manager::current_or_null();
  if (locked_manager != nullptr) {
    locked_manager->lock_for_fork();
  }
  if (const thread_state* t = this_thread_or_null) {
    for_each_arena_of(*t, [](arena& a) { a.lock_for_fork(); });
    if (t->forks != nullptr) {
      t->forks->lock_for_fork();
    }
  }
  lock_records_for_fork();
  lock_contexts_for_fork();
  waiting_threads.lock_all();
  coroutine::lock_cache_for_fork();
}

void after_fork_in_parent() {
  coroutine::unlock_cache_after_fork();
  waiting_threads.unlock_all();
  unlock_contexts_after_fork();
  unlock_records_after_fork();
  if (const thread_state* t = this_thread_or_null) {
    if (t->forks != nullptr) {
      t->forks->unlock_after_fork();
    }
    for_each_arena_of(*t, [](arena& a) { a.unlock_after_fork(); });
  }
  resource_manager* const manager = locked_manager;  // another thread may fork as soon as creation is free
  if (manager != nullptr) {
    manager->unlock_in_parent();
  }
  unlock_controls_after_fork();
  resource_manager::unlock_creation_after_fork();
}

void after_fork_in_child() {
  thread_state* t = this_thread_or_null;
  coroutine::unlock_cache_after_fork();
  waiting_threads.forget();
  waiting_threads.unlock_all();
  const bool in_task = t != nullptr && t->running != nullptr && !t->running->outermost;
  unlock_contexts_in_child(in_task ? t->running->ed.context : nullptr, t != nullptr ? t->contexts : nullptr);
  unlock_records_after_fork();
  keep_only_this_record_after_fork();
  observer_list::begin_anew_after_fork();
  if (t != nullptr) {
    if (t->forks != nullptr) {
      t->forks->ask();  // its arena may be another at its next fork
      t->forks->unlock_after_fork();
    }
    for_each_arena_of(*t, [t](arena& a) {
      a.forget_all_but(*t);
      a.unlock_after_fork();
    });
  }
  if (locked_manager != nullptr) {
    locked_manager->unlock_in_child();
  }
  unlock_controls_after_fork();
  resource_manager::unlock_creation_after_fork();
  if (locked_manager != nullptr) {
    resource_manager::replace_after_fork();
    if (t != nullptr) {
      abandon_arenas_after_fork(*t);
    }
  }
}

// When the library is loaded: a fork may meet the first use.
const platform::fork_part held_over_fork(platform::fork_layer::runtime, before_fork, after_fork_in_parent,
                                         after_fork_in_child);

}  // namespace

bool nothing_to_finalize() noexcept {
  resource_manager* manager = resource_manager::current_or_null();
  return manager == nullptr || manager->is_idle();
}

bool leave_to_finalize() noexcept {
  thread_state* t = this_thread_or_null;
  if (t == nullptr) {
    return true;
  }
  if (t->kind == thread_kind::worker || !in_implicit_arena_or_none(*t) ||
      (t->running != nullptr && !t->running->outermost)) {
    return false;
  }
  leave_implicit_arena(*t, after_use::caller_decides);
  return true;
}

bool finalize_all() noexcept {
  resource_manager* manager = resource_manager::current_or_null();
  if (manager == nullptr || manager->is_idle()) {
    return true;
  }
  return manager->wait_until_unused() && (manager->stop_workers(), true);
}

}  // namespace homing::scheduler
