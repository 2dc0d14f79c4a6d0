#include "runtime/lifetime.hpp"

#include <pthread.h>

#include "runtime/arena.hpp"
#include "runtime/context.hpp"
#include "runtime/control_access.hpp"
#include "runtime/coroutine.hpp"
#include "runtime/resource_manager.hpp"
#include "runtime/thread_state.hpp"
#include "runtime/wait_table.hpp"

namespace homing::scheduler {
namespace {

// A fork copies the calling thread only. Every lock that the child will use is held over it, in one order; what
// belongs to other threads (arenas, workers) is left behind in the child, and made anew when first used.

resource_manager* locked_manager = nullptr;

void before_fork() {
  lock_controls_for_fork();
  locked_manager = resource_manager::current_or_null();
  if (locked_manager != nullptr) {
    locked_manager->lock_for_fork();
  }
  lock_records_for_fork();
  lock_contexts_for_fork();
  waiting_threads.lock_all();
}

void after_fork_in_parent() {
  waiting_threads.unlock_all();
  unlock_contexts_after_fork();
  unlock_records_after_fork();
  if (locked_manager != nullptr) {
    locked_manager->unlock_in_parent();
  }
  unlock_controls_after_fork();
}

void after_fork_in_child() {
  thread_state* t = this_thread_or_null;
  waiting_threads.forget();
  waiting_threads.unlock_all();
  const bool in_task = t != nullptr && t->running != nullptr && !t->running->outermost;
  unlock_contexts_in_child(in_task ? t->running->ed.context : nullptr, t != nullptr ? t->contexts : nullptr);
  unlock_records_after_fork();
  coroutine::reset_lock_after_fork();
  keep_only_this_record_after_fork();
  if (locked_manager != nullptr) {
    locked_manager->unlock_in_child();
    unlock_controls_after_fork();
    resource_manager::replace_after_fork();
    if (t != nullptr) {
      abandon_arenas_after_fork(*t);
    }
  } else {
    unlock_controls_after_fork();
  }
}

}  // namespace

void install_process_hooks() {
  static const bool installed = [] {
    return pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child) == 0;
  }();
  static_cast<void>(installed);
}

bool nothing_to_finalize() noexcept {
  resource_manager* manager = resource_manager::current_or_null();
  return manager == nullptr || manager->is_idle();
}

bool finalize_all() noexcept {
  resource_manager* manager = resource_manager::current_or_null();
  if (manager == nullptr || manager->is_idle()) {
    return true;
  }
  thread_state* t = this_thread_or_null;
  if (t != nullptr) {
    if (t->kind == thread_kind::worker || !in_implicit_arena_or_none(*t) ||
        (t->running != nullptr && !t->running->outermost)) {
      return false;
    }
    leave_implicit_arena(*t);
  }
  return manager->wait_until_unused() && (manager->stop_workers(), true);
}

}  // namespace homing::scheduler
