/// What a stack looks like while nobody runs it, and the instructions that leave one for another; by architecture.
///
/// Threads: a stack is left and gone on with by one thread at a time, not always the same one.
/// Source:  the System V ABI of x86-64; the Procedure Call Standard of AArch64.
#pragma once

extern "C" {
/// Leaves the registers that a call keeps on the running stack, whose pointer goes to *save, and goes on with `load`.
void homing_switch_stack(void** save, void* load) noexcept;
/// Where a stack of first_frame() begins.
void homing_stack_start() noexcept;
}

namespace homing::platform {

/// Fills the end of a stack, `top`, as homing_switch_stack leaves one, so that it calls function(argument) at its first
/// turn, with this thread's floating-point control. Returns its pointer.
[[nodiscard]] void* first_frame(char* top, void (*function)(void*) noexcept, void* argument) noexcept;

}  // namespace homing::platform
