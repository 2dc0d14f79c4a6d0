/// What the lab asks of an instruction, for each architecture that a guest may have.
///
/// Threads: use_instructions_of() once, before QEMU's CPUs run; the rest by any.
/// Source:  code_x86_64.hpp and code_aarch64.hpp, which know encodings; capstone, which decodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "micro_op.hpp"

namespace homing::lab::model {

struct instruction_set {
  std::string_view target;                                            // as QEMU calls it
  std::span<const char* const> not_seen;                              // by the model, beside what it sees of no guest
  std::optional<unsigned> (*mark_of)(std::span<const std::uint8_t>);  // the operation of a mark
  bool (*is_locked)(std::span<const std::uint8_t>);                   // waits until its line is owned
  bool (*is_system_call)(std::span<const std::uint8_t>);
  bool (*is_pause)(std::span<const std::uint8_t>);  // is for loops that wait
  bool (*is_interrupt_return)(std::span<const std::uint8_t>);
  bool (*sends_interrupt)(std::uint64_t);  // a store of the kernel's to this address, to other CPUs
  bool interrupts_read_tables;  // of the kernel's, when they are delivered; else a program's addresses may have tags
  micro_op (*decode)(std::span<const std::uint8_t>);  // by one thread at a time
};

extern const instruction_set x86_64_instructions, aarch64_instructions;

/// The guest's; x86-64's unless another was chosen.
[[nodiscard]] const instruction_set& guest_instructions() noexcept;
/// Throws machine_error if QEMU's target is none that the lab knows.
void use_instructions_of(std::string_view target);

}  // namespace homing::lab::model
