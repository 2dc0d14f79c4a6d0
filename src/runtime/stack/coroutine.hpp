/// A stack of its own with a dispatcher on it: where a thread goes on while the stack it left is suspended.
///
/// Ownership: made or taken from a small cache by acquire(); given back when its dispatcher has nothing to do.
/// Threads:   run by one thread at a time; may move between threads of one arena.
#pragma once

#include <cstddef>

#include "platform/stack_switch.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "sync/linked_list.hpp"

namespace homing::scheduler {

struct coroutine : sync::list_hook<coroutine> {  // on the list of cached ones
  dispatcher disp;
  platform::stack_memory memory;

  /// A coroutine ready to be switched to for the first time, or one that waits in its entry function.
  /// Throws std::bad_alloc or std::system_error if no stack can be had.
  static coroutine& acquire(std::size_t stack_bytes, void (*entry)(void*));
  static void give_back(coroutine& c) noexcept;
  /// Over a fork; cached stacks are good in the child.
  static void lock_cache_for_fork() noexcept;
  static void unlock_cache_after_fork() noexcept;
};

}  // namespace homing::scheduler
