/// The point at which a stack is left and gone back to; one for each dispatcher that was ever left.
///
/// Ownership: lies in its dispatcher's storage and lives as long; made when first needed.
/// Threads:   whoever runs the stack, but for what left_stack offers to all.
/// Protocol:  docs/protocols/suspend.md [U1] to [U10].
#pragma once

#include "platform/stack_switch.hpp"
#include "runtime/arena/sleepers.hpp"
#include "runtime/task/left_stack.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "runtime/thread/wait_table.hpp"

namespace homing::scheduler {

class arena;
struct coroutine;

/// The runtime's own task that continues a stack; recognised by task_access::is_resume, never executed.
class resume_task final : public task {
 public:
  explicit resume_task(suspend_point& p) noexcept : point(p) { task_access::set_resume(*this); }
  task* execute(tbb::detail::d1::execution_data&) override { return nullptr; }
  task* cancel(tbb::detail::d1::execution_data&) override { return nullptr; }
  suspend_point& point;
};

struct suspend_point final : left_stack {
  suspend_point(dispatcher& d, coroutine* c) noexcept : disp(&d), owner(c), continuation_task(*this) {}

  // [U10] Of one suspension: either side may come first, and the second lets the stack go on.

  /// What tbb::task::resume() asks for; any thread, once for each suspension.
  void end_suspension() noexcept;
  /// The stack that suspends has been left: by the thread that left it.
  void suspended() noexcept;
  /// How many suspensions have been ended before their stack was left.
  [[nodiscard]] int ended_early() const noexcept { return balance_.load(sync::relaxed); }
  /// The suspension does not take place: whoever has ended it since there were `before` has ended nothing.
  void withdraw_suspension(int before) noexcept;

  void resume() noexcept override;
  [[nodiscard]] task& continuation() noexcept override { return continuation_task; }

  platform::stack_context stack;
  dispatcher* disp;
  coroutine* owner;                    ///< null for a base stack
  arena* in = nullptr;                 ///< referenced while suspended, or left in a nested wait
  sync::atomic<bool> recalled{false};  ///< base stacks: may go on
  wait_table::entry waiting{};         ///< coroutines that left in a nested wait: for its end,
  sleeper napping{};                   ///< and for tasks that it could run
  resume_task continuation_task;

 private:
  sync::atomic<int> balance_{0};  ///< suspensions ended, less those whose stack was left: -1 while it is suspended
};

/// The point of the stack that the calling thread runs; made if need be. Lives as long as the stack.
suspend_point& point_of(dispatcher& d, coroutine* owner = nullptr) noexcept;

/// The point of the stack with which the thread entered its arena.
suspend_point& base_point(thread_state& t) noexcept;

/// True if the thread is on a coroutine and its base stack may go on.
[[nodiscard]] bool base_is_recalled(const thread_state& t) noexcept;

/// Frees what a dispatcher's point holds; at the end of its stack.
void drop_suspend_point(dispatcher& d) noexcept;

}  // namespace homing::scheduler
