/// What an instruction of AArch64 is to the lab, by its encoding: a mark, a locked operation, or a system call.
///
/// Source: <homing/lab.h>; Arm Architecture Reference Manual, C4.1 (encodings of loads and stores).
#pragma once

#include <homing/lab.h>

#include <cstdint>
#include <optional>
#include <span>

namespace homing::lab::model::aarch64 {

/// The instruction's word; 0, which is none, if there are not four bytes.
[[nodiscard]] inline std::uint32_t word_of(std::span<const std::uint8_t> code) {
  if (code.size() != 4) return 0;
  return code[0] | std::uint32_t{code[1]} << 8 | std::uint32_t{code[2]} << 16 | std::uint32_t{code[3]} << 24;
}

/// The operation of a mark: ldrb wzr, [xN, #0xa40 + OP].
[[nodiscard]] inline std::optional<unsigned> mark_of(std::span<const std::uint8_t> code) {
  const std::uint32_t word = word_of(code);
  const unsigned operation = (word >> 10 & 0xfff) - 0xa40;
  if ((word & 0xffc0001f) != 0x3940001f || operation < HOMING_LAB_LETTER || operation > HOMING_LAB_NOTE)
    return std::nullopt;
  return operation;
}

/// LDADD, LDSET, SWP and their like; LDAPR, which is encoded among them, is none.
[[nodiscard]] inline bool is_load_acquire(std::uint32_t word) { return (word & 0x3ffffc00) == 0x38bfc000; }
[[nodiscard]] inline bool is_atomic_update(std::uint32_t word) {
  return (word & 0x3b200c00) == 0x38200000 && !is_load_acquire(word);
}

/// CAS and CASP.
[[nodiscard]] inline bool is_compare_and_swap(std::uint32_t word) {
  return (word & 0x3fa07c00) == 0x08a07c00 || (word & 0xbfa07c00) == 0x08207c00;
}

/// STXR, STLXR, STXP and STLXP.
[[nodiscard]] inline bool is_store_exclusive(std::uint32_t word) {
  return (word & 0x3fe00000) == 0x08000000 || (word & 0xbfe00000) == 0x88200000;
}

/// True for what waits until its line is owned: atomic read-modify-writes, and stores that tell whether they stored.
[[nodiscard]] inline bool is_locked(std::span<const std::uint8_t> code) {
  const std::uint32_t word = word_of(code);
  return is_atomic_update(word) || is_compare_and_swap(word) || is_store_exclusive(word);
}

/// True for svc.
[[nodiscard]] inline bool is_system_call(std::span<const std::uint8_t> code) {
  return (word_of(code) & 0xffe0001f) == 0xd4000001;
}

/// True for yield and wfe.
[[nodiscard]] inline bool is_pause(std::span<const std::uint8_t> code) {
  return word_of(code) == 0xd503203f || word_of(code) == 0xd503205f;
}

/// True for eret.
[[nodiscard]] inline bool is_interrupt_return(std::span<const std::uint8_t> code) {
  return word_of(code) == 0xd69f03e0;
}

/// Interrupts are sent by a system register here, of which a plugin sees nothing.
[[nodiscard]] constexpr bool sends_interrupt(std::uint64_t) { return false; }

}  // namespace homing::lab::model::aarch64
