/// src/sync/atomic.hpp in a model: the same names, led to the checker. Found before the other by the include path.
#pragma once

#include <cstddef>
#include <source_location>

#include "engine/atomic.hpp"

namespace homing::sync {

template <typename T>
using atomic = model::atomic<T>;
template <typename T>
using plain = model::plain<T>;

inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

inline constexpr std::size_t cache_line_bytes = 128;

constexpr std::size_t size_or_modelled(std::size_t /*usual*/, std::size_t modelled) noexcept { return modelled; }

inline void expect_read(const void* /*where*/) noexcept {}
inline void expect_write(const void* /*where*/) noexcept {}
inline void cpu_relax() noexcept {
  if (model::running != nullptr) {
    model::running->pause();
  }
}

inline void full_fence(std::source_location at = std::source_location::current()) noexcept {
  if (model::running != nullptr) {
    model::running->fence(model::order::seq_cst, at);
  }
}

inline void full_fence_after_exchange(std::source_location at = std::source_location::current()) noexcept {
  if (!model::exchange_is_fence) {
    full_fence(at);
  }
}

}  // namespace homing::sync
