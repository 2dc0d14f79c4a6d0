/// Where a stack is so full that a wait steals nothing any more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace homing::scheduler {

/// The lower part of one stack. An address in another stack, such as a fiber of the program's own, is not in it.
struct deep_stack {
  std::uintptr_t lowest = 0;  ///< of the stack
  std::uintptr_t end = 0;     ///< where that part ends; both 0: none

  [[nodiscard]] bool has(std::uintptr_t address) const noexcept { return address - lowest < end - lowest; }
  /// The same, or so little above it that some dozens of nested waits might reach it: half as much again, or 1 MiB.
  [[nodiscard]] bool is_near(std::uintptr_t address) const noexcept {
    constexpr std::uintptr_t far_bytes = std::uintptr_t{1024} * 1024;
    const std::uintptr_t bytes = end - lowest;
    return address - lowest < bytes + (bytes / 2 < far_bytes ? bytes / 2 : far_bytes);
  }
};

/// Of the calling thread's own stack: half of what lies below the present depth stays in reserve for what was begun
/// above that line. A thread that is on a fiber of the program's has half of its own stack in reserve.
/// `made_bytes`: what the runtime made the thread with; 0: the program made it.
[[nodiscard]] deep_stack deep_part_of_this_stack(std::size_t made_bytes) noexcept;

}  // namespace homing::scheduler
