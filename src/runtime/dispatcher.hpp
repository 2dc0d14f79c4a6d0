/// Runs tasks on one stack: a loop that takes, runs and looks for the next, until what its stack waits for has come.
///
/// Ownership: one dispatcher a stack and arena entry: a thread has one for each arena that it has entered, a coroutine
///            has its own. `thread` is whoever runs the stack at this moment and changes when a coroutine moves.
/// Threads:   only the thread that runs the stack touches it.
/// Source:    TBB-NUMA figures 5 and 7 (the order in which a thread looks for its next task).
#pragma once

#include <cstdint>

#include "runtime/task_access.hpp"

namespace homing::scheduler {

struct thread_state;
struct suspend_point;

/// The innermost loop of a stack, as its tasks may ask it.
struct dispatch_loop {
  const void* waiter = nullptr;
  bool (*keeps_going)(const void* waiter, const thread_state& t) noexcept = nullptr;
};

struct dispatcher {
  tbb::detail::d1::execution_data ed;  ///< of the innermost running task; handed to user code by reference
  isolation_tag isolation = no_isolation;
  task* current = nullptr;  ///< innermost running task
  thread_state* thread = nullptr;
  bool outermost = true;         ///< no task runs on this stack
  bool critical_allowed = true;  ///< false while a critical task runs: they do not nest
  dispatch_loop loop;
  suspend_point* point = nullptr;
  std::uintptr_t stack_reserve = 0;  ///< below this address no foreign task is begun on this stack
};

/// What a nested loop changes and must put back.
struct dispatcher_frame {
  explicit dispatcher_frame(dispatcher& d) noexcept
      : d_(d),
        ed_(d.ed),
        isolation_(d.isolation),
        current_(d.current),
        outermost_(d.outermost),
        critical_allowed_(d.critical_allowed),
        loop_(d.loop) {}
  ~dispatcher_frame() {
    d_.ed = ed_;
    d_.isolation = isolation_;
    d_.current = current_;
    d_.outermost = outermost_;
    d_.critical_allowed = critical_allowed_;
    d_.loop = loop_;
  }
  dispatcher_frame(const dispatcher_frame&) = delete;
  dispatcher_frame& operator=(const dispatcher_frame&) = delete;

 private:
  dispatcher& d_;
  tbb::detail::d1::execution_data ed_;
  isolation_tag isolation_;
  task* current_;
  bool outermost_;
  bool critical_allowed_;
  dispatch_loop loop_;
};

}  // namespace homing::scheduler
