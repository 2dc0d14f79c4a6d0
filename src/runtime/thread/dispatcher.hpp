/// Runs tasks on one stack: a loop that takes, runs and looks for the next, until what its stack waits for has come.
///
/// Ownership: one dispatcher a stack and arena entry: a thread has one for each arena that it has entered, a coroutine
///            has its own. `thread` is whoever runs the stack at this moment and changes when a coroutine moves.
/// Threads:   only the thread that runs the stack touches it.
/// Source:    TBB-NUMA figures 5 and 7 (the order in which a thread looks for its next task).
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/task/search_scope.hpp"
#include "runtime/thread/deep_stack.hpp"
#include "sync/atomic.hpp"

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
  bool enqueued_allowed = true;  ///< false while a task runs: enqueued ones are for outermost loops
  dispatch_loop loop;
  suspend_point* point = nullptr;  ///< in point_storage, once it is needed
  deep_stack deep;                 ///< where nothing is stolen for this stack
  static constexpr std::size_t point_bytes = sync::size_or_modelled(512, 1024);
  alignas(64) std::byte point_storage[point_bytes];  ///< so that leaving the stack needs no memory

  // Not initialized: storage.
  dispatcher() noexcept {}  // NOLINT(modernize-use-equals-default): `= default` would clear the storage
};

/// What a nested loop changes and must put back: at its end, and before anything runs between two of its tasks, since
/// the last one's context may be gone.
class dispatcher_frame {
 public:
  explicit dispatcher_frame(dispatcher& d) noexcept
      : d_(d),
        ed_(d.ed),
        isolation_(d.isolation),
        current_(d.current),
        outermost_(d.outermost),
        critical_allowed_(d.critical_allowed),
        enqueued_allowed_(d.enqueued_allowed),
        loop_(d.loop) {}
  ~dispatcher_frame() {
    leave_task();
    d_.loop = loop_;
  }
  dispatcher_frame(const dispatcher_frame&) = delete;
  dispatcher_frame& operator=(const dispatcher_frame&) = delete;

  /// The stack is where it was when the frame was made: in the task around the loop, or in none.
  void leave_task() const noexcept {
    d_.ed = ed_;
    d_.isolation = isolation_;
    d_.current = current_;
    d_.outermost = outermost_;
    d_.critical_allowed = critical_allowed_;
    d_.enqueued_allowed = enqueued_allowed_;
  }
  /// What a thread may take that looks for work in that place.
  [[nodiscard]] search_scope scope(bool may_steal) const noexcept {
    return {isolation_, may_steal, enqueued_allowed_, critical_allowed_};
  }

 private:
  dispatcher& d_;
  tbb::detail::d1::execution_data ed_;
  isolation_tag isolation_;
  task* current_;
  bool outermost_;
  bool critical_allowed_;
  bool enqueued_allowed_;
  dispatch_loop loop_;
};

}  // namespace homing::scheduler
