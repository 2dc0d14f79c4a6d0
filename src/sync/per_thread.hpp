/// A thread's own value. Models have another one, since their threads are fibers.
///
/// Threads: each has its own, which begins as T{} and ends with it.
#pragma once

namespace homing::sync {

/// `Tag` tells values of one type apart: a type of whoever owns it.
template <typename T, typename Tag>
[[nodiscard]] T& per_thread() noexcept {
  static constinit thread_local T value{};
  return value;
}

}  // namespace homing::sync
