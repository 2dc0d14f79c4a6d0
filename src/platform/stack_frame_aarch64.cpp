// Stacks of AArch64.
#if defined(__aarch64__)

#include <cstdint>
#include <cstring>

#include "platform/stack_frame.hpp"

// Callee-saved registers of the procedure call standard: x19 to x30, the lower halves of v8 to v15; and the control of
// floating point.
asm(R"(
.text
.globl homing_switch_stack
.hidden homing_switch_stack
.type homing_switch_stack, %function
homing_switch_stack:
  sub sp, sp, #176
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mrs x9, fpcr
  str x9, [sp, #160]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldr x9, [sp, #160]
  msr fpcr, x9
  ldp d14, d15, [sp, #144]
  ldp d12, d13, [sp, #128]
  ldp d10, d11, [sp, #112]
  ldp d8, d9, [sp, #96]
  ldp x29, x30, [sp, #80]
  ldp x27, x28, [sp, #64]
  ldp x25, x26, [sp, #48]
  ldp x23, x24, [sp, #32]
  ldp x21, x22, [sp, #16]
  ldp x19, x20, [sp]
  add sp, sp, #176
  ret
.size homing_switch_stack, .-homing_switch_stack

.globl homing_stack_start
.hidden homing_stack_start
.type homing_stack_start, %function
homing_stack_start:
  mov x0, x19
  mov x30, #0
  blr x20
  brk #1
.size homing_stack_start, .-homing_stack_start
)");

namespace homing::platform {
namespace {

/// What homing_switch_stack leaves.
struct left_registers {
  std::uint64_t x19, x20, x21_to_28[8], x29, x30, d8_to_15[8], fpcr, aligned;
};
static_assert(sizeof(left_registers) == 176);

}  // namespace

void* first_frame(char* end, void (*function)(void*) noexcept, void* argument) noexcept {
  auto* const frame = reinterpret_cast<left_registers*>(end - sizeof(left_registers));
  std::memset(frame, 0, sizeof *frame);  // x29, too: its zero ends backtraces
  frame->x19 = reinterpret_cast<std::uint64_t>(argument);
  frame->x20 = reinterpret_cast<std::uint64_t>(function);
  frame->x30 = reinterpret_cast<std::uint64_t>(&homing_stack_start);
  asm volatile("mrs %0, fpcr" : "=r"(frame->fpcr));
  return frame;
}

}  // namespace homing::platform

#endif
