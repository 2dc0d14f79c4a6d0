/// The owner's side of an asymmetric fence, for code that is compiled into programs.
///
/// It orders an earlier store before a later load as far as a thread can tell that passes our library's heavy fence in
/// between. Only the compiler is held back: what relies on it asks first whether the library has heavy fences.
/// Threads: any. Protocol: docs/protocols/sleep.md [S11].
#pragma once

#include <atomic>

namespace homing::detail {

inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace homing::detail
