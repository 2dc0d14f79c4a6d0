/// What an instruction of x86-64 is to the lab, by its encoding: a mark, a locked operation, or a system call.
///
/// Source: <homing/lab.h>; docs/design/0006-the-lab.md, "Marks".
#pragma once

#include <homing/lab.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace homing::lab::model::x86_64 {

/// The operation of a mark: movzbl 0x1a4f48OP(%rax), %eax.
[[nodiscard]] inline std::optional<unsigned> mark_of(std::span<const std::uint8_t> code) {
  if (code.size() != 7 || code[0] != 0x0f || code[1] != 0xb6 || code[2] != 0x80) return std::nullopt;
  if (code[4] != 0x48 || code[5] != 0x4f || code[6] != 0x1a) return std::nullopt;
  if (code[3] < HOMING_LAB_LETTER || code[3] > HOMING_LAB_NOTE) return std::nullopt;
  return code[3];
}

/// True for what waits until its line is owned: a lock prefix, or an exchange with memory.
[[nodiscard]] inline bool is_locked(std::span<const std::uint8_t> code) {
  for (std::size_t i = 0; i != code.size(); ++i) {
    const std::uint8_t byte = code[i];
    if (byte == 0xf0) return true;
    const bool prefix = byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x36 ||
                        byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 || (byte & 0xf0) == 0x40;
    if (prefix) continue;
    return (byte == 0x86 || byte == 0x87) && i + 1 != code.size() && code[i + 1] < 0xc0;
  }
  return false;
}

/// True for syscall and for int $0x80.
[[nodiscard]] inline bool is_system_call(std::span<const std::uint8_t> code) {
  return code.size() == 2 && ((code[0] == 0x0f && code[1] == 0x05) || (code[0] == 0xcd && code[1] == 0x80));
}

/// True for PAUSE.
[[nodiscard]] inline bool is_pause(std::span<const std::uint8_t> code) {
  return code.size() == 2 && code[0] == 0xf3 && code[1] == 0x90;
}

/// True for IRETQ.
[[nodiscard]] inline bool is_interrupt_return(std::span<const std::uint8_t> code) {
  return code.size() == 2 && code[0] == 0x48 && code[1] == 0xcf;
}

/// True for a store of the kernel's to the command register of the local APIC, by which it interrupts other CPUs. Linux
/// maps that among its last addresses.
[[nodiscard]] constexpr bool sends_interrupt(std::uint64_t address) {
  return address >= 0xffff'ffff'ff00'0000 && (address & 0xfff) == 0x300;
}

}  // namespace homing::lab::model::x86_64
