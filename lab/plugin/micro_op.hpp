/// An instruction as a core's scoreboard sees it: which registers it waits for, which it makes, and how long that
/// takes.
///
/// Source: docs/protocols/lab_model.md [LM10].
#pragma once

#include <array>
#include <cstdint>

namespace homing::lab::model {

/// Registers by number. x86-64: 16 general ones, 16 of vectors, the flags, the x87 stack as one. AArch64: 31 general
/// ones and the stack pointer, 32 of vectors, the flags.
namespace registers {
inline constexpr std::uint8_t general = 0, vector = 16, flags = 32, x87 = 33, count = 96;
inline constexpr std::uint8_t aarch64_stack_pointer = 31, aarch64_vector = 32, aarch64_flags = 64;
inline constexpr std::uint8_t none = 95;  // always ready
inline constexpr std::uint8_t sink = 94;  // nobody waits for it
}  // namespace registers

/// What a result takes from its operands; the machine says how many cycles that is.
enum class latency_class : std::uint8_t {
  move,
  integer,
  multiply,
  divide,
  float_add,
  float_multiply,
  fused,
  float_divide,
  size
};

enum class op_kind : std::uint8_t { plain, non_temporal, locked, pause, fence, load_fence, system_call };

struct micro_op {
  std::array<std::uint8_t, 4> sources{registers::none, registers::none, registers::none, registers::none};
  std::array<std::uint8_t, 2> address{registers::none, registers::none};  // of its operand in memory
  std::array<std::uint8_t, 2> results{registers::sink, registers::sink};
  latency_class latency = latency_class::integer;
  op_kind kind = op_kind::plain;
};

}  // namespace homing::lab::model
