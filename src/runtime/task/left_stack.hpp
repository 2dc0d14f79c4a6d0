/// A stack that was left and may go on: what those need of it who have it go on, and no more.
///
/// Ownership: none; a stack lives until it has gone on. It is in one queue at most, since it is resumed once for each
///            suspension.
/// Threads:   any, each by its rule.
/// Protocol:  docs/protocols/suspend.md [U4], [U5].
#pragma once

#include "runtime/task/task_access.hpp"
#include "sync/atomic.hpp"
#include "sync/linked_list.hpp"

namespace homing::scheduler {

class left_stack : public sync::list_hook<left_stack> {  // in its arena's queue of those that may go on
 public:
  left_stack(const left_stack&) = delete;
  left_stack& operator=(const left_stack&) = delete;

  /// Lets the stack go on; any thread, once for each suspension.
  virtual void resume() noexcept = 0;
  /// The task by which a thread goes on with it.
  [[nodiscard]] virtual task& continuation() noexcept = 0;

  // [U5] Of a stack that left in a nested wait: whoever calls first is to resume it. While it is held, whoever holds
  // it. What the stack is was written before it was listed, and the lists' locks order that.

  /// Nobody knows of the stack yet.
  void hold() noexcept { call_.store(call_state::held, sync::relaxed); }
  /// Ends the hold; false if somebody has called meanwhile: then whoever held it resumes it. release: the looks at what
  /// the stack waits for are over before the stack goes on, which ends that.
  [[nodiscard]] bool let_call() noexcept {
    auto held = call_state::held;
    return call_.compare_exchange_strong(held, call_state::open, sync::release, sync::relaxed);
  }
  /// True for the one who is to resume it. acquire: with let_call().
  [[nodiscard]] bool call() noexcept { return call_.exchange(call_state::called, sync::acquire) == call_state::open; }

 protected:
  left_stack() noexcept = default;
  ~left_stack() = default;

 private:
  enum class call_state : std::uint8_t { open, held, called };
  sync::atomic<call_state> call_{call_state::open};
};

}  // namespace homing::scheduler
