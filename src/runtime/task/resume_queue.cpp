#include "runtime/task/resume_queue.hpp"

namespace homing::scheduler {

void resume_queue::push(left_stack& stack) noexcept {
  const sync::scoped_spin_lock hold(lock_);
  stacks_.push_back(stack);
  any_.store(true, sync::relaxed);
}

left_stack* resume_queue::take() noexcept {
  const sync::scoped_spin_lock hold(lock_);
  left_stack* const stack = stacks_.pop_front();
  any_.store(!stacks_.empty(), sync::relaxed);
  return stack;
}

}  // namespace homing::scheduler
