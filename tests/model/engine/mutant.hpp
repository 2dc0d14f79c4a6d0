/// One binary with all mutants of its production code: a run has one of them, or none. mutate.py puts these calls where
/// the orders and fences stand, and includes this header first.
#pragma once

#include <atomic>

namespace homing::model {

/// The mutant of this run; none is 0.
inline unsigned mutant = 0;

[[nodiscard]] inline std::memory_order or_weaker(unsigned number, std::memory_order usual,
                                                 std::memory_order weaker) noexcept {
  return mutant == number ? weaker : usual;
}
[[nodiscard]] inline bool is_kept(unsigned number) noexcept { return mutant != number; }

}  // namespace homing::model
