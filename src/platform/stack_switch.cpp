#include "platform/stack_switch.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <limits>
#include <new>

#include "platform/sanitizer.hpp"
#include "platform/stack_frame.hpp"

#ifdef HOMING_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HOMING_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace __cxxabiv1 {
struct __cxa_eh_globals {
  void* caught;
  unsigned uncaught;
};
}  // namespace __cxxabiv1

namespace homing::platform {

stack_memory::stack_memory(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > std::numeric_limits<std::size_t>::max() - 2 * page) {
    throw std::bad_alloc();  // with the guard, and rounded up, it would not be a number of bytes
  }
  size_ = (bytes + page - 1) / page * page;
  void* mapping = mmap(nullptr, size_ + page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) {
    throw std::bad_alloc();
  }
  // Without the guard an overflow would go unnoticed; the mapping is still usable, so a refusal is not an error.
  static_cast<void>(mprotect(mapping, page, PROT_NONE));
  base_ = static_cast<char*>(mapping) + page;
  unpoison_memory(base_, size_);  // these addresses may have been another stack, whose frames ASan remembers
}

stack_memory::~stack_memory() {
  if (base_ != nullptr) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    munmap(base_ - page, size_ + page);
  }
}

stack_context::~stack_context() {
#ifdef HOMING_THREAD_SANITIZER
  if (owns_fiber_) {
    __tsan_destroy_fiber(fiber_);
  }
#endif
}

void stack_entry(void* raw) noexcept {
  auto& self = *static_cast<stack_context*>(raw);
  self.arrived_first();
  self.entry_(self.argument_);
}

void stack_context::prepare(const stack_memory& memory, void (*entry)(void*), void* argument) {
  entry_ = entry;
  argument_ = argument;
  bottom_ = memory.base();
  bytes_ = memory.size();
  stack_pointer_ = first_frame(memory.base() + memory.size(), &stack_entry, this);
#ifdef HOMING_THREAD_SANITIZER
  fiber_ = __tsan_create_fiber(0);
  owns_fiber_ = true;
#endif
}

void stack_context::save_language_state() noexcept {
  const auto* globals = abi::__cxa_get_globals();
  exceptions_caught_ = globals->caught;
  exceptions_uncaught_ = globals->uncaught;
}

void stack_context::load_language_state() noexcept {
  auto* globals = abi::__cxa_get_globals();
  globals->caught = exceptions_caught_;
  globals->uncaught = exceptions_uncaught_;
}

#ifdef HOMING_ADDRESS_SANITIZER
namespace {

thread_local stack_context* left_last = nullptr;  // by this thread; touched only in functions that are not inlined

}  // namespace

void stack_context::start_asan_switch(const stack_context& to) noexcept {
  left_last = this;
  __sanitizer_start_switch_fiber(&fake_stack_, to.bottom_, to.bytes_);
}

// Only ASan knows the bounds of the stack that was left: a context may be saved on a thread's own stack or on that of
// another coroutine, inside which an arena was entered.
void stack_context::finish_asan_switch(void* fake_stack) noexcept {
  stack_context& left = *left_last;
  __sanitizer_finish_switch_fiber(fake_stack, &left.bottom_, &left.bytes_);
}
#endif

void stack_context::arrived_first() noexcept {
#ifdef HOMING_ADDRESS_SANITIZER
  finish_asan_switch(nullptr);
#endif
  load_language_state();
}

void stack_context::switch_to(stack_context& to) noexcept {
  save_language_state();
#ifdef HOMING_ADDRESS_SANITIZER
  start_asan_switch(to);
#endif
#ifdef HOMING_THREAD_SANITIZER
  if (!owns_fiber_) {
    fiber_ = __tsan_get_current_fiber();
  }
  __tsan_switch_to_fiber(to.fiber_, 0);
#endif
  homing_switch_stack(&stack_pointer_, to.stack_pointer_);
#ifdef HOMING_ADDRESS_SANITIZER
  finish_asan_switch(fake_stack_);
#endif
  load_language_state();
}

}  // namespace homing::platform
