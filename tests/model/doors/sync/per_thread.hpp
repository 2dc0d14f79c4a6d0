/// A model's thread's own value, which begins as T{} in each execution if it ended so in the one before.
#pragma once

#include <array>

#include "engine/execution.hpp"

namespace homing::sync {

template <typename T, typename Tag>
[[nodiscard]] T& per_thread() noexcept {
  static std::array<T, model::threads_max> values{};
  return values[model::running->current()];
}

}  // namespace homing::sync
