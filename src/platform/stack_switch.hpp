/// Leaving one stack for another: memory for stacks, and the switch itself, with what sanitizers must be told.
///
/// Ownership: a stack_memory owns its mapping; a stack_context is a saved stack and belongs to whoever runs it next.
/// Threads:   one thread runs a stack at a time; a stack may go on on another thread than it was left on. What belongs
///            to the language and not to the thread (exceptions in flight, floating-point control) moves with it.
/// Errors:    stack_memory throws std::bad_alloc if the kernel gives no memory.
#pragma once

#include <cstddef>
#include <utility>

namespace homing::platform {

class stack_memory {
 public:
  stack_memory() = default;
  /// `bytes`, rounded up to pages, with a page below that faults.
  explicit stack_memory(std::size_t bytes);
  ~stack_memory();
  stack_memory(stack_memory&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  stack_memory& operator=(stack_memory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    return *this;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] char* base() const noexcept { return base_; }

 private:
  char* base_ = nullptr;  // above the guard page
  std::size_t size_ = 0;
};

/// One stack: where it was left, and what the switch must carry with it.
class stack_context {
 public:
  stack_context() = default;
  ~stack_context();
  stack_context(const stack_context&) = delete;
  stack_context& operator=(const stack_context&) = delete;

  /// Makes the context start `entry(argument)` on `memory` at its first switch; `entry` never returns.
  void prepare(const stack_memory& memory, void (*entry)(void*), void* argument);

  /// Leaves the running stack, saved in *this, for `to`; returns when somebody switches to *this.
  void switch_to(stack_context& to) noexcept;

  /// First thing on a new stack: tells the sanitizers that the switch is done.
  void arrived_first() noexcept;

 private:
  friend void stack_entry(void* raw) noexcept;
  // Not inlined: the exception state belongs to a thread, the compiler takes its address for constant within a
  // function, and a stack may be left on one thread and gone back to on another.
  [[gnu::noinline]] void save_language_state() noexcept;
  [[gnu::noinline]] void load_language_state() noexcept;
  [[gnu::noinline]] void start_asan_switch(const stack_context& to) noexcept;
  [[gnu::noinline]] static void finish_asan_switch(void* fake_stack) noexcept;

  void* stack_pointer_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* exceptions_caught_ = nullptr;  // __cxa_eh_globals of this stack
  unsigned exceptions_uncaught_ = 0;
  // Sanitizers: bounds of the stack, ASan's fake stack, TSan's fiber.
  [[maybe_unused]] const void* bottom_ = nullptr;
  [[maybe_unused]] std::size_t bytes_ = 0;
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] void* fiber_ = nullptr;
  [[maybe_unused]] bool owns_fiber_ = false;
};

}  // namespace homing::platform
