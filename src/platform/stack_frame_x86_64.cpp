// Stacks of x86-64.
#if defined(__x86_64__)

#include <cstdint>

#include "platform/stack_frame.hpp"

// Callee-saved registers of the System V ABI, with the control words of both floating-point units.
asm(R"(
.text
.globl homing_switch_stack
.hidden homing_switch_stack
.type homing_switch_stack, @function
homing_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size homing_switch_stack, .-homing_switch_stack

.globl homing_stack_start
.hidden homing_stack_start
.type homing_stack_start, @function
homing_stack_start:
  movq %r12, %rdi
  xorl %ebp, %ebp
  callq *%r13
  ud2
.size homing_stack_start, .-homing_stack_start
)");

namespace homing::platform {

void* first_frame(char* end, void (*function)(void*) noexcept, void* argument) noexcept {
  auto* top = reinterpret_cast<std::uint64_t*>(end);
  // As homing_switch_stack leaves a stack: control words, r15, r14, r13, r12, rbx, rbp, return address; a zero above
  // ends backtraces and keeps the alignment that the ABI wants at a call.
  *--top = 0;
  *--top = 0;
  *--top = reinterpret_cast<std::uint64_t>(&homing_stack_start);
  *--top = 0;                                          // rbp
  *--top = 0;                                          // rbx
  *--top = reinterpret_cast<std::uint64_t>(argument);  // r12: argument
  *--top = reinterpret_cast<std::uint64_t>(function);  // r13: function
  *--top = 0;                                          // r14
  *--top = 0;                                          // r15
  std::uint32_t mxcsr = 0;
  std::uint16_t x87 = 0;
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
  *--top = mxcsr | std::uint64_t{x87} << 32U;
  return top;
}

}  // namespace homing::platform

#endif
