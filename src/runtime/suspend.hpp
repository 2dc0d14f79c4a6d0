/// Suspended tasks: a stack that waits, and how a thread comes back to it.
///
/// Every dispatcher runs on one stack. A thread that suspends leaves its stack for another, a coroutine's, and goes on
/// dispatching there. A base stack (the one with which a thread entered its arena) is only ever continued by that
/// thread; a coroutine's by any thread of the arena.
///
/// Protocol: docs/protocols/suspend.md [U1] to [U6]. Source: oneTBB's documentation of resumable tasks.
#pragma once

#include "platform/stack_switch.hpp"
#include "runtime/arena.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/wait_table.hpp"

namespace tbb::detail::r1 {
struct suspend_point_type;
}

namespace homing::scheduler {

struct coroutine;

using suspend_callback = void (*)(void*, tbb::detail::r1::suspend_point_type*);

/// The runtime's own task that continues a stack; recognised by task_access::is_resume, never executed.
class resume_task final : public task {
 public:
  explicit resume_task(suspend_point& p) noexcept : point(p) { task_access::set_resume(*this); }
  task* execute(tbb::detail::d1::execution_data&) override { return nullptr; }
  task* cancel(tbb::detail::d1::execution_data&) override { return nullptr; }
  suspend_point& point;
};

/// A stack that can be left and gone back to. Lives as long as its dispatcher.
struct suspend_point {
  explicit suspend_point(dispatcher& d, coroutine* c) noexcept : disp(&d), owner(c), task(*this) {}

  /// True for the one who is to resume a stack that left in a nested wait. [U5]
  [[nodiscard]] bool call() noexcept { return call_is.exchange(call_state::called, sync::acq_rel) == call_state::open; }

  platform::stack_context stack;
  dispatcher* disp;
  coroutine* owner;                    ///< null for a base stack
  arena* in = nullptr;                 ///< referenced while suspended, or left in a nested wait
  sync::atomic<bool> recalled{false};  ///< base stacks: may go on
  wait_table::entry waiting{};         ///< coroutines that left in a nested wait: for its end,
  sleeper napping{};                   ///< and for tasks that it could run
  enum class call_state : std::uint8_t { open, held, called };
  sync::atomic<call_state> call_is{call_state::open};  ///< of such a coroutine: whether somebody resumes it
  suspend_point* next_resumed = nullptr;               ///< in its arena's queue
  resume_task task;
};

/// Leaves the current stack, calls back from another, and returns when somebody has resumed the point.
void suspend(thread_state& t, suspend_callback callback, void* argument);

/// Lets the stack go on; any thread, once for each suspension.
void resume(suspend_point& point) noexcept;

/// The point of the stack that the calling thread runs; made if need be. Lives as long as the stack.
suspend_point& point_of(dispatcher& d, coroutine* owner = nullptr) noexcept;

/// Why a stack that was left in a nested wait goes on: the wait is over, perhaps; or it was called for a task, and owes
/// a look. [S13]
enum class leave_result : std::uint8_t { over, called };

/// Continues the stack of a resume task on this thread; returns when this stack goes on, perhaps on another thread.
/// `wait` is what a nested loop on this stack waits for, or null; `scope` what it may take meanwhile.
leave_result run_resume_task(thread_state& t, task& resume_task, wait_context* wait,
                             const search_scope& scope) noexcept;

/// Leaves a coroutine's stack for the recalled base of its thread, until the wait context is empty or there is a task
/// that only this stack may take.
leave_result yield_until_empty(thread_state& t, wait_context& wait, const search_scope& scope) noexcept;

/// True if the thread is on a coroutine and its base stack may go on.
[[nodiscard]] bool base_is_recalled(const thread_state& t) noexcept;

/// Frees what a dispatcher's point holds; at the end of its stack.
void drop_suspend_point(dispatcher& d) noexcept;

/// What a coroutine runs: dispatches, leaves for another stack, and starts over when it is taken from the cache.
[[noreturn]] void coroutine_main(void* raw);

}  // namespace homing::scheduler
