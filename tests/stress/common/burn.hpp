// Work that takes time and does nothing.
#pragma once

#include <atomic>

namespace stress {

/// Counts to `steps`; the compiler may not leave it out.
inline void burn(int steps) noexcept {
  for (int i = 0; i < steps; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace stress
