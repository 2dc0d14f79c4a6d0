#include "runtime/task/resume_queue.hpp"

namespace homing::scheduler {

void resume_queue::push(left_stack& stack) noexcept {
  const sync::scoped_spin_lock hold(lock_);
  stack.next_resumed = nullptr;
  if (empty()) {
    first_.store(&stack, sync::relaxed);
  } else {
    last_->next_resumed = &stack;
  }
  last_ = &stack;
}

left_stack* resume_queue::take() noexcept {
  const sync::scoped_spin_lock hold(lock_);
  left_stack* stack = first_.load(sync::relaxed);
  if (stack != nullptr) {
    first_.store(stack->next_resumed, sync::relaxed);
  }
  return stack;
}

}  // namespace homing::scheduler
