/// How much of a thread's stack is left.
#pragma once

#include <cstddef>
#include <cstdint>

namespace homing::platform {

/// Bytes below `here`, an address in the calling thread's stack, that was made with `stack_bytes`; 0: not known.
/// Asks nobody: pthread_getattr_np() needs the heap, and the C library makes one for each thread at its first use.
[[nodiscard]] inline std::size_t rest_of_made_stack([[maybe_unused]] std::uintptr_t here,
                                                    [[maybe_unused]] std::size_t stack_bytes) noexcept {
#if __has_builtin(__builtin_thread_pointer)
  // Above it lie the thread's variables, as far as its pointer to them, and the C library's record.
  constexpr std::size_t record_bytes_max = 4096;
  const std::size_t above = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()) - here + record_bytes_max;
  return above < stack_bytes ? stack_bytes - above : 0;
#else
  return 0;
#endif
}

}  // namespace homing::platform
